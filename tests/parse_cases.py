"""A source's symbols and imports in short forms that tests compare."""

from __future__ import annotations

import re

from foveal.daemon.languages.shared.parse import parse_source


def plain(source: str) -> bytes:
    """Return a source without its marks."""
    return re.sub(r"(?m)^#= .*\n|  #= .*$", "", source).encode()


def marks_in(source: str) -> dict[int, list[str]]:
    """Return what stands behind `#=` at the end of each line; a line of marks belongs to the one before."""
    found: dict[int, list[str]] = {}
    line = 0
    for text in source.splitlines():
        line += not text.startswith("#= ")
        if "#= " in text:
            found.setdefault(line, []).extend(text.partition("#= ")[2].split("; "))
    return found


def check(source: str, language: str) -> None:
    """Check the symbols of a source: a line has the marks `depth kind name` of those that begin in it,
    with `to` their last line if that is another."""
    found: dict[int, list[str]] = {}
    for each in parse_source(plain(source), language).symbols:
        end = f" to {each.end_line}" if each.end_line != each.start_line else ""
        found.setdefault(each.start_line, []).append(f"{each.depth} {each.kind} {each.name}{end}")
    assert found == marks_in(source)


def heads(source: str, language: str) -> dict[str, str]:
    """Return the signatures by name."""
    return {each.name: each.signature for each in parse_source(plain(source), language).symbols}


def docs(source: str, language: str) -> dict[str, str]:
    """Return the doc lines by name."""
    return {each.name: each.doc for each in parse_source(plain(source), language).symbols}


def imports(source: str, language: str) -> list[tuple[str, str, int, bool]]:
    """Return module, name, line and whether it is required of each import."""
    found = parse_source(plain(source), language).imports
    return [(each.module, each.name, each.line, each.required) for each in found]
