"""Owns the kinds of text that are compressed in different ways, told by name and content."""

from __future__ import annotations

import re
from typing import Literal

from ..project.languages import language_of

Kind = Literal["code", "prose", "data", "log", "cut"]
"""How a text was made shorter; `cut` is no kind of text, but the way of last resort."""

HEAD = 8_192
"""So many characters tell whether a text is a log."""

_PROSE = frozenset({"markdown", "mdx", "restructuredtext", "text", "latex", ""})
_DATA = frozenset({"json", "json5", "jsonc", "jsonl", "yaml", "toml", "ini", "xml", "diff"})
_DATA_NAME = re.compile(r"\.(?:csv|tsv|tab|geojson|svg|po|pot|lock|sum|properties|env|plist|ipynb)$")
_LOG_NAME = re.compile(r"\.(?:log|out|err|trace)(?:\.[0-9]{1,8})?$|(?:^|[-_.])log\.txt$")
_LOG_LINE = re.compile(
    r"(?:\[?[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T ][0-9]{2}:[0-9]{2}|[0-9]{2}:[0-9]{2}:[0-9]{2}[.,: ]"
    r"|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +[0-9]{1,2} [0-9]{2}:[0-9]{2}"
    r"|\[?(?:ERROR|WARN|WARNING|INFO|DEBUG|TRACE|FATAL|CRITICAL)\b)"
)


def kind_of(path: str, text: str, parsed: bool = False) -> Kind:
    """Return the kind of a text; `parsed` says that it has symbols. Any path and text will do."""
    name = path.rpartition("/")[2].lower()
    if _LOG_NAME.search(name):
        return "log"
    if _DATA_NAME.search(name):
        return "data"
    language = language_of(path, text[:256].encode("utf-8", "replace"))
    if language in _DATA:
        return "data"
    if language not in _PROSE:
        return "code"
    if language in ("", "text"):
        if _is_log(text):
            return "log"
        if not language and parsed:
            return "code"
        if not language:
            return _kind_of_unknown(text)
    return "prose"


def _is_log(text: str) -> bool:
    lines = [line for line in text[:HEAD].split("\n")[:60] if line.strip()]
    return len(lines) >= 3 and 2 * sum(bool(_LOG_LINE.match(line)) for line in lines) > len(lines)


def _kind_of_unknown(text: str) -> Kind:
    """Tell code and data from prose by what their lines end with: people end sentences otherwise."""
    head = text[:HEAD].lstrip()
    if head[:1] in ("{", "[", "<"):
        return "data"
    lines = [line.rstrip() for line in head.split("\n")[:200] if line.strip()]
    codelike = sum(line[-1] in ";{}),:" or line[:1] in "\t#" for line in lines)
    return "code" if lines and 2 * codelike > len(lines) else "prose"
