"""Owns the tool that searches the code: search_code."""

from __future__ import annotations

from typing import Any

from .arguments import Arguments, max_tokens, number, text, texts
from .caller import Inquiry
from .marks import NOTE, block, plain
from .places import MOST_TOKENS, PLACE, REMARKS, headline, told, why_nothing
from .sizes import CHARACTERS_PER_TOKEN
from .tool import TEXT, TEXTS, TRUTH, WHOLE, Tool, kept, left_out, reply, rows

SEARCH_TOKENS = 1500
"""One place of sixty lines with what it needs, or four places with about ten lines each."""

LINE_CHARACTERS = 200
"""Of a line of a snippet; longer ones are data or minified."""


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
        "results": [_place(one, given["max_tokens"]) for one in _distinct(found["results"])],
        "route": found["route"],
        "degraded": [plain(one) for one in found["degraded"]],
    }
    if not answer["results"] and not found["degraded"]:
        answer["degraded"] = await why_nothing(inquiry)
    return {**answer, **told(found)}


def _distinct(hits: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out hits whose snippet begins within one that is shown: two calls in neighbouring lines."""
    distinct: list[dict[str, Any]] = []
    shown: dict[str, list[range]] = {}
    for hit in hits:
        lines = shown.setdefault(hit["node_id"], [])
        first = hit["snippet_line"]
        if not any(first in one for one in lines):
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
    """Return the text of the best place and what it needs, as much of it as an answer has room for."""
    if "definition" not in hit:
        return {}
    room = limit * CHARACTERS_PER_TOKEN * 2 // 3
    text = hit["definition"]
    shown = text if len(text) <= room else text[:room].rpartition("\n")[0]
    needs = [
        f"{one['node_id'].partition('#')[0]}:{one['start_line']} {one['text']}"
        for one in hit.get("needs", ())
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
    for one in answer["results"]:
        lines += ["", headline(one)]
        if one.get("definition"):
            lines.append(block(one["definition"]))
            lines += ["It goes on in the file."] if one.get("truncated") else []
            lines += ["It names and calls:", block("\n".join(one["needs"]))] if one.get("needs") else []
        elif one.get("snippet"):
            lines.append(block(one["snippet"]))
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
