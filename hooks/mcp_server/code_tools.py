"""The tools that find code: search_code and find_symbol."""

from __future__ import annotations

import re
from typing import Any

from ...ipc.errors import NOT_FOUND, RpcError
from .caller import Inquiry, ToolError
from .tool import (
    CHARACTERS_PER_TOKEN,
    NOTE,
    TEXT,
    TEXTS,
    TRUTH,
    WHOLE,
    Arguments,
    Tool,
    block,
    inline,
    kept,
    left_out,
    max_tokens,
    number,
    plain,
    reply,
    rows,
    text,
    texts,
)

MOST_TOKENS = 10_000
"""Maximum tokens of an answer; above it Claude Code warns."""

PLACE: dict[str, Any] = {"node_id": TEXT, "path": TEXT, "start_line": WHOLE, "end_line": WHOLE, "kind": TEXT}

REMARKS = {**TEXTS, "description": "what a name was taken for, how much more there is"}

WHY_READ_SO = ("asks ", "names ", "holds ", "commands ", "the caller chose ")
"""The beginnings of evidence that only explains why a question took its route."""


_NAMES = re.compile(r"(?<=its node id): .*", re.DOTALL)
"""The names in a remark, which the results name too."""


def remarks_of(found: dict[str, Any]) -> dict[str, Any]:
    """Return the daemon's hint and remarks: the number of further results, a name's interpretation, advice if
    nothing was found. The reasons of a question's route are left out: they are for people."""
    hint = plain(found.get("hint") or "")
    remarks = [
        plain(_NAMES.sub("", remark)) for remark in found["evidence"] if not remark.startswith(WHY_READ_SO)
    ]
    return kept(
        {"hint": hint, "remarks": [remark for remark in remarks if remark not in hint]}, "hint", "remarks"
    )


async def why_nothing(inquiry: Inquiry) -> list[str]:
    """Return the remark for an empty answer from a project that isn't indexed completely."""
    projects = (await inquiry.ask("Status"))["projects"]
    if all(project["state"] not in {"scanning", "indexing"} for project in projects):
        return []
    return ["the project is still being indexed, so that it may be there all the same; ask again in a moment"]


def headline(place: dict[str, Any]) -> str:
    """Return the line about a place: its position, kind and name, how sure it is, and why it was found."""
    where = inline(f"{place['path']}:{place['start_line']}-{place['end_line']}")
    name = f" {inline(place['symbol'], 200)}" if place.get("symbol") else ""
    unsure = " (by its name only)" if place.get("certainty") == "name" else ""
    why = f" - {inline(place['why'], 200)}" if place.get("why") else ""
    begins = f", from line {place['snippet_line']}" if place.get("snippet_line") else ""
    return f"{where} {plain(place['kind'], 40)}{name}{unsure}{why}{begins}"


SYMBOL_TOKENS = 1000
"""Maximum tokens of an answer by default: a definition of forty lines and its callers."""

RELATED = 10
"""Maximum nodes shown of each relation; GetNode returns up to 50."""


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
    matches = [_match(hit) for hit in found["results"]]
    answer: dict[str, Any] = {
        "matches": matches,
        "guess": bool(matches) and _is_guess(found),
        "degraded": [plain(reason) for reason in found["degraded"]],
        **remarks_of(found),
    }
    if not matches:
        return {**answer, "degraded": [*answer["degraded"], *await why_nothing(inquiry)]}
    return {**answer, **await _details(inquiry, matches[0]["node_id"])}


def _is_guess(found: dict[str, Any]) -> bool:
    return all(hit.get("certainty") == "name" for hit in found["results"])


def _match(hit: dict[str, Any]) -> dict[str, Any]:
    names = ("node_id", "path", "start_line", "end_line", "kind")
    return {**{name: hit[name] for name in names}, **kept(hit, "symbol", "certainty")}


async def _details(inquiry: Inquiry, node_id: str) -> dict[str, Any]:
    """Return the details of the best match, nothing if it no longer exists."""
    try:
        node = await inquiry.ask("GetNode", node_id=node_id)
    except RpcError as error:
        if error.code != NOT_FOUND:
            raise
        return {}
    related = {name: _related(node.get(name) or [], node["path"]) for name in _RELATIONS}
    # A file is only named here: its text can be read from the disk.
    shown = "definition" if "#" in node_id else "doc"
    return kept({**node, **related}, shown, *_RELATIONS)


def _related(nodes: list[dict[str, Any]], path: str) -> list[dict[str, Any]]:
    """Return each node once, at the first line of the relation. `path` is named only if it is neither the
    node's own file nor the match's."""
    first: dict[str, dict[str, Any]] = {}
    for node in nodes:
        first.setdefault(node.get("node_id") or f"{node.get('name')} {node['path']}", node)
    return [
        {
            "name": _name_of(node),
            **({} if node["path"] in {path, _name_of(node).partition("#")[0]} else {"path": node["path"]}),
            "line": node["line"],
            "sure": node.get("certainty") == "resolved",
        }
        for node in list(first.values())[:RELATED]
    ]


def _name_of(node: dict[str, Any]) -> str:
    return str(node.get("node_id") or node.get("name") or node["path"])


def _render_symbol(answer: dict[str, Any]) -> str:
    if not answer["matches"] and not answer.get("more"):
        said = ["No such name is known.", answer.get("hint", ""), *answer.get("remarks", [])]
        return "\n".join(filter(None, [*said, *answer["degraded"]]))
    lines = [NOTE, *answer.get("remarks", []), ""]
    if answer["guess"]:
        lines.append("Nothing has exactly this name; the nearest:")
    lines += [headline(match) for match in answer["matches"]]
    if answer.get("definition"):
        lines += ["", "The first of them:", block(answer["definition"])]
    for name, word in _RELATIONS.items():
        if answer.get(name):
            lines += ["", f"{word}:", *map(_render_related, answer[name])]
    return "\n".join([*lines, *left_out(answer), *answer["degraded"]])


def _render_related(node: dict[str, Any]) -> str:
    unsure = "" if node["sure"] else " (by its name only)"
    where = f"{inline(node['path'])}:" if node.get("path") else "line "
    return f"- {inline(node['name'], 200)} at {where}{node['line']}{unsure}"


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


SEARCH_TOKENS = 1500
"""Maximum tokens of an answer by default: one place of sixty lines with the definitions it needs, or four
places with about ten lines each."""

LINE_CHARACTERS = 200
"""Maximum characters of a line in a snippet; longer lines are data or minified."""


async def _search(inquiry: Inquiry, given: dict[str, Any]) -> dict[str, Any]:
    found = await inquiry.ask(
        "Query",
        query=given["query"],
        limit=given["limit"],
        path_prefix=given["path"],
        glob=given["glob"],
        kinds=given["kinds"],
        for_agent=True,
        relation=given["relation"],
    )
    answer = {
        "results": [_place(hit, given["max_tokens"]) for hit in _distinct(found["results"])],
        "route": found["route"],
        "degraded": [plain(reason) for reason in found["degraded"]],
    }
    if not answer["results"] and not found["degraded"]:
        answer["degraded"] = await why_nothing(inquiry)
    return {**answer, **remarks_of(found)}


def _distinct(hits: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return hits without those whose snippet begins inside another, as for two calls in adjacent lines."""
    distinct: list[dict[str, Any]] = []
    shown: dict[str, list[range]] = {}
    for hit in hits:
        lines = shown.setdefault(hit["node_id"], [])
        first = hit["snippet_line"]
        if not any(first in span for span in lines):
            distinct.append(hit)
            lines.append(range(first, first + hit["snippet"].count("\n") + 1))
    return distinct


def _place(hit: dict[str, Any], limit: int) -> dict[str, Any]:
    names = ("path", "start_line", "end_line", "kind", "node_id", "score")
    begins = {"snippet_line": hit["snippet_line"]} if hit["snippet_line"] != hit["start_line"] else {}
    why = [*hit["why"], *([f"through {hit['via']}"] if hit.get("via") else [])]
    return {
        **{name: hit[name] for name in names},
        **(begins if hit["snippet"] and "definition" not in hit else {}),
        **kept(
            {**hit, "why": "; ".join(why), "snippet": _snippet(hit["snippet"], limit)},
            "symbol",
            "certainty",
            "why",
            *(() if "definition" in hit else ("snippet",)),
        ),
        **_whole(hit, limit),
    }


def _whole(hit: dict[str, Any], limit: int) -> dict[str, Any]:
    """Return the text of the best place and the definitions it needs, within two thirds of the answer."""
    if "definition" not in hit:
        return {}
    room = limit * CHARACTERS_PER_TOKEN * 2 // 3
    text = hit["definition"]
    shown = text if len(text) <= room else text[:room].rpartition("\n")[0]
    needs = [
        f"{needed['node_id'].partition('#')[0]}:{needed['start_line']} {needed['text']}"
        for needed in hit.get("needs", ())
    ]
    return {
        "definition": shown,
        **({"truncated": True} if shown != text or hit["truncated"] else {}),
        **({"needs": needs} if needs else {}),
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
        said = ["Nothing was found.", answer.get("hint", ""), *answer.get("remarks", [])]
        return "\n".join(filter(None, [*said, *answer["degraded"]]))
    lines = [NOTE, *answer.get("remarks", [])]
    for place in answer["results"]:
        lines += ["", headline(place)]
        if place.get("definition"):
            lines.append(block(place["definition"]))
            lines += ["It goes on in the file."] if place.get("truncated") else []
            lines += ["It names and calls:", block("\n".join(place["needs"]))] if place.get("needs") else []
        elif place.get("snippet"):
            lines.append(block(place["snippet"]))
    return "\n".join([*lines, "", *left_out(answer), *answer["degraded"]]).rstrip()


SEARCH_CODE = Tool(
    name="search_code",
    title="Search the code",
    description=(
        "Find the places of this project that answer a question, by words, meaning and structure: "
        '"where do sessions expire?", "who calls login", "which tests reach src/auth.py", an error message. '
        "One clearly best place comes whole, with the values of constants that it names and the heads of "
        "what it calls; else a few places with the lines that match. Quote exact text as it is. "
        "Use it instead of grep when you know what you look for but not how it is called. Not for the exact "
        "text of a known file (read it) or a known name (find_symbol)."
    ),
    arguments=Arguments(
        {
            "query": text("A question in words, a relation, names, or an error message.", required=True),
            "limit": number("How many places at most, where none is clearly the best.", 1, 50, 4),
            "path": text("Only in this folder or file, from the root.", most=1000),
            "glob": text("Only in files that match, such as **/*.py.", most=1000),
            "kinds": texts("Only these kinds: function, class, method, section, code, text, …", most=20),
            "relation": text(
                "Ask the structure alone for this of the names in the query: callers, callees, references,"
                " definition, importers, imports, subclasses, superclasses, implementations, overrides,"
                " tests, impact, outline, connection, cycles, unused.",
                most=20,
            ),
            "max_tokens": max_tokens(300, MOST_TOKENS, SEARCH_TOKENS),
        }
    ),
    reply=reply(
        {
            "results": rows(
                {**PLACE, "score": {"type": "number"}},
                symbol=TEXT,
                certainty=TEXT,
                why=TEXT,
                snippet=TEXT,
                snippet_line=WHOLE,
                definition=TEXT,
                truncated=TRUTH,
                needs=TEXTS,
            ),
            "route": TEXT,
            "degraded": TEXTS,
        },
        hint=TEXT,
        remarks=REMARKS,
    ),
    effect="reads",
    run=_search,
    render=_render_search,
)
