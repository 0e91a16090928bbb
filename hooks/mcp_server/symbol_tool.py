"""Owns the tool that finds a definition by its name, with who calls it and what it calls."""

from __future__ import annotations

from typing import Any

from ...ipc.errors import NOT_FOUND, RpcError
from .arguments import Arguments, max_tokens, number, text
from .caller import Inquiry
from .errors import ToolError
from .marks import NOTE, block, inline, plain
from .places import MOST_TOKENS, PLACE, REMARKS, headline, told, why_nothing
from .tool import TEXT, TEXTS, TRUTH, WHOLE, Tool, kept, left_out, reply, rows

SYMBOL_TOKENS = 1000
"""A definition of forty lines and who calls it."""

RELATED = 10
"""Of each relation of a definition; GetNode knows up to 50."""


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
    answer: dict[str, Any] = {
        "matches": matches,
        "guess": bool(matches) and _is_guess(found),
        "degraded": [plain(one) for one in found["degraded"]],
        **told(found),
    }
    if not matches:
        return {**answer, "degraded": [*answer["degraded"], *await why_nothing(inquiry)]}
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
    related = {name: _related(node.get(name) or [], node["path"]) for name in _RELATIONS}
    # A file's text is for reading it; here it is only named.
    shown = "definition" if "#" in node_id else "doc"
    return kept({**node, **related}, shown, *_RELATIONS)


def _related(nodes: list[dict[str, Any]], path: str) -> list[dict[str, Any]]:
    """Return each node once, at the first line where the relation stands: in its own file, in the one at
    `path`, or else in the one that is told."""
    first: dict[str, dict[str, Any]] = {}
    for one in nodes:
        first.setdefault(one.get("node_id") or f"{one.get('name')} {one['path']}", one)
    return [
        {
            "name": _name_of(one),
            **({} if one["path"] in {path, _name_of(one).partition("#")[0]} else {"path": one["path"]}),
            "line": one["line"],
            "sure": one.get("certainty") == "resolved",
        }
        for one in list(first.values())[:RELATED]
    ]


def _name_of(one: dict[str, Any]) -> str:
    return str(one.get("node_id") or one.get("name") or one["path"])


def _render_symbol(answer: dict[str, Any]) -> str:
    if not answer["matches"] and not answer.get("more"):
        said = ["No such name is known.", answer.get("hint", ""), *answer.get("remarks", [])]
        return "\n".join(filter(None, [*said, *answer["degraded"]]))
    lines = [NOTE, *answer.get("remarks", []), ""]
    if answer["guess"]:
        lines.append("Nothing has exactly this name; the nearest:")
    lines += [headline(one) for one in answer["matches"]]
    if answer.get("definition"):
        lines += ["", "The first of them:", block(answer["definition"])]
    for name, word in _RELATIONS.items():
        if answer.get(name):
            lines += ["", f"{word}:", *map(_render_related, answer[name])]
    return "\n".join([*lines, *left_out(answer), *answer["degraded"]])


def _render_related(one: dict[str, Any]) -> str:
    unsure = "" if one["sure"] else " (by its name only)"
    where = f"{inline(one['path'])}:" if one.get("path") else "line "
    return f"- {inline(one['name'], 200)} at {where}{one['line']}{unsure}"


_RELATIONS = {
    "callers": "Called by",
    "callees": "Calls",
    "subclasses": "Subclasses",
    "superclasses": "Superclasses",
}

_RELATED_ROWS = rows({"name": TEXT, "line": WHOLE, "sure": TRUTH}, path=TEXT)

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
            "matches": rows(PLACE, symbol=TEXT, certainty=TEXT),
            "guess": {**TRUTH, "description": "nothing has exactly this name"},
            "degraded": {**TEXTS, "description": "why a name may be missing"},
        },
        hint=TEXT,
        remarks=REMARKS,
        definition={**TEXT, "description": "the text of the first match"},
        doc=TEXT,
        **dict.fromkeys(_RELATIONS, _RELATED_ROWS),
    ),
    effect="reads",
    run=_find,
    render=_render_symbol,
)
