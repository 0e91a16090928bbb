"""Edits of TOML as text: a table is appended or removed, and the rest stays byte for byte.

`tomllib` checks every edit: the result must differ as wanted and in nothing else, or nothing is done. tomlkit
was tried: adding and removing a table leaves a blank line, line ends change in a file with CRLF, and tables
out of order move.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from .errors import InstallError, UnreadableText
from .jsonc import newline

Path = tuple[str, ...]


def parse(text: str) -> dict[str, Any]:
    """Return the values of a text. Raises `UnreadableText` with the position of the error."""
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
    """Return the value at a path, None for none."""
    found: Any = values
    for key in path:
        if not isinstance(found, Mapping):
            return None
        found = found.get(key)
    return found


def append(text: str, path: Path, values: Mapping[str, Any]) -> str:
    """Append a table. Raises `InstallError` if the file already defines it in another way."""
    end = newline(text)
    lead = "" if not text else end if text.endswith("\n") else end * 2
    after = text + lead + _render(path, values, end)
    expected = _with(parse(text), path, dict(values))
    return _checked(after, expected, f"{'.'.join(path)} can't be added: {path[0]} is written in one line")


def update(text: str, path: Path, values: Mapping[str, Any]) -> str:
    """Set keys of a table; its other keys stay. Raises `InstallError` if that can't be done."""
    name = ".".join(path)
    span = next((span for own, *span in _tables(text) if own == name), None)
    found = lookup(parse(text), path)
    if span is None or not isinstance(found, dict):
        raise InstallError(f"{name} isn't written as a table of its own", "change it by hand")
    own = {key: value for key, value in found.items() if not isinstance(value, dict)}
    if not all(_is_simple(value) for value in own.values()):
        raise InstallError(f"{name} holds values that can't be kept as they are written", "change it by hand")
    end = newline(text)
    body = _render(path, {**own, **values}, end)
    start, stop = span
    body = body if text[start:stop].endswith("\n") else body.removesuffix(end)
    after = text[:start] + body + text[stop:]
    return _checked(after, _with(parse(text), path, {**found, **values}), f"{name} can't be changed")


def remove(text: str, path: Path) -> str:
    """Remove a table and its subtables. Raises `InstallError` if it isn't written as a table."""
    after = text
    for name, start, end in reversed(_tables(text)):
        if f"{name}.".startswith(f"{'.'.join(path)}."):
            blank = re.search(r"(?:(?<=\n)|^)(?:[ \t]*\r?\n)?\Z", after[:start])
            after = after[: start - (len(blank.group()) if blank else 0)] + after[end:]
    expected = _without(parse(text), path)
    return _checked(
        after, expected, f"{'.'.join(path)} isn't written as a table of its own, remove it by hand"
    )


def _tables(text: str) -> list[tuple[str, int, int]]:
    """Return the name and the span of each table whose header has bare keys, and of those of others.

    A table goes to the next header; comments and blank lines before that belong to it.
    """
    bare = _TEXTS.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    headers = [(re.sub(r"\s", "", found[1]), found.start()) for found in _HEADER.finditer(bare)]
    ends = [*(start for _, start in headers[1:]), len(text)]
    tables = [(name, start, text[start:end]) for (name, start), end in zip(headers, ends, strict=False)]
    return [(name, start, start + len(_BEFORE_HEADER.sub("", body))) for name, start, body in tables]


_TEXTS = re.compile(
    r"""
    \"{3}(?:\\.|[^\\])*?\"{3,5} | \'{3}.*?\'{3,5}      # multi-line strings
    | "(?:\\.|[^"\\\n])*" | '[^'\n]*' | \#[^\n]*     # single-line strings, comments
    """,
    re.DOTALL | re.VERBOSE,
)
_HEADER = re.compile(r"^[ \t]*\[\[?([^\[\],\n]*)\]\]?[ \t\r]*$", re.MULTILINE)
_BEFORE_HEADER = re.compile(r"(?:(?<=\n)[ \t]*(?:#[^\n]*|\r)?(?:\n|\Z))+\Z")


def _render(path: Path, values: Mapping[str, Any], end: str) -> str:
    """Return a table's text. JSON of text, numbers, booleans and lists is valid TOML."""
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
    """Return values without a path and without tables that held nothing else."""
    inner = values.get(path[0])
    if len(path) == 1 or not isinstance(inner, dict):
        return {key: value for key, value in values.items() if key != path[0]}
    left = _without(inner, path[1:])
    return {
        key: (left if key == path[0] else value) for key, value in values.items() if key != path[0] or left
    }


def _checked(text: str, expected: dict[str, Any], problem: str) -> str:
    """Return a text if it has the expected values; empty tables may stay or go."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InstallError(problem, "mend it by hand, nothing was changed") from error
    if _pruned(found) != _pruned(expected):
        raise InstallError(problem, "mend it by hand, nothing was changed")
    return text


def _pruned(value: Any) -> Any:
    # Compared by their text, since NaN isn't equal to itself.
    if isinstance(value, dict):
        pruned = {key: _pruned(inner) for key, inner in value.items()}
        return {key: inner for key, inner in pruned.items() if inner != {}}
    return [_pruned(one) for one in value] if isinstance(value, list) else repr(value)
