"""Owns how the results of a question read: their places, what speaks for them, and their lines."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from typing import Any

from . import terminal
from .highlight import highlight, question_words
from .places import seen_from
from .references import are_references, describe_references

LISTS = {"tree": "structure", "lexical": "words", "vector": "meaning"}
"""The lists that a result may stand in, as a person knows them; those of a newer daemon keep their name."""

INDENT = "   "

NEEDS = {"within": "In:", "value": "Names:", "call": "Calls:"}
"""What is said above what a definition needs, by its role."""


def describe_results(reply: dict[str, Any], question: str, folder: str) -> Iterator[str]:
    """Yield the lines about the results of a reply, best first, paths as seen from a folder."""
    if are_references(reply):
        yield from describe_references(reply, question, folder)
        return
    words = question_words(question) if terminal.use_colour(sys.stdout, os.environ) else None
    for rank, result in enumerate(reply["results"], 1):
        if rank > 1:
            yield ""
        place = seen_from(folder, reply["project"], result["path"])
        yield _headline(rank, result, place)
        reasons = _reasons(result)
        if reasons:
            yield INDENT + terminal.styled(terminal.clean(reasons), dim=True)
        yield from _snippet(result, words)
        if result.get("more"):
            others = ", ".join(_other(one, result) for one in result["more"])
            yield INDENT + terminal.styled(terminal.clean(f"also {others}"), dim=True)


def describe_for_agent(reply: dict[str, Any], question: str, folder: str) -> Iterator[str]:
    """Yield the lines about the results of a reply for an agent: one place whole with what it needs, or the
    lines that match of a few, without ranks and scores."""
    results = reply["results"]
    if are_references(reply) and not results[0].get("definition"):
        yield from describe_references(reply, question, folder)
        return
    for number, result in enumerate(results):
        if number:
            yield ""
        place = seen_from(folder, reply["project"], result["path"])
        name = (
            f" {_name(result['symbol'], result['kind'])} ({result['kind']})" if result.get("symbol") else ""
        )
        yield terminal.clean(f"{place}:{result['start_line']}-{result['end_line']}{name}")
        if "definition" in result:
            yield from _numbered(result["definition"], result["start_line"])
            if result["truncated"]:
                yield f"{INDENT}… up to line {result['end_line']}"
            yield from _needs(result, reply["project"], folder)
        else:
            yield from _snippet(result, None)


def _needs(result: dict[str, Any], project: str, folder: str) -> Iterator[str]:
    """Yield what a definition needs, under a line that says what it is, in the order in which it comes."""
    said = ""
    for one in result.get("needs", ()):
        if one["role"] != said:
            said = one["role"]
            yield NEEDS.get(said, said)
        path = one["node_id"].partition("#")[0]
        where = "" if path == result["path"] else f"{seen_from(folder, project, path)}:"
        text = one["text"] if one["role"] == "value" else " ".join(one["text"].split())
        first, *others = text.split("\n")
        yield terminal.clean(f"{INDENT}{where}{one['start_line']}: {first.strip()}")
        yield from (f"{INDENT}{terminal.clean(line)}" for line in others)


def _numbered(text: str, first: int) -> Iterator[str]:
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), first):
        yield f"{number} {line}".rstrip()


def _headline(rank: int, result: dict[str, Any], place: str) -> str:
    path = terminal.styled(terminal.clean(place), fg="magenta", bold=True)
    line = terminal.styled(str(result["line"]), fg="green")
    what = ""
    if result.get("symbol"):
        name = terminal.clean(_name(result["symbol"], result["kind"]))
        what = f"{terminal.styled(name, bold=True)} ({terminal.clean(result['kind'])})  "
    return f"{rank:>2} {path}:{line}  {what}{result['score']:.2f}"


def _reasons(result: dict[str, Any]) -> str:
    """Return why a result was found: its ranks in the lists that have it, and what speaks for its file."""
    ranks = sorted(result["sources"].items(), key=lambda source: (source[1], source[0]))
    found = [", ".join(f"{LISTS.get(name, name)} #{rank}" for name, rank in ranks)]
    found += result["why"]
    if result.get("via"):
        found.append(f"through {result['via']}")
    if result.get("certainty") == "name":
        found.append("by its name alone")
    return "; ".join(filter(None, found))


def _snippet(result: dict[str, Any], words: re.Pattern[str] | None) -> Iterator[str]:
    """Yield the lines of a snippet with their numbers, as grep has them: `:` marks the one that says most."""
    coloured = terminal.use_colour(sys.stdout, os.environ)
    text = result["snippet"].replace("\r\n", "\n")
    if coloured or terminal.is_terminal(sys.stdout):
        text = terminal.clean_lines(text)
    lines = highlight(text, result["language"], words) if coloured else text.split("\n")
    first = result["snippet_line"]
    width = len(str(first + len(lines) - 1))
    for number, line in enumerate(lines, first):
        best = number == result["line"]
        gutter = terminal.styled(f"{number:>{width}}{':' if best else '-'}", fg="green", dim=not best)
        yield f"{INDENT}{gutter}{f' {line}' if line else ''}"


def _other(place: dict[str, Any], result: dict[str, Any]) -> str:
    """Return another place in the file of a result: its line and what it is."""
    _, _, symbol = place["node_id"].partition("#")
    name = "" if symbol == result.get("symbol") else _name(symbol, place["kind"])
    return f"{place['start_line']}-{place['end_line']} {name}".rstrip()


def _name(symbol: str, kind: str) -> str:
    """Return the name of a definition, or a section's own heading without those above it."""
    return symbol.rpartition("/")[2] if kind == "section" else symbol
