"""Compression: the fullest useful form of a text within a number of characters, for a prompt.

Deterministic: the same text, words, room and symbols give the same form. Nothing here reads a file or waits.
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
"""How a text was made shorter; `cut` is no kind of text, but the way of last resort."""

HEAD = 8_192
"""Characters at the beginning that tell whether a text is a log."""

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
"""What stands with a text that was made shorter, so that nobody takes it for the whole."""

FORM_MIN = 80
"""With less room a text is cut after its first line: no form of it would say more."""

SUMMARY_MIN = 400
SUMMARY_SHARE = 0.15
"""With less room, in characters, data and logs have no summary; with more it takes at most this share."""

PIECE = 160
"""Characters around a place in a long line that are shown; about two lines of a terminal."""

PIECES_MAX = 50

LONG_LINE = 1_000
"""A line of more characters was written by no person."""


class Compressed(Struct, frozen=True):
    """A text made shorter.

    Lines that stand under a number are whole and keep the number that they have in the text.
    `left_out_lines` counts the lines that aren't blank and aren't whole in it. `kind` is the way it was made:
    `cut` where no other was of use.
    """

    text: str
    left_out_lines: int
    kind: Kind
    model: str = ""
    """The model that made it, where one did."""


class Compress(Protocol):
    """Makes a text shorter, as `compress` does."""

    def __call__(
        self,
        text: str,
        path: str,
        words: Words,
        characters: int,
        symbols: Sequence[Symbol] = (),
        wanted: Collection[str] = (),
    ) -> Compressed:
        """Return the fullest useful form of a text that fits a number of characters."""
        ...


def compress(
    text: str,
    path: str,
    words: Words,
    characters: int,
    symbols: Sequence[Symbol] = (),
    wanted: Collection[str] = (),
) -> Compressed:
    """Return the fullest useful form of a text that fits a number of characters; never longer.

    `path` tells the kind of text, with the text itself; `words` are what the prompt asks about, by weight;
    `symbols` its definitions, if it was parsed: for code without them its indentation has to do; `wanted` the
    names of those that are known to matter, such as the ones that a search found. A text that fits comes back
    as it is. With no room at all the text is empty; with less than `FORM_MIN` characters it is the first
    line, cut where it must be.
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
    """Return the line that goes with a compressed text: its mark, what is missing, and how to get it.

    A text that is whole needs none: the note is empty. `node_id` is shown as it is given.
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
    """Return the form of a text that its kind has, or None where it has none."""
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
    """Return the line above a text that says what it is, "" where the room is too small for it."""
    if characters < SUMMARY_MIN:
        return ""
    count = count_of(document.filled_between(0, document.count))
    row = f"{'…':>{width_of(document.count)}}  {count} of {what}"
    return row[: int(characters * SUMMARY_SHARE)]


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


def cut(document: Document, terms: Sequence[Term], characters: int) -> Folded:
    """Return the first lines that fit, under their numbers, or pieces of the first one if it doesn't fit.

    Pieces are taken around the terms, with the beginning of the line, and `…` between them.
    """
    total = document.filled_between(0, document.count)
    if characters <= 0 or not total:
        return Folded("", total)
    rows = Rows(document)
    first = rows.first(characters)
    return rows.render(first) if first.shown[0] else Folded(_pieces(document, terms, characters), total)


def is_packed(document: Document, characters: int) -> bool:
    """Whether most of a text stands in lines too long for the room: of these only pieces could be shown."""
    most = max(LONG_LINE, characters // 3)
    return 2 * sum(length for length in map(len, document.lines) if length > most) > len(document.text)


def _pieces(document: Document, terms: Sequence[Term], characters: int) -> str:
    """Return pieces of the text around the terms, within a number of characters."""
    text = document.text
    start = len(text) - len(text.lstrip())
    if characters < PIECE:
        return text[start : start + characters - 1].replace("\n", " ") + "…"
    count = min(PIECES_MAX, max(1, characters // PIECE) - 1)
    # The rarest terms first: what stands everywhere in a packed file says nothing.
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
