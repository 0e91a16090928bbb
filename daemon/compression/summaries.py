"""The line above data and logs that summarizes them: rows and columns, top-level names, levels."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence

from ..languages.shared.language import language_of
from .document import Document

NAMED_LINES = 5_000
"""Lines from the beginning that are searched for names at the top."""

NAMES_MAX = 12
NAME_MAX = 40

PARSED_MAX = 1_500_000
"""Characters of JSON that are parsed for the summary: about 15 ms."""

_LEVELS = ("FATAL", "CRITICAL", "ERROR", "WARN", "INFO", "DEBUG")


def log_summary(document: Document) -> str:
    """Say how often the levels are named in a log."""
    counts = ((document.text.count(level), level) for level in _LEVELS)
    known = ", ".join(f"{count:,} times {level}" for count, level in counts if count)
    return f"a log{': ' + known if known else ''}"


def data_summary(document: Document, path: str) -> str:
    """Say in words what the data are: rows and columns, or the names at the top."""
    separator = separator_of(path)
    if separator:
        return _table(document, separator)
    language = language_of(path)
    head = document.text[:200].lstrip()[:1]
    if language in ("json", "jsonl", "json5", "jsonc") or head in ("{", "["):
        found = _json(document.text)
        if found:
            return found
    names = [_name(line) for line in document.lines[:NAMED_LINES] if line and not line[0].isspace()]
    names = list(dict.fromkeys(name for name in names if name))
    return f"{language or 'data'}, with {_some(names)} at the top" if names else language or "data"


def separator_of(path: str) -> str:
    """Return what separates the columns of a table, "" if the file is none."""
    extension = path.rpartition(".")[2].lower()
    return {"csv": ",", "tsv": "\t", "tab": "\t"}.get(extension, "")


def _table(document: Document, separator: str) -> str:
    first = next((line for line in document.lines if line.strip()), "")[:4_000]
    try:
        names = next(csv.reader([first], delimiter=separator))
    except csv.Error:
        names = first.split(separator)
    return f"a table with {len(names):,} column{'s' * (len(names) != 1)}: {_some(names)}"


def _json(text: str) -> str:
    """Say what a JSON document holds, or nothing if it isn't one or is too large or too deep."""
    if len(text) > PARSED_MAX:
        return ""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    if isinstance(value, dict):
        return f"JSON, an object with {_some(list(value))}"
    if isinstance(value, list):
        keys = dict.fromkeys(key for item in value[:1_000] if isinstance(item, dict) for key in item)
        what = f" of objects with {_some(list(keys))}" if keys else ""
        return f"JSON, a list of {len(value):,} value{'s' * (len(value) != 1)}{what}"
    return "JSON"


def _name(line: str) -> str:
    for mark in ("[", "#", "-", "}", "]", "<", "{"):
        if line.startswith(mark):
            return line.strip() if mark == "[" else ""
    for mark in (":", "="):
        name, found, _ = line.partition(mark)
        if found:
            return name.strip(" \"'")
    return ""


def _some(names: Sequence[str]) -> str:
    shown = [_plain(name) for name in names[:NAMES_MAX]]
    more = f" and {len(names) - NAMES_MAX:,} more" if len(names) > NAMES_MAX else ""
    return f"{', '.join(shown)}{more}"


def _plain(name: str) -> str:
    """Return a name that can't end its line, nor fill it."""
    flat = " ".join("".join(c for c in name[: 2 * NAME_MAX] if c.isprintable()).split())
    return flat if len(flat) <= NAME_MAX else f"{flat[:NAME_MAX]}…"
