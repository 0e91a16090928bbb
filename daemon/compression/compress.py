"""Compression: shortens a text to a number of characters and keeps what matters for a prompt.

Deterministic: equal arguments give equal results. Nothing here reads files or waits.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Collection, Sequence
from typing import Literal, Protocol

from msgspec import Struct

from ..languages.shared.language import language_of
from ..languages.shared.records import Symbol
from .document import DOCUMENTS, Document, Term, Words, terms_of
from .lines import Folded, Rows, compress_code, compress_data, compress_log, count_of, separator_of, width_of
from .prose import compress_prose

Kind = Literal["code", "prose", "data", "log", "cut"]
"""The kind of a text, by which it is shortened. `cut` means that only its beginning is shown."""

HEAD = 8_192
"""Characters at the beginning of a text by which its kind is recognized."""

_PROSE = frozenset({"markdown", "mdx", "restructuredtext", "text", "latex", ""})
_DATA = frozenset({"json", "json5", "jsonc", "jsonl", "yaml", "toml", "ini", "xml", "diff"})
_DATA_NAME = re.compile(r"\.(?:csv|tsv|tab|geojson|svg|po|pot|lock|sum|properties|env|plist|ipynb)$")
_LOG_NAME = re.compile(r"\.(?:log|out|err|trace)(?:\.[0-9]{1,8})?$|(?:^|[-_.])log\.txt$")
_LOG_LINE = re.compile(
    r"(?:\[?[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T ][0-9]{2}:[0-9]{2}|[0-9]{2}:[0-9]{2}:[0-9]{2}[.,: ]"
    r"|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +[0-9]{1,2} [0-9]{2}:[0-9]{2}"
    r"|\[?(?:ERROR|WARN|WARNING|INFO|DEBUG|TRACE|FATAL|CRITICAL)\b)"
)

MARK = "[COMPRESSED]"
"""The mark beside a shortened text, so that nobody takes it for the whole."""

FORM_MIN = 80
"""Minimum characters for a selection of lines; with less room the text is cut."""

SUMMARY_MIN = 400
SUMMARY_SHARE = 0.15
"""Minimum characters of shortened data and logs with a summary, and its maximum share of them."""

PIECE = 160
"""Characters shown around a match in a long line, about two lines of a terminal."""

PIECES_MAX = 50
"""Maximum number of such pieces of one text."""

LONG_LINE = 1_000
"""Characters above which a line counts as generated."""


class Compressed(Struct, frozen=True):
    """A shortened text.

    Numbered lines are whole and have their number in the original text. `left_out_lines` counts the non-blank
    lines that aren't shown whole. `kind` is how it was shortened.
    """

    text: str
    left_out_lines: int
    kind: Kind
    model: str = ""
    """The name of the model that shortened it, or ""."""


class Compress(Protocol):
    """The type of functions like `compress`."""

    def __call__(
        self,
        text: str,
        path: str,
        words: Words,
        characters: int,
        symbols: Sequence[Symbol] = (),
        wanted: Collection[str] = (),
    ) -> Compressed:
        """Return a text shortened to a number of characters."""
        ...


def compress(
    text: str,
    path: str,
    words: Words,
    characters: int,
    symbols: Sequence[Symbol] = (),
    wanted: Collection[str] = (),
) -> Compressed:
    """Return a text shortened to at most a number of characters; a text that fits is returned unchanged.

    - `path`: tells the kind of the text, together with the text itself.
    - `words`: the words of the prompt with their weights.
    - `symbols`: the definitions in the text; without them code is divided by its indentation.
    - `wanted`: names of definitions that are known to matter, such as search hits.

    With less than `FORM_MIN` characters the result is the beginning of the text.
    """
    kind = kind_of(path, text, bool(symbols))
    if len(text) <= characters:
        return Compressed(text, 0, kind)
    document = DOCUMENTS.get(text)
    if characters < FORM_MIN:
        return _compressed(cut(document, (), characters), "cut")
    terms = terms_of(words)
    folded = _folded(document, kind, symbols, terms, characters, path, wanted)
    if folded is None or not folded.text or len(folded.text) > characters:
        return _compressed(cut(document, terms, characters), "cut")
    return _compressed(folded, kind)


def note(compressed: Compressed, node_id: str) -> str:
    """Return the note below a shortened text: the mark, the number of omitted lines, and how to get them.

    The note for a whole text is "".
    """
    if not compressed.left_out_lines:
        return ""
    return f"{MARK} {count_of(compressed.left_out_lines)} left out: expand {node_id}"


def _compressed(folded: Folded, kind: Kind) -> Compressed:
    return Compressed(folded.text, folded.left_out_lines, kind)


def _folded(
    document: Document,
    kind: Kind,
    symbols: Sequence[Symbol],
    terms: Sequence[Term],
    characters: int,
    path: str,
    wanted: Collection[str],
) -> Folded | None:
    """Return a text shortened by the method for its kind, or None if that can't be used."""
    if kind == "prose":
        return compress_prose(document, terms, characters)
    if is_packed(document, characters):
        return None
    if kind == "data":
        summary = _summary(document, data_summary(document, path), characters)
        return compress_data(document, path, terms, characters, summary)
    if kind == "log":
        return compress_log(
            document, terms, characters, _summary(document, log_summary(document), characters)
        )
    return compress_code(document, symbols, terms, characters, wanted)


def _summary(document: Document, what: str, characters: int) -> str:
    """Return the summary line above data or a log, "" if there is too little room."""
    if characters < SUMMARY_MIN:
        return ""
    count = count_of(document.filled_between(0, document.count))
    row = f"{'…':>{width_of(document.count)}}  {count} of {what}"
    return row[: int(characters * SUMMARY_SHARE)]


def kind_of(path: str, text: str, parsed: bool = False) -> Kind:
    """Return the kind of a text by its path and content; `parsed` says that it has symbols."""
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
    """Return whether a text of unknown type is code, data or prose, judged by the ends of its lines."""
    head = text[:HEAD].lstrip()
    if head[:1] in ("{", "[", "<"):
        return "data"
    lines = [line.rstrip() for line in head.split("\n")[:200] if line.strip()]
    codelike = sum(line[-1] in ";{}),:" or line[:1] in "\t#" for line in lines)
    return "code" if lines and 2 * codelike > len(lines) else "prose"


def cut(document: Document, terms: Sequence[Term], characters: int) -> Folded:
    """Return the first lines that fit, with their numbers, or pieces of the text if not even one fits.

    Pieces are the beginning of the text and the surroundings of matches, joined by `…`.
    """
    total = document.filled_between(0, document.count)
    if characters <= 0 or not total:
        return Folded("", total)
    rows = Rows(document)
    first = rows.first(characters)
    return rows.render(first) if first.shown[0] else Folded(_pieces(document, terms, characters), total)


def is_packed(document: Document, characters: int) -> bool:
    """Whether most of a text is in lines that are too long to be shown whole."""
    most = max(LONG_LINE, characters // 3)
    return 2 * sum(length for length in map(len, document.lines) if length > most) > len(document.text)


def _pieces(document: Document, terms: Sequence[Term], characters: int) -> str:
    """Return pieces of the text around matches of the terms, within a number of characters."""
    text = document.text
    start = len(text) - len(text.lstrip())
    if characters < PIECE:
        return text[start : start + characters - 1].replace("\n", " ") + "…"
    count = min(PIECES_MAX, max(1, characters // PIECE) - 1)
    # The rarest terms first: common ones say nothing about a packed file.
    places = sorted((document.places_of(term) for term in terms), key=lambda found: (len(found), found))
    chosen: list[int] = []
    for found in places:
        for place in found[:count]:
            if len(chosen) < count and all(abs(place - other) >= PIECE for other in (start, *chosen)):
                chosen.append(place)
    before = PIECE // 4
    pieces = [text[start : start + (characters - len(chosen) * PIECE - 3)]]
    end = start + len(pieces[0])
    for place in sorted(chosen):
        first = max(place - before, end)
        last = min(max(place - before, 0) + PIECE - 3, len(text))
        if first < last:
            pieces.append(text[first:last])
            end = last
    joined = " … ".join(piece.replace("\n", " ") for piece in pieces)
    return joined[: characters - 1] + "…" if len(joined) >= characters or end < len(text) else joined


NAMED_LINES = 5_000
"""Number of lines searched for top-level names."""

NAMES_MAX = 12
NAME_MAX = 40

PARSED_MAX = 1_500_000
"""Maximum characters of JSON that are parsed for the summary, which takes about 15 ms."""

_LEVELS = ("FATAL", "CRITICAL", "ERROR", "WARN", "INFO", "DEBUG")


def log_summary(document: Document) -> str:
    """Return a summary of a log: how often each level occurs."""
    counts = ((document.text.count(level), level) for level in _LEVELS)
    known = ", ".join(f"{count:,} times {level}" for count, level in counts if count)
    return f"a log{': ' + known if known else ''}"


def data_summary(document: Document, path: str) -> str:
    """Return a summary of data: rows and columns, or top-level names."""
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


def _table(document: Document, separator: str) -> str:
    first = next((line for line in document.lines if line.strip()), "")[:4_000]
    try:
        names = next(csv.reader([first], delimiter=separator))
    except csv.Error:
        names = first.split(separator)
    return f"a table with {len(names):,} column{'s' * (len(names) != 1)}: {_some(names)}"


def _json(text: str) -> str:
    """Return a summary of a JSON document, "" if it is invalid, too large or too deep."""
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
    """Return a name on one line, with at most `NAME_MAX` characters."""
    flat = " ".join("".join(c for c in name[: 2 * NAME_MAX] if c.isprintable()).split())
    return flat if len(flat) <= NAME_MAX else f"{flat[:NAME_MAX]}…"
