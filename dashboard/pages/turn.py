"""The page of a turn: one context, its verdict, what it missed, its text, slices and focus."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from aiohttp import web
from markupsafe import Markup

from ...ipc.errors import INVALID_PARAMS, NOT_FOUND, RpcError
from ..drawings import budget_bar, by_layer, layers_of, sandwich, uses_of
from ..exports import exported
from ..formats import exact
from ..view import Page, ProjectChoice, View, get, href, page_number, rows_on
from .items import ItemKey, columns_of, key_of, mode_of, rows_of
from .scopes import who
from .sessions import known_items, named_session
from .slices import ORDERS, SliceRow, dropped_rows, ordered, plain_reason, slice_rows

ROWS: Final = 30
"""Maximum slices on one page of the table."""

GAPS: Final = 4
"""Maximum gaps shown at once; the others are folded."""

NO_ROOM: Final = "no room in the budget for "
"""How a gap begins that the verdict and the near misses tell better."""

_ADVICE: Final = re.compile(r"[:;] ask with a larger max_(?:tokens|bytes)$")

NAMED: Final = 50
"""Maximum items, nodes in focus and constraints shown."""

TITLE_MAX: Final = 140
"""Maximum characters of the page's title; the whole prompt is further down."""

TURNS: Final = 100
"""Maximum turns of the session, and of the project, to compare with."""

VIEWS: Final[Mapping[str, str]] = {"list": "Ranked list", "map": "Map"}
"""How the slices are drawn; the first is the default."""

DEFAULTS: Final[Mapping[str, str]] = {"order": "weight", "view": "list"}
"""The parameters of the address with their defaults, which are left out of links."""

NOT_TAKEN: Final[Mapping[str, str]] = {
    "floor": "score too low",
    "near_best": "another one fits much better",
    "top_n": "others scored higher",
    "removed": "removed from this session by hand",
    "denied": "the request left it out",
    "budget": "no room",
}
"""Why an item that was considered isn't in the context, in words."""

ITEMS: Final = 12
"""Maximum items of a column shown at once; the others are folded."""

ASKED_AGAIN: Final = ("prompt", "task_type", "max_tokens", "reserve_tokens", "max_bytes", "model")
"""The fields of a request that a preview of the next turn repeats."""


COLUMNS: Final = (
    "name", "symbol", "start_line", "end_line", "type", "layer",
    "tokens", "tokens_before", "weight", "score", "why",
)  # fmt: skip
"""The columns of the exported slices."""


class TurnPage(Page):
    """The page at `/turns/{context_id}`, and its texts as they were sent below it."""

    @get("/turns/{context_id}")
    async def _serve(self, request: web.Request) -> web.Response:
        view, context_id = self._view, request.match_info["context_id"]
        shown = {name: request.query.get(name, default) for name, default in DEFAULTS.items()}
        for name, known in (("order", ORDERS), ("view", VIEWS)):
            if shown[name] not in known:
                raise RpcError(INVALID_PARAMS, f"{name} must be one of {', '.join(known)}", {"field": name})
        context = await view.call("GetBuiltContext", context_id=context_id)
        why = request.query.get("why", "").strip()
        project = await view.project_of(context["project"])
        explained = await _explain(view, context_id, why, project) if why else None
        scope, record, session, turns, (known, _) = await asyncio.gather(
            view.found("GetScope", scope_id=context["scope_id"]),
            _record(view, context),
            named_session(view, context["session_id"]),
            turns_around(view, context),
            known_items(view, project),
        )
        table = exported(request, COLUMNS, _table(context))
        if table is not None:
            return table
        values = await asyncio.to_thread(_drawn, context, shown, page_number(request))
        files: list[str] = []  # a place is pinned there if its scope is gone
        if scope is None and session["link"]:
            found = await view.found("GetSession", session_id=context["session_id"])
            files = found["context"].get("files", []) if found else []
        of_session = [one["context_id"] for one in turns[0]]
        at = of_session.index(context_id) if context_id in of_session else -1
        return await view.page(
            request,
            "turn.html",
            title=_title(context["prompt"]),
            project=project,
            picked="/sessions",
            context=context,
            why=why,
            explained=explained,
            gaps=gaps_of(context["gaps"]),
            no_room=without_room(context["dropped"]),
            gaps_max=GAPS,
            named_max=NAMED,
            session=session,
            scope=scope,
            who=who(scope) if scope else "",
            files=files,
            focus=[*scope["focus_paths"], *scope["expanded"]] if scope else [],
            again=_again(context),
            places=[miss for miss in context["near"] if miss["kind"] == "place"],
            missed_items=[
                {**miss, "reason": plain_reason(miss["reason"])}
                for miss in context["near"]
                if miss["kind"] != "place"
            ],
            columns=item_columns(context["items"], record or {}, known),
            items_max=ITEMS,
            mode_of=mode_of,
            turns=turns,
            earlier=of_session[at + 1] if 0 <= at < len(of_session) - 1 else "",
            later=of_session[at - 1] if at > 0 else "",
            used=context.get("used"),
            how_used={place["path"]: place["how"] for place in context.get("used") or ()},
            **values,
        )

    @get("/turns/{context_id}/text/{name}")
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


async def _explain(view: View, context_id: str, path: str, project: ProjectChoice) -> Mapping[str, Any]:
    """Return why a file is in a context of a project or not, or why that can't be told."""
    if project.status is None:  # a GET opens none
        return {"path": path, "problem": f"{project.name} isn't open now, so that it can't be asked"}
    return await explained_path(view, context_id, path)


async def explained_path(view: View, context_id: str, path: str) -> Mapping[str, Any]:
    """Return why a file is in a context or not, or why that can't be told. Raises `RpcError`."""
    try:
        found = await view.call("ExplainPath", context_id=context_id, path=path)
    except RpcError as error:
        if error.code not in {INVALID_PARAMS, NOT_FOUND}:
            raise
        return {"path": path, "problem": error.message}
    return {**found, "reasons": [plain_reason(text) for text in found["reasons"]]}


async def turns_around(
    view: View, context: Mapping[str, Any]
) -> tuple[Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]]]:
    """Return the turns of a context's session, and the others of its project, the latest first."""
    root, session_id = context["project"], context["session_id"]
    projects = await view.found("ListContexts", cwd=root, limit=TURNS)
    of_session = session_id and await view.found("ListContexts", session_id=session_id, limit=TURNS)
    turns = of_session["contexts"] if of_session else []
    there = {one["context_id"] for one in turns}
    others = projects["contexts"] if projects else []
    return turns, [one for one in others if one["context_id"] not in there]


async def _record(view: View, context: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the record of a context's request, which is written a moment after it was answered."""
    if "request_id" not in context:
        return None
    ids = {"session_id": context["session_id"], "request_id": context["request_id"]}
    return await view.found("GetRequest", **ids, content=False)


def item_columns(
    items: Sequence[Mapping[str, Any]], record: Mapping[str, Any], known: Mapping[ItemKey, Any]
) -> list[dict[str, Any]]:
    """Return the columns of rules, references and tools, each with the rows that were `sent` and those that
    were `left` out, by priority and name. `record` is that of the request, `known` are today's items."""
    referred = {key_of(item) for item in record.get("referred") or ()}
    recorded = {key_of(item): item for item in record.get("items", ())}
    there = {key_of(item) for item in items}
    considered = [item for item in record.get("considered", ()) if key_of(item) not in there]
    rows = rows_of(
        (
            {
                "reason": "",
                "include": item.get("include_mode", "agent"),
                **recorded.get(key_of(item), {}),
                **item,
                **({"reason": "budget"} if item.get("dropped") else {}),
                "referred": key_of(item) in referred,
            }
            for item in (*items, *considered)
        ),
        known,
    )
    for row in rows:
        row["why"] = NOT_TAKEN.get(row["reason"], row["reason"])
    return [
        {
            "kind": kind,
            "title": title,
            "sent": [row for row in found if not row["reason"]],
            "left": [row for row in found if row["reason"]],
        }
        for kind, title, found in columns_of(rows)
    ]


def gaps_of(gaps: Sequence[str]) -> list[str]:
    """Return gaps for a person: without those that other parts of a page tell, and without what a program
    could ask for."""
    return [_ADVICE.sub("", text) for text in gaps if not text.startswith(NO_ROOM)]


def without_room(dropped: Sequence[Mapping[str, Any]]) -> int:
    """Return how many slices had no room; definitions that only explain others had no chance of their own."""
    explain = ("needed:", "sibling:")
    return sum(part["reason"] == "budget" and not part["id"].startswith(explain) for part in dropped)


def _again(context: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a preview of the scope's next turn, from this request."""
    asked = {name: context[name] for name in ASKED_AGAIN if context[name] != ""}
    return {"scope_id": context["scope_id"], "preview": True, **asked}


def _drawn(context: Mapping[str, Any], shown: Mapping[str, str], page: int) -> dict[str, Any]:
    """Return what the page shows of the slices. Takes some milliseconds for a large context."""
    rows = slice_rows(context["slices"], context.get("context", ""))
    listed = ordered(rows, shown["order"])
    on_this, page, last = rows_on(page, listed, ROWS)
    pages = {row.at: at // ROWS + 1 for at, row in enumerate(listed)}
    texts = sent_texts(context, rows)

    def address(number: int = 1, **changed: str) -> str:
        chosen = {**shown, **changed}
        kept = {name: value for name, value in chosen.items() if value != DEFAULTS[name]}
        return href("", **kept, page=number if number > 1 else None) or "?"

    def link(row: SliceRow) -> str:
        target = f"#slice-{row.at}"
        return target if pages[row.at] == page else f"{address(pages[row.at])}{target}"

    uses = uses_of(context, rows)
    return {
        "drawing": sandwich(rows, link) if rows and shown["view"] == "map" else None,
        "layers": layers_of(rows),
        "uses": uses,
        "by_layer": by_layer(uses, rows),
        "bar": budget_bar(context, uses),
        "rows": on_this,
        "first": (page - 1) * ROWS + 1,
        "largest": max((row.tokens for row in rows), default=0) or 1,
        "slices": {row.id: row for row in rows},
        "link": link,
        "order": shown["order"],
        "orders": [(name, words, f"{address(order=name)}#slices") for name, words in ORDERS.items()],
        "chosen_view": shown["view"],
        "views": [(name, words, f"{address(view=name)}#slices") for name, words in VIEWS.items()],
        "page": page,
        "last": last,
        "address": lambda number: f"{address(number)}#slices",
        "shortened": sum(row.compressed for row in rows),
        "dropped": dropped_rows(context["dropped"]),
        "texts": [(text, text.lines) for text in texts],
        "contents": on_page(texts),
        "parts": {at: text.name for text in texts for _, at in text.pieces if at is not None},
    }


def _table(context: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the slices as they are exported."""
    for row in ordered(slice_rows(context["slices"], context.get("context", "")), "place"):
        values = {name: getattr(row, name) for name in COLUMNS if name != "why"}
        yield {**values, "why": row.source}


def _title(prompt: str) -> str:
    """Return the first line of a prompt, cut after a word."""
    first = prompt.strip().partition("\n")[0].strip()
    if len(first) <= TITLE_MAX:
        return first or "A context without a prompt"
    return f"{first[:TITLE_MAX].rpartition(' ')[0] or first[:TITLE_MAX]}…"


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
        return [Text("context", "The JSON document", ((whole, None),))]
    slices = [(whole[row.span[0] : row.span[1]], row.at) for row in ordered(rows, "place") if row.span]
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
        # Behind the name it says whose item it is; contexts of earlier versions don't.
        name = head if head in items else head.rpartition(" (")[0]
        if name in items:
            yield Text(f"message-{number}", f"{title}: {head}", ((content, items.pop(name)),))
        elif message["role"] == "system":
            yield Text(f"message-{number}", title, tuple(_pieces(content, others)))
        else:
            yield Text(f"message-{number}", title, ((content, None),))
    if context.get("tools"):
        yield Text("tools", "Tools", ((json.dumps(context["tools"], indent=2, ensure_ascii=False), None),))


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
