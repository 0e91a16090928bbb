"""The pages of contexts: their list, and one drawn to scale, slice by slice, with its text as sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from aiohttp import web
from markupsafe import Markup

from ...ipc.errors import INVALID_PARAMS, NOT_FOUND, RpcError
from ..drawings import budget_bar, by_layer, layers_bar, layers_of, sandwich, uses_of
from ..formats import exact
from ..view import PROJECT, Page, ProjectChoice, get, href, page_number
from .sessions import named_session
from .slices import SliceRow, dropped_rows, ordered, slice_rows

ROWS: Final = 60
"""Maximum slices on one page of the table."""

GAPS: Final = 4
"""Maximum gaps shown at once; the others are folded."""

NAMED: Final = 50
"""Maximum items, nodes in focus and constraints shown."""

TITLE_MAX: Final = 140
"""Maximum characters of the page's title; the whole prompt is further down."""

ORDERS: Final[Mapping[str, str]] = {
    "place": "as they stand in the text",
    "tokens": "largest first",
    "weight": "heaviest first",
    "score": "nearest to the prompt first",
}


class ContextPage(Page):
    """The page at `/contexts/{context_id}`, and its texts as they were sent below it."""

    @get("/contexts/{context_id}")
    async def _serve(self, request: web.Request) -> web.Response:
        view, context_id = self._view, request.match_info["context_id"]
        order = request.query.get("order", "place")
        if order not in ORDERS:
            raise RpcError(INVALID_PARAMS, f"order must be one of {', '.join(ORDERS)}", {"field": "order"})
        context = await view.call("GetBuiltContext", context_id=context_id)
        why = request.query.get("why", "").strip()
        project = await view.project_of(context["project"])
        explained = await self._explain(context_id, why, project) if why else None
        values = await asyncio.to_thread(_drawn, context, order, page_number(request))
        return await view.page(
            request,
            "context.html",
            at="contexts",
            title=_title(context["prompt"]),
            project=project,
            picked="/contexts",
            context=context,
            why=why,
            explained=explained,
            orders=ORDERS,
            gaps_max=GAPS,
            named_max=NAMED,
            session=await named_session(view, context["session_id"]),
            **values,
        )

    async def _explain(self, context_id: str, path: str, project: ProjectChoice) -> Mapping[str, Any]:
        """Return why a file is in the context or not, or why that can't be told."""
        if project.status is None:  # a GET opens none
            return {"path": path, "problem": f"{project.name} isn't open now, so that it can't be asked"}
        try:
            found: Mapping[str, Any] = await self._view.call("ExplainPath", context_id=context_id, path=path)
        except RpcError as error:
            if error.code != INVALID_PARAMS:
                raise
            return {"path": path, "problem": error.message}
        return found

    @get("/contexts/{context_id}/text/{name}")
    async def _serve_text(self, request: web.Request) -> web.Response:
        """Answer one of the texts as it was sent, to the byte."""
        context = await self._view.call("GetBuiltContext", context_id=request.match_info["context_id"])
        texts = await asyncio.to_thread(lambda: sent_texts(context, slice_rows(context["slices"])))
        wanted = next((text for text in texts if text.name == request.match_info["name"]), None)
        if wanted is None:
            known = ", ".join(text.name for text in texts) or "none, since its text isn't kept any more"
            raise RpcError(NOT_FOUND, f"this context has no such text; it has {known}")
        body = await asyncio.to_thread(lambda: wanted.text.encode("utf-8", "replace"))
        return web.Response(body=body, content_type="text/plain", charset="utf-8")


def _drawn(context: Mapping[str, Any], order: str, page: int) -> dict[str, Any]:
    """Return what the page shows of a context. Takes some milliseconds for a large one."""
    rows = slice_rows(context["slices"])
    listed = ordered(rows, order)
    last = max(-(-len(listed) // ROWS), 1)
    page = min(page, last)
    pages = {row.at: at // ROWS + 1 for at, row in enumerate(listed)}
    texts = sent_texts(context, rows)

    def link(row: SliceRow) -> str:
        target = f"#slice-{row.at}"
        return target if pages[row.at] == page else f"{_table_address(order, pages[row.at])}{target}"

    uses = uses_of(context, rows)
    return {
        "drawing": sandwich(rows, link) if rows else None,
        "layers": layers_of(rows),
        "uses": uses,
        "by_layer": by_layer(uses, rows),
        "bar": budget_bar(context, uses),
        "rows": listed[(page - 1) * ROWS : page * ROWS],
        "slices": {row.id: row for row in rows},
        "link": link,
        "order": order,
        "page": page,
        "last": last,
        "address": lambda number: f"{_table_address(order, number)}#slices",
        "shortened": sum(row.compressed for row in rows),
        "dropped": dropped_rows(context["dropped"]),
        "texts": [(text, text.bytes, text.lines) for text in texts],
        "contents": on_page(texts),
        "places": _places(texts),
    }


def _title(prompt: str) -> str:
    """Return the first line of a prompt, cut after a word."""
    first = prompt.strip().partition("\n")[0].strip()
    if len(first) <= TITLE_MAX:
        return first or "A context without a prompt"
    return f"{first[:TITLE_MAX].rpartition(' ')[0] or first[:TITLE_MAX]}…"


def _table_address(order: str, page: int) -> str:
    return href("", order=order if order != "place" else None, page=page if page > 1 else None) or "?"


def _places(texts: Sequence[Text]) -> dict[int, str]:
    """Return in which text each slice stands, by the slice's number."""
    return {at: text.name for text in texts for _, at in text.pieces if at is not None}


ON_PAGE_MAX: Final = 130_000
"""Maximum bytes of escaped texts on a page; longer texts are a link, so that no page gets slow."""

ITEM_PREFIXES: Final[Mapping[str, str]] = {"rule": "Rule: ", "reference": "Reference: "}
"""The first words of items' messages in the format `messages`, by the type of their slices."""

ROLES: Final[Mapping[str, str]] = {
    "system": "System prompt",
    "user": "Message of the user",
    "assistant": "Message of the assistant",
}


@dataclass(frozen=True)
class Text:
    """A text that was sent. `name` is how an address names it, `title` what it is.

    `pieces` are its parts in order, each with the number of its slice, None for text between slices; joined,
    they are the whole text. Slow properties are computed once, on first use.
    """

    name: str
    title: str
    pieces: tuple[tuple[str, int | None], ...]

    @cached_property
    def text(self) -> str:
        """The whole text, as it was sent."""
        return "".join(text for text, _ in self.pieces)

    @cached_property
    def bytes(self) -> int:
        """The size of the text in UTF-8."""
        return len(self.text.encode("utf-8", "replace"))

    @cached_property
    def lines(self) -> int:
        """How many lines it has."""
        text = self.text
        return text.count("\n") + (not text.endswith("\n"))

    @property
    def marked(self) -> Markup:
        """The text as the content of an element, with an element `part-N` for each slice."""
        return Markup("").join(
            exact(text)
            if at is None
            else Markup('<span class="part" id="part-{}">{}</span>').format(at, exact(text))
            for text, at in self.pieces
        )


def sent_texts(context: Mapping[str, Any], rows: Sequence[SliceRow]) -> list[Text]:
    """Return what was sent of a context, as GetBuiltContext gives it; nothing if its text isn't kept."""
    whole = context.get("context")
    if whole is None:
        return []
    if context["format"] == "json":
        return [Text("context", "The JSON document", tuple(_json_pieces(whole, rows)))]
    slices = [(whole[row.span[0] : row.span[1]], row.at) for row in _by_place(rows) if row.span]
    if context["format"] == "messages" and "messages" in context:
        return list(_messages(context, rows, slices))
    if "system_prompt" in context:
        system = Text("system_prompt", ROLES["system"], tuple(_pieces(context["system_prompt"], slices)))
        return [system, Text("user_prompt", ROLES["user"], ((context["user_prompt"], None),))]
    return [Text("context", "The context", tuple(_pieces(whole, slices)))]


def on_page(texts: Sequence[Text]) -> dict[str, Markup]:
    """Return the contents of the texts that fit on the page, by name."""
    room, found = ON_PAGE_MAX, {}
    for text in texts:
        if text.bytes <= room and (size := len((content := text.marked).encode())) <= room:
            found[text.name] = content
            room -= size
    return found


def _messages(
    context: Mapping[str, Any], rows: Sequence[SliceRow], slices: Sequence[tuple[str, int]]
) -> Iterator[Text]:
    items = {f"{ITEM_PREFIXES[row.type]}{row.name}": row.at for row in rows if row.type in ITEM_PREFIXES}
    others = [(text, at) for text, at in slices if at not in items.values()]
    for number, message in enumerate(context["messages"]):
        content = message["content"]
        title = ROLES.get(message["role"], message["role"])
        head = content.partition("\n")[0]
        if head in items:
            yield Text(f"message-{number}", f"{title}: {head}", ((content, items.pop(head)),))
        elif message["role"] == "system":
            yield Text(f"message-{number}", title, tuple(_pieces(content, others)))
        else:
            yield Text(f"message-{number}", title, ((content, None),))
    if context.get("tools"):
        yield Text("tools", "Tools", ((json.dumps(context["tools"], indent=2, ensure_ascii=False), None),))


def _by_place(rows: Sequence[SliceRow]) -> list[SliceRow]:
    return sorted(rows, key=lambda row: row.span or (0, 0))


def _pieces(text: str, slices: Sequence[tuple[str, int]]) -> Iterator[tuple[str, int | None]]:
    """Yield a text in pieces: the slices' texts, which it has in this order, and what is between them."""
    at = 0
    for wanted, number in slices:
        found, end = _find(text, wanted, at)
        if found < 0:
            continue
        if found > at:
            yield text[at:found], None
        yield text[found:end], number
        at = end
    if at < len(text):
        yield text[at:], None


def _find(text: str, wanted: str, start: int) -> tuple[int, int]:
    """Return where a slice begins and ends in a text, -1 for nowhere. A template may strip the last one."""
    for form in (wanted, wanted.rstrip("\n")):
        found = text.find(form, start) if form else -1
        if found >= 0:
            return found, found + len(form)
    return -1, -1


def _json_pieces(text: str, rows: Sequence[SliceRow]) -> Iterator[tuple[str, int | None]]:
    """Yield a JSON document in pieces. No text inside can look like the beginning of a slice: its quotes are
    escaped."""
    starts = []
    for row in rows:
        head = json.dumps({"id": row.id}, ensure_ascii=False)[:-1]
        found = text.find(f"{head}, ")
        if found >= 0:
            starts.append((found, row.at))
    starts.sort()
    if not starts or starts[0][0]:
        yield text[: starts[0][0] if starts else len(text)], None
    ends = [start for start, _ in starts[1:]] + [len(text)]
    for (start, number), end in zip(starts, ends, strict=True):
        yield text[start:end], number


CONTEXTS: Final = 50
"""Maximum contexts on one page."""

ASKED: Final = 100
"""Maximum contexts in one reply of the daemon."""

KEPT_MAX: Final = 1_000
"""Maximum contexts to ask for; the daemon keeps fewer."""

SCOPES: Final = 25
"""Maximum scopes on one page."""


class ContextsPage(Page):
    """The page at `/contexts`."""

    @get("/contexts")
    async def _serve(self, request: web.Request) -> web.Response:
        view, query = self._view, request.query
        root = query.get(PROJECT) or None
        project = ProjectChoice.at(await view.call("ListProjects"), root or "")
        contexts, made = await asyncio.gather(
            self._given(root),
            view.call("ListScopes", cwd=root),
        )
        agent, session = query.get("agent", ""), query.get("session", "")
        chosen = [
            context
            for context in contexts
            if _is_of(context, "agent_name", agent) and _is_of(context, "session_id", session)
        ]
        shown, more = after(chosen, query.get("before", ""), CONTEXTS)
        scopes = [
            scope
            for scope in made["scopes"]
            if _is_of(scope, "agent_name", agent) and _is_of(scope, "session_id", session)
        ]
        last = max(-(-len(scopes) // SCOPES), 1)
        page = min(page_number(request, "scopes"), last)
        return await view.page(
            request,
            "contexts.html",
            at="contexts",
            title="Contexts",
            project=project,
            root=root or "",
            contexts=shown,
            total=len(chosen),
            more=_address(query, before=more) if more else "",
            first=_address(query) if "before" in query else "",
            agents=names(contexts, "agent_name"),
            sessions=names(contexts, "session_id"),
            agent=agent,
            session=session,
            scopes=scopes[(page - 1) * SCOPES : page * SCOPES],
            scope_count=len(scopes),
            latest=latest_of(contexts),
            page=page,
            last=last,
            scopes_address=lambda number: f"{_address(query, scopes=number)}#scopes",
            layers_bar=layers_bar,
        )

    async def _given(self, root: str | None) -> list[Mapping[str, Any]]:
        """Return all contexts that the daemon keeps, the latest first; it can't filter by agent."""
        found: list[Mapping[str, Any]] = []
        while len(found) < KEPT_MAX:
            before = found[-1]["context_id"] if found else None
            reply = await self._view.call("ListContexts", cwd=root, limit=ASKED, before=before)
            found += reply["contexts"]
            if len(reply["contexts"]) < ASKED:
                break
        return found


def after(
    contexts: Sequence[Mapping[str, Any]], before: str, count: int
) -> tuple[Sequence[Mapping[str, Any]], str]:
    """Return the contexts older than the one with this id, the latest first, and the id of the next page,
    "" at the end. Without an id, or with an unknown one, begin with the latest."""
    start = next((at + 1 for at, context in enumerate(contexts) if context["context_id"] == before), 0)
    shown = contexts[start : start + count]
    return shown, shown[-1]["context_id"] if shown and start + count < len(contexts) else ""


def names(contexts: Iterable[Mapping[str, Any]], field: str) -> list[str]:
    """Return the distinct values of a field, the latest first."""
    return [name for name in dict.fromkeys(context[field] for context in contexts) if name]


def latest_of(contexts: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the latest context of each scope, by the scope's id."""
    found: dict[str, Mapping[str, Any]] = {}
    for context in contexts:
        found.setdefault(context["scope_id"], context)
    return found


def _is_of(context: Mapping[str, Any], field: str, wanted: str) -> bool:
    return not wanted or context.get(field, "") == wanted


def _address(query: Mapping[str, str], **changed: Any) -> str:
    kept = {name: query.get(name) for name in (PROJECT, "agent", "session")}
    return href("/contexts", **{**kept, **changed})
