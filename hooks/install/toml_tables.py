"""Owns edits of TOML as text: one table is put at the end or taken out, the rest stays byte for byte.

Every edit is held against `tomllib`: the result must say what was asked and nothing else, or nothing is done.
tomlkit was tried: a table that it added and took out again leaves a blank line behind, it ends lines in its
own way in a file with CRLF, and it moves tables that stand out of order.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import InstallError, UnreadableText
from .jsonc import newline

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table's stretch of text, from its header to the next or the end, without what is blank there."""

    path: Path
    start: int
    end: int


def parse(text: str) -> dict[str, Any]:
    """Return what a text says. Raises `UnreadableText` with the place of what is wrong."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        what = str(error).partition(" (at ")[0]
        line, column = map(int, place.groups()) if place else (text.count("\n") + 1, 1)
        raise UnreadableText(what, line, column) from error
    except RecursionError as error:
        raise InstallError("its values nest too deeply", "mend the file first") from error


def lookup(values: Mapping[str, Any], path: Sequence[str]) -> Any:
    """Return what stands at a path, or None."""
    found: Any = values
    for key in path:
        if not isinstance(found, Mapping):
            return None
        found = found.get(key)
    return found


def append(text: str, path: Path, values: Mapping[str, Any]) -> str:
    """Put a table at the end. Raises `InstallError` where the file leaves no room for it."""
    end = newline(text)
    lead = "" if not text else end if text.endswith("\n") else end * 2
    after = text + lead + _render(path, values, end)
    expected = _with(parse(text), path, dict(values))
    return _checked(after, expected, f"{'.'.join(path)} can't be added: {path[0]} is written in one line")


def update(text: str, path: Path, values: Mapping[str, Any]) -> str:
    """Set keys of a table that is there; its others stay. Raises `InstallError` where that can't be done."""
    name = ".".join(path)
    table = next((one for one in tables(text) if one.path == path), None)
    found = lookup(parse(text), path)
    if table is None or not isinstance(found, dict):
        raise InstallError(f"{name} isn't written as a table of its own", "change it by hand")
    own = {key: value for key, value in found.items() if not isinstance(value, dict)}
    if not all(_is_simple(value) for value in own.values()):
        raise InstallError(f"{name} holds values that can't be kept as they are written", "change it by hand")
    end = newline(text)
    body = _render(path, {**own, **values}, end)
    body = body if text[table.start : table.end].endswith("\n") else body.removesuffix(end)
    after = text[: table.start] + body + text[table.end :]
    return _checked(after, _with(parse(text), path, {**found, **values}), f"{name} can't be changed")


def remove(text: str, path: Path) -> str:
    """Take out a table with the tables below it. Raises `InstallError` where it isn't written as a table."""
    after = text
    for table in reversed([one for one in tables(text) if one.path[: len(path)] == path]):
        start = table.start
        blank = re.search(r"(?:(?<=\n)|^)(?:[ \t]*\r?\n)?\Z", after[:start])
        start -= len(blank.group()) if blank else 0
        after = after[:start] + after[table.end :]
    expected = _without(parse(text), path)
    return _checked(
        after, expected, f"{'.'.join(path)} isn't written as a table of its own, remove it by hand"
    )


def tables(text: str) -> Iterator[Table]:
    """Yield the tables of a valid text in their order, those of arrays too."""
    headers = list(_headers(text))
    for number, (path, start) in enumerate(headers):
        end = headers[number + 1][1] if number + 1 < len(headers) else len(text)
        body = text[start:end]
        # Comments and blank lines before the next header belong to that one.
        kept = re.sub(r"(?:(?<=\n)[ \t]*(?:#[^\n]*|\r)?(?:\n|\Z))+\Z", "", body)
        yield Table(path, start, start + len(kept))


def _headers(text: str) -> Iterator[tuple[Path, int]]:
    """Yield the path and place of each header; what looks like one inside strings and arrays isn't one."""
    depth, at = 0, 0
    while match := _NEXT.search(text, at):
        mark, start, at = match.group().strip(" \t"), match.start(), match.end()
        if mark == "[" and not depth and start == text.rfind("\n", 0, start) + 1:
            line_end = text.find("\n", at)
            line = text[start : line_end if line_end >= 0 else len(text)]
            yield _header_path(line.rstrip("\r")), start
            at = start + len(line)
        elif mark in {"[", "{"}:
            depth += 1
        elif mark in {"]", "}"}:
            depth -= 1


_NEXT = re.compile(
    r"""
    \"{3}(?:\\.|[^\\])*?\"{3,5} | \'{3}.*?\'{3,5}      # strings of several lines
    | "(?:\\.|[^"\\\n])*" | '[^'\n]*' | \#[^\n]*     # strings of one line, comments
    | ^[ \t]*\[ | [\[\]{}]                            # what may be a header, and what opens and closes
    """,
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)


def _header_path(line: str) -> Path:
    """Return the keys of a header line, as tomllib reads them."""
    found: Any = tomllib.loads(line)
    path: list[str] = []
    while found:
        if isinstance(found, list):
            found = found[0]
            continue
        key = next(iter(found))
        path.append(key)
        found = found[key]
    return tuple(path)


def _render(path: Path, values: Mapping[str, Any], end: str) -> str:
    """Return a table's text. What JSON writes of text, numbers, booleans and lists is TOML as well."""
    lines = [
        f"[{'.'.join(path)}]",
        *(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()),
    ]
    return "".join(line + end for line in lines)


def _is_simple(value: Any) -> bool:
    if isinstance(value, list):
        return all(_is_simple(one) for one in value)
    return isinstance(value, str | bool | int)


def _with(values: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    if not path:
        return dict(value)
    inner = values.get(path[0], {})
    return {**values, path[0]: _with(inner if isinstance(inner, dict) else {}, path[1:], value)}


def _without(values: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return values without a path, nor the tables that held nothing else."""
    inner = values.get(path[0])
    if len(path) == 1 or not isinstance(inner, dict):
        return {key: value for key, value in values.items() if key != path[0]}
    left = _without(inner, path[1:])
    return {
        key: (left if key == path[0] else value) for key, value in values.items() if key != path[0] or left
    }


def _checked(text: str, expected: dict[str, Any], problem: str) -> str:
    """Return a text that says what is expected. Empty tables don't count: they may stay or go."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InstallError(problem, "mend it by hand, nothing was changed") from error
    if _pruned(found) != _pruned(expected):
        raise InstallError(problem, "mend it by hand, nothing was changed")
    return text


def _pruned(value: Any) -> Any:
    # Compared by their text, since a float that is no number isn't equal to itself.
    if isinstance(value, dict):
        pruned = {key: _pruned(inner) for key, inner in value.items()}
        return {key: inner for key, inner in pruned.items() if inner != {}}
    return [_pruned(one) for one in value] if isinstance(value, list) else repr(value)
