"""Owns the tools that find code: search_code and find_symbol."""

from __future__ import annotations

from typing import Any

from ...ipc.errors import NOT_FOUND, RpcError
from .arguments import Arguments, max_tokens, number, text, texts
from .caller import Inquiry
from .errors import ToolError
from .marks import NOTE, block, inline, plain
from .sizes import CHARACTERS_PER_TOKEN
from .tool import TEXT, TEXTS, TRUTH, WHOLE, Tool, kept, left_out, reply, rows

SEARCH_TOKENS = 1500
"""Eight places with about ten lines each: enough to choose the one to open."""

SYMBOL_TOKENS = 1000
"""A definition of forty lines and who calls it."""

MOST_TOKENS = 10_000
"""Above it Claude Code warns; more places than that are better asked for more narrowly."""

LINE_CHARACTERS = 200
"""Of a line of a snippet; longer ones are data or minified."""

RELATED = 10
"""Of each relation of a definition; GetNode knows up to 50."""


async def _search(inquiry: Inquiry, given: dict[str, Any]) -> dict[str, Any]:
    found = await inquiry.ask(
        "Query",
        query=given["query"],
        limit=given["limit"],
        path_prefix=given["path"],
        glob=given["glob"],
        kinds=given["kinds"],
    )
    answer = {
        "results": [_place(one, given["max_tokens"]) for one in found["results"]],
        "route": found["route"],
        "degraded": [plain(one) for one in found["degraded"]],
    }
    return {**answer, **kept({"hint": plain(found.get("hint") or "")}, "hint")}


def _place(hit: dict[str, Any], limit: int) -> dict[str, Any]:
    names = ("path", "start_line", "end_line", "kind", "node_id", "score")
    why = [*hit["why"], *([f"through {hit['via']}"] if hit.get("via") else [])]
    return {
        **{name: hit[name] for name in names},
        **kept(
            {**hit, "why": "; ".join(why), "snippet": _snippet(hit["snippet"], limit)},
            "symbol",
            "certainty",
            "why",
            "snippet",
        ),
    }


def _snippet(text: str, limit: int) -> str:
    """Return a snippet of at most a third of the answer, so that one place at least is always shown."""
    room = limit * CHARACTERS_PER_TOKEN // 3
    lines = []
    for line in text.split("\n"):
        shown = line if len(line) <= LINE_CHARACTERS else f"{line[: LINE_CHARACTERS - 1]}…"
        room -= len(shown) + 1
        if room < 0:
            break
        lines.append(shown)
    return "\n".join(lines)


def _render_search(answer: dict[str, Any]) -> str:
    if not answer["results"] and not answer.get("more"):
        return "\n".join(["Nothing was found.", answer.get("hint", ""), *answer["degraded"]]).rstrip()
    lines = [NOTE]
    for one in answer["results"]:
        lines += ["", _headline(one)]
        if one.get("snippet"):
            lines.append(block(one["snippet"]))
    return "\n".join([*lines, "", *left_out(answer), *answer["degraded"]]).rstrip()


def _headline(place: dict[str, Any]) -> str:
    where = inline(f"{place['path']}:{place['start_line']}-{place['end_line']}")
    name = f" {inline(place['symbol'], 200)}" if place.get("symbol") else ""
    unsure = " (by its name only)" if place.get("certainty") == "name" else ""
    why = f" - {inline(place['why'], 200)}" if place.get("why") else ""
    return f"{where} {plain(place['kind'], 40)}{name}{unsure}{why}"


async def _find(inquiry: Inquiry, given: dict[str, Any]) -> dict[str, Any]:
    name = given["name"].strip()
    if "#" not in name and len(name.split()) > 1:
        raise ToolError(
            "name must be one name such as login or Session.login, not a sentence",
            "give the name alone, or ask in words with search_code",
        )
    found = await inquiry.ask(
        "Query", query=name, route="structural", path_prefix=given["path"], limit=given["limit"]
    )
    matches = [_match(one) for one in found["results"]]
    answer: dict[str, Any] = {"matches": matches, "guess": bool(matches) and _is_guess(found)}
    if not matches:
        return {**answer, **kept({"hint": plain(found.get("hint") or "")}, "hint")}
    return {**answer, **await _details(inquiry, matches[0]["node_id"])}


def _is_guess(found: dict[str, Any]) -> bool:
    return all(one.get("certainty") == "name" for one in found["results"])


def _match(hit: dict[str, Any]) -> dict[str, Any]:
    names = ("node_id", "path", "start_line", "end_line", "kind")
    return {**{name: hit[name] for name in names}, **kept(hit, "symbol", "certainty")}


async def _details(inquiry: Inquiry, node_id: str) -> dict[str, Any]:
    """Return what is known of the best match; nothing if it is gone meanwhile."""
    try:
        node = await inquiry.ask("GetNode", node_id=node_id)
    except RpcError as error:
        if error.code != NOT_FOUND:
            raise
        return {}
    related = {name: _related(node.get(name) or []) for name in _RELATIONS}
    # A file's text is for reading it; here it is only named.
    shown = "definition" if "#" in node_id else "doc"
    return kept({**node, **related}, shown, *_RELATIONS)


def _related(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return each node once, at the first line where the relation stands."""
    first: dict[str, dict[str, Any]] = {}
    for one in nodes:
        first.setdefault(one.get("node_id") or f"{one.get('name')} {one['path']}", one)
    return [
        {
            "name": one.get("node_id") or one.get("name") or one["path"],
            "path": one["path"],
            "line": one["line"],
            "sure": one.get("certainty") == "resolved",
        }
        for one in list(first.values())[:RELATED]
    ]


def _render_symbol(answer: dict[str, Any]) -> str:
    if not answer["matches"] and not answer.get("more"):
        return "\n".join(["No such name is known.", answer.get("hint", "")]).rstrip()
    lines = [NOTE, ""]
    if answer["guess"]:
        lines.append("Nothing has exactly this name; the nearest:")
    lines += [_headline(one) for one in answer["matches"]]
    if answer.get("definition"):
        lines += ["", "The first of them:", block(answer["definition"])]
    for name, word in _RELATIONS.items():
        if answer.get(name):
            lines += ["", f"{word}:", *map(_render_related, answer[name])]
    return "\n".join([*lines, *left_out(answer)])


def _render_related(one: dict[str, Any]) -> str:
    unsure = "" if one["sure"] else " (by its name only)"
    return f"- {inline(one['name'], 200)} at {inline(one['path'])}:{one['line']}{unsure}"


_RELATIONS = {
    "callers": "Called by",
    "callees": "Calls",
    "subclasses": "Subclasses",
    "superclasses": "Superclasses",
}

_RELATED_ROWS = rows({"name": TEXT, "path": TEXT, "line": WHOLE, "sure": TRUTH})

_PLACE: dict[str, Any] = {"node_id": TEXT, "path": TEXT, "start_line": WHOLE, "end_line": WHOLE, "kind": TEXT}

SEARCH_CODE = Tool(
    name="search_code",
    title="Search the code",
    description=(
        "Find the places of this project that answer a question, by words, meaning and structure: "
        '"where do sessions expire?", "who calls login", "which tests reach src/auth.py", an error message. '
        "Use it instead of grep when you know what you look for but not how it is called. Not for the exact "
        "text of a known file (read it) or a known name (find_symbol)."
    ),
    arguments=Arguments(
        {
            "query": text("A question in words, a relation, names, or an error message.", required=True),
            "limit": number("How many places at most.", 1, 50, 8),
            "path": text("Only in this folder or file, from the root.", most=1000),
            "glob": text("Only in files that match, such as **/*.py.", most=1000),
            "kinds": texts("Only these kinds: function, class, method, section, code, text, …", most=20),
            "max_tokens": max_tokens(300, MOST_TOKENS, SEARCH_TOKENS),
        }
    ),
    reply=reply(
        {
            "results": rows(
                {**_PLACE, "score": {"type": "number"}}, symbol=TEXT, certainty=TEXT, why=TEXT, snippet=TEXT
            ),
            "route": TEXT,
            "degraded": TEXTS,
        },
        hint=TEXT,
    ),
    effect="reads",
    run=_search,
    render=_render_search,
)

FIND_SYMBOL = Tool(
    name="find_symbol",
    title="Find a definition",
    description=(
        "Find where a function, class, method or other name is defined, with its text, who calls it and what "
        "it calls. Exact: it follows imports and scopes, where grep finds words. Use it when you know the "
        "name. Not for questions in words (search_code)."
    ),
    arguments=Arguments(
        {
            "name": text("A name: login, Session.login, or a node as path#Name.", required=True, most=500),
            "path": text("Only in this folder or file, from the root.", most=1000),
            "limit": number("How many definitions at most.", 1, 50, 5),
            "max_tokens": max_tokens(300, MOST_TOKENS, SYMBOL_TOKENS),
        }
    ),
    reply=reply(
        {
            "matches": rows(_PLACE, symbol=TEXT, certainty=TEXT),
            "guess": {**TRUTH, "description": "nothing has exactly this name"},
        },
        hint=TEXT,
        definition={**TEXT, "description": "the text of the first match"},
        doc=TEXT,
        **dict.fromkeys(_RELATIONS, _RELATED_ROWS),
    ),
    effect="reads",
    run=_find,
    render=_render_symbol,
)
