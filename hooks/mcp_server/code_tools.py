"""The tool about code, search_code: places for a question, definitions, and what a diff breaks."""

from __future__ import annotations

import re
from typing import Any

from ...ipc.errors import NOT_FOUND, RpcError
from ..changes import groups, summary
from .caller import DaemonSession
from .tool import (
    CHARACTERS_PER_TOKEN,
    NOTE,
    Arguments,
    Tool,
    block,
    cut,
    inline,
    max_tokens,
    optional_number,
    plain,
    text,
    texts,
    truth,
)

MOST_TOKENS = 10_000
"""Maximum tokens of an answer; above it Claude Code warns."""

WHY_READ_SO = ("asks ", "names ", "holds ", "commands ", "the caller ")
"""The beginnings of evidence that only explains why a question took its route."""


_NAMES = re.compile(r"(?<=its node id): .*", re.DOTALL)
"""The names in a remark, which the results name too."""


def remarks_of(found: dict[str, Any]) -> list[str]:
    """Return the daemon's hint and remarks: the number of further results, a name's interpretation, advice if
    nothing was found, what may be missing. The reasons of a question's route are left out: they are for
    people."""
    hint = plain(found.get("hint") or "")
    said = [plain(_NAMES.sub("", one)) for one in found["evidence"] if not one.startswith(WHY_READ_SO)]
    return [
        *([hint] if hint else []),
        *(remark for remark in said if remark not in hint),
        *map(plain, found["degraded"]),
    ]


async def nothing(session: DaemonSession, first: str, found: dict[str, Any]) -> list[str]:
    """Return an empty answer, which says so if the project isn't indexed completely."""
    projects = (await session.ask("Status"))["projects"]
    unready = any(project["state"] in {"scanning", "indexing"} for project in projects)
    why = "the project is still being indexed, so that it may be there all the same; ask again in a moment"
    return [first, *remarks_of(found), *([why] if unready and not found["degraded"] else [])]


def headline(place: dict[str, Any]) -> str:
    """Return the line about a place: its position, kind and name, how sure it is, and why it was found."""
    where = inline(f"{place['path']}:{place['start_line']}-{place['end_line']}")
    name = f" {inline(place['symbol'], 200)}" if place.get("symbol") else ""
    unsure = " (by its name only)" if place.get("certainty") == "name" else ""
    reasons = [*place.get("why", ()), *([f"through {place['via']}"] if place.get("via") else [])]
    why = f" - {inline('; '.join(reasons), 200)}" if reasons else ""
    is_part = place.get("snippet") and place["snippet_line"] != place["start_line"]
    begins = f", from line {place['snippet_line']}" if is_part and "definition" not in place else ""
    return f"{where} {plain(place['kind'], 40)}{name}{unsure}{why}{begins}"


DEFINITIONS = 5
"""Number of definitions of a name by default."""

RELATED = 10
"""Maximum nodes shown of each relation; GetNode returns up to 50."""


async def _find(session: DaemonSession, given: dict[str, Any]) -> list[str]:
    found = await session.ask(
        "Query",
        query=given["query"].strip(),
        route="structural",
        limit=given["limit"] or DEFINITIONS,
        path_prefix=given["path"],
        glob=given["glob"],
        kinds=given["kinds"],
    )
    matches = found["results"]
    if not matches:
        return await nothing(session, "No such name is known.", found)
    guessed = all(match.get("certainty") == "name" for match in matches)
    # Why it was found and its snippet say no more than the name and the definition.
    places = [headline({**match, "why": (), "via": "", "snippet": ""}) for match in matches]
    return [
        "\n".join([NOTE, *remarks_of(found), ""]),
        *(["Nothing has exactly this name; the nearest:"] if guessed else []),
        *places,
        *await _details(session, matches[0]["node_id"], given),
    ]


async def _details(session: DaemonSession, node_id: str, given: dict[str, Any]) -> list[str]:
    """Return the text of the best match with numbered lines, and how much is related to it, with `all` what;
    nothing if it no longer exists."""
    try:
        node = await session.ask("GetNode", node_id=node_id)
    except RpcError as error:
        if error.code != NOT_FOUND:
            raise
        return []
    # A file is only named here: its text can be read from the disk.
    text = numbered(node["definition"], node["start_line"]) if "#" in node_id else ""
    definition = cut(text, given["max_tokens"] * CHARACTERS_PER_TOKEN // 2)
    lines = [f"\nThe first of them:\n{block(definition)}"] if definition else []
    if definition != text and definition:
        lines.append("It goes on in the file.")
    if node.get("remark"):
        lines.append(f"It {plain(node['remark'])}.")
    counts = []
    for name, word in _RELATIONS.items():
        related: dict[str, dict[str, Any]] = {}
        for one in node.get(name) or []:
            related.setdefault(one.get("node_id") or f"{one.get('name')} {one['path']}", one)
        if not related:
            continue
        counts.append(f"{word.lower()} {len(related)}{'+' if name in node.get('more', ()) else ''}")
        if given["all"]:
            shown = [_related(one, node["path"]) for one in list(related.values())[:RELATED]]
            lines += [f"\n{word}:\n{shown[0]}", *shown[1:]]
    if counts and not given["all"]:
        lines.append(f"{', '.join(counts)}: with all=true they are listed.".capitalize())
    return lines


def numbered(text: str, first: int) -> str:
    """Return a text with the number of each line before it."""
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join(f"{number} {line}".rstrip() for number, line in enumerate(lines, first))


def _related(node: dict[str, Any], path: str) -> str:
    """Return the line about a related node. Its file is named only if neither its name nor `path` is it."""
    name = str(node.get("node_id") or node.get("name") or node["path"])
    unsure = "" if node.get("certainty") == "resolved" else " (by its name only)"
    where = "line " if node["path"] in {path, name.partition("#")[0]} else f"{inline(node['path'])}:"
    return f"- {inline(name, 200)} at {where}{node['line']}{unsure}"


_RELATIONS = {
    "callers": "Called by",
    "callees": "Calls",
    "subclasses": "Subclasses",
    "superclasses": "Superclasses",
}

SEARCH_TOKENS = 1500
"""Maximum tokens of an answer by default: one place of sixty lines with the definitions it needs, or some
fifty places of a line each."""

PLACES = 8
"""Number of places by default, if none is clearly the best; answers of the graph are complete."""

CODE_CHARACTERS = 120
"""Maximum characters of a line of code behind its place."""


async def _search(session: DaemonSession, given: dict[str, Any]) -> list[str]:
    query, relation = given["query"].strip(), given["relation"]
    if relation == "changes":
        return await _changes(session, given)
    if relation == "definition" and ("#" in query or len(query.split()) == 1):
        return await _find(session, given)
    found = await session.ask(
        "Query",
        query=given["query"],
        limit=given["limit"] or PLACES,
        path_prefix=given["path"],
        glob=given["glob"],
        kinds=given["kinds"],
        for_agent=True,
        relation=relation,
    )
    if not found["results"]:
        return await nothing(session, "Nothing was found.", found)
    shown = found["results"][: given["limit"] or None]
    left = len(found["results"]) - len(shown)
    places = [_place(hit, given["max_tokens"]) for hit in shown]
    more = [f"{left} more place{'' if left == 1 else 's'}: ask with a larger limit."] if left else []
    return ["\n".join([NOTE, *remarks_of(found), *more]), *places]


def _place(hit: dict[str, Any], limit: int) -> str:
    """Return the line about a place with the line that matches, or the best place with its text and the
    definitions it needs; the text takes at most two thirds of the answer."""
    if "definition" not in hit:
        lines = hit["snippet"].replace("\r\n", "\n").split("\n")
        at = hit["line"] - hit["snippet_line"]
        code = lines[at].strip() if 0 <= at < len(lines) else ""
        graph = bool(hit.get("certainty"))
        where = str(hit["line"]) if graph else f"{hit['start_line']}-{hit['end_line']}"
        name = f" {inline(hit['symbol'], 200)}" if hit.get("symbol") else ""
        number = "" if graph else f" {hit['line']}:"
        line = f" -{number} {inline(code, CODE_CHARACTERS)}" if code else ""
        via = hit.get("via") or ""
        notes = ["by its name only"] if hit.get("certainty") == "name" else []
        notes += [f"through {inline(via, 200)}"] if via and via != hit.get("symbol") else []
        behind = f" ({'; '.join(notes)})" if notes else ""
        place = inline(f"{hit['path']}:{where}")
        return f"{place}{name}{line}{behind}"
    shown = cut(numbered(hit["definition"], hit["start_line"]), limit * CHARACTERS_PER_TOKEN * 2 // 3)
    goes_on = hit["truncated"] or shown.count("\n") < hit["definition"].count("\n")
    lines = ["", headline(hit), block(shown), *(["It goes on in the file."] if goes_on else [])]
    lines += [f"It {plain(hit['remark'])}."] if hit.get("remark") else []
    needs = [
        f"{needed['node_id'].partition('#')[0]}:{needed['start_line']} {needed['text']}"
        for needed in hit.get("needs", ())
    ]
    lines += ["It names and calls:", block("\n".join(needs))] if needs else []
    return "\n".join(lines)


async def _changes(session: DaemonSession, given: dict[str, Any]) -> list[str]:
    commits = given["query"].strip()
    reply = await session.ask("GetChanges", range=None if commits.lower() == WORK_TREE else commits)
    parts = [block("\n".join(lines)) for lines in groups(reply)]
    return ["\n".join([NOTE, inline(summary(reply)), *map(plain, reply["degraded"])]), *parts]


WORK_TREE = "work tree"
"""The query of changes that aren't committed yet."""

SEARCH_CODE = Tool(
    name="search_code",
    description=(
        'Find code by words, meaning and structure: "where do sessions expire?", "who calls login", an '
        "error, exact text in quotes. A clearly best place comes whole, else a line each. relation "
        "definition shows the text of a name; changes says what your edits break and which tests to run: ask "
        "before you call a change done. Not for a known file (read it)."
    ),
    arguments=Arguments(
        {
            "query": text(f'for changes "{WORK_TREE}" or a range of commits', required=True),
            "relation": text(
                "of names in query: definition, callers, callees, references, importers, imports, subclasses,"
                " superclasses, implementations, overrides, tests, impact, outline, connection, cycles,"
                " unused, changes",
                most=20,
            ),
            "all": truth("a definition's callers and callees too"),
            "path": text(most=1000),
            "glob": text(most=1000),
            "kinds": texts("function, class, section…", most=20),
            "limit": optional_number(1, 200),
            "max_tokens": max_tokens(300, MOST_TOKENS, SEARCH_TOKENS),
        }
    ),
    effect="reads",
    run=_search,
)
