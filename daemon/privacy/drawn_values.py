"""Finds secrets whose name is not beside them: a value drawn at random on a line that speaks of a login, the
column of a table below its name, the values of an INSERT, and passwords that a sentence tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct, field

from .secret_evidence import NameKind, is_drawn, is_secret, kind_of_name

Span = tuple[int, int]

LINE_MAX = 200
"""Maximum characters of a line that are looked at on each side of a cue."""

ROWS_MAX = 500
"""Maximum number of rows of a table that are looked at."""

CELL_WORDS_MAX = 3
"""Maximum words of a header's cell; a sentence with commas has more."""


class Looked(Struct):
    """The parts of a text that were looked at: the windows of lines, and the last table."""

    windows: set[int] = field(default_factory=set)
    header: int = -1
    table_end: int = 0


def drawn_near(text: str, place: int, looked: Looked) -> Iterator[Span]:
    """Yield the values drawn at random on the line of a place, each part of a line once."""
    middle = place - place % LINE_MAX
    start = max(text.rfind("\n", max(middle - LINE_MAX, 0), place) + 1, middle - LINE_MAX, 0)
    if start not in looked.windows:
        looked.windows.add(start)
        most = middle + 2 * LINE_MAX
        end = text.find("\n", place, most)
        end = min(most, len(text)) if end < 0 else end
        if _DIGIT.search(text, start, end):
            yield from _on_line(text, start, end, place)


def _on_line(text: str, start: int, end: int, cue: int) -> Iterator[Span]:
    """Yield the values drawn at random on a line; one that has the cue itself has it by chance."""
    is_code: bool | None = None
    for found in _TOKEN.finditer(text, start, end):
        first, last = found.span()
        if first <= cue < last:
            continue
        before, behind = text[first - 1 : first], text[last : last + 1]
        if before and before in "\"'`" and behind in {before, "\\"}:
            if is_drawn(found[0], quoted=True):
                yield first, last
            continue
        if behind == "/" or (before == "/" and _BASE64.match(text, max(first - 20, 0), first)):
            continue
        value = found[0].rstrip(".?,")
        if not is_drawn(value, quoted=False) or (before and before not in _BEFORE):
            continue
        if is_code is None:
            is_code = _CODE.search(text, start, end) is not None
        if not is_code and (last != first + len(value) or not behind or behind in _BEHIND):
            yield first, first + len(value)


_DIGIT = re.compile(r"\d")
_TOKEN = re.compile(r"[A-Za-z0-9!#$%*?@^~&+_.\-]{8,64}")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{20}")
_BEFORE = " \t\n:=|,/\"'`"
_BEHIND = " \t\r\n,;|\"'`"
_CODE = re.compile(r"[(){}\[\]]|;\s*$|->|=>|&&|\|\|", re.MULTILINE)
"""Signs of code: there a run of signs and letters may be an expression."""


# Columns

_HEADER_END = re.compile(r"[\w-]{0,20}(?: [\w-]{1,20})?[\"'`* ]{0,4}(?:[,;|\t]|\r?\n)")
_NO_HEADER = re.compile(r"[(){}=<>:\[\]]")
_RULE = re.compile(r"[\s|:\-+=]+\Z")


def column_below(text: str, place: int, looked: Looked) -> Iterator[Span]:
    """Yield the values below a name at a place, if that is in a cell of a table's header."""
    if not _HEADER_END.match(text, place):
        return
    start = text.rfind("\n", max(place - 2 * LINE_MAX, 0), place) + 1
    if start == looked.header or start >= looked.table_end:  # a row of a table is no header
        looked.header = start
        yield from _of_column(text, place, start, looked)


def _of_column(text: str, place: int, start: int, looked: Looked) -> Iterator[Span]:
    """Yield the values below a cell of the header that begins at `start`."""
    end = text.find("\n", place, place + 2 * LINE_MAX)
    header = text[start:end]
    if end < 0 or place - start > 2 * LINE_MAX or _NO_HEADER.search(header):
        return
    mark = next((sign for sign in "|\t;," if sign in header), "")
    cells = _cells(header, start, mark) if mark else []
    column = next((number for number, (first, last) in enumerate(cells) if first <= place < last), -1)
    if column < 0 or len(cells) < 2:
        return
    if any(not 0 < len(text[first:last].split()) <= CELL_WORDS_MAX for first, last in cells):
        return
    name = text[slice(*cells[column])].replace(" ", "_")
    kind = kind_of_name(name)
    kind = NameKind.PASSWORD if name.lower() in {"pw", "pass"} else kind
    if kind is NameKind.NONE:
        return
    for _ in range(ROWS_MAX):
        start, end = end + 1, text.find("\n", end + 1)
        end = len(text) if end < 0 else end
        row = text[start:end]
        if _RULE.match(row):
            continue
        values = _cells(row, start, mark)
        if len(values) != len(cells) or end - start > 4 * LINE_MAX:
            return
        looked.table_end = end
        first, last = values[column]
        value = text[first:last]
        if _DIGIT.search(value) and " " not in value and is_secret(value, kind, name):
            yield first, last
        if end >= len(text):
            return


def _cells(line: str, start: int, mark: str) -> list[Span]:
    """Return the spans of a row's cells without quotes and blanks; outer bars are no cells."""
    spans = []
    at = start
    for cell in line.split(mark):
        bare = cell.strip(" \r\"'`*")
        first = at + cell.index(bare) if bare else at
        spans.append((first, first + len(bare)))
        at += len(cell) + 1
    if mark == "|" and len(spans) > 2 and line.lstrip().startswith("|"):
        spans = spans[1:-1] if line.rstrip().endswith("|") else spans[1:]
    return spans


# INSERT INTO users (name, password) VALUES ('a', 'b')

_COLUMNS = re.compile(r"\((?P<columns>[\w\s,`\"\[\].]{3,300})\)\s{0,20}\Z")
_ROW = re.compile(r"\s{0,20},?\s{0,20}\((?P<row>(?:[^()']|'[^']{0,256}'|\([^()]{0,64}\)){1,2000})\)")
_CELL = re.compile(r"(?:[^,()']|'[^']{0,256}'|\([^()]{0,64}\)){1,40}")
_LITERAL = re.compile(r"\s*[NE]?'(?P<value>(?:[^']|''){1,256})'\s*\Z")


def inserted_values(text: str, place: int) -> Iterator[Span]:
    """Yield the values of an INSERT whose columns are named for secrets; `place` is that of VALUES."""
    found = _COLUMNS.search(text, max(place - 320, 0), place)
    if found is None:
        return
    names = [name.strip(' `"[]\n\t') for name in found["columns"].split(",")]
    kinds = {number: kind for number, name in enumerate(names) if (kind := kind_of_name(name))}
    at = place + len("values")
    for _ in range(ROWS_MAX if kinds else 0):
        if not (row := _ROW.match(text, at)):
            return
        at = row.end()
        for number, cell in enumerate(_CELL.finditer(text, *row.span("row"))):
            kind = kinds.get(number, NameKind.NONE)
            if (
                kind
                and (literal := _LITERAL.match(cell[0]))
                and is_secret(literal["value"], kind, names[number])
            ):
                start = cell.start() + literal.start("value")
                yield start, start + len(literal["value"])


SAID_MIN = 8
"""Minimum length of a password that only a sentence announces; shorter ones are ports, versions and units."""

SAID_DIGITS = 2
"""Minimum number of its digits: `argon2` and `base64url` are no passwords."""

_SAID = re.compile(
    r"(?P<name>[^\W\d_]{0,12}(?: de passe)?)(?P<words>(?: [^\W\d_][\w'\u2019]{0,20}){0,6})"
    r"(?: ?[:\uff1a]| (?:is|was|ist|lautet|es|est|\u00e8|\u00e9|jest|\u00e4r|er)(?= )"
    r"| ?(?:\u662f|\u4e3a|\u70ba|\u306f|\uc740|\ub294))[ :]{0,3}"
    r"(?P<value>[^\s\"'`<>(){},;=]{8,64})"
)
"""A name, words without marks, what says the value, and the value."""
_SPACED = re.compile(
    r"[^\W\d_]{0,12}(?: [^\W\d_]{4,20})?(?:,? [\"'`]| )"
    r"(?P<value>(?!0x)[^\s\"'`<>(){}\[\],;=:|]{8,64})[\"'`]?(?=[\s.,]|\Z)"
)
"""A value that only a space separates from its name, or one more word."""
_ALGORITHM = re.compile(
    r"(?i)sha|md\d|pbkdf|utf|base|aes|hmac|rfc|ntlm|x509|argon|crypt"
    r"|oauth|http|saml|pkcs|iso"
)


def said_value(text: str, place: int) -> Span | None:
    """Return the span of a password that the words from a part of a name at a place on announce."""
    if (found := _SAID.match(text, place)) and (span := _password(found)):
        return span
    return _password(found) if (found := _SPACED.match(text, place)) else None


def _password(found: re.Match[str]) -> Span | None:
    value = found["value"].rstrip(".:!?]") if found["value"][-1:] in ".:?]" else found["value"]
    start = found.start("value")
    if len(value) < SAID_MIN or sum(map(str.isdigit, value)) < SAID_DIGITS or not value.isascii():
        return None
    chosen = any(map(str.isalpha, value)) and not _ALGORITHM.search(value)
    chosen = chosen and kind_of_name(value) is NameKind.NONE
    chosen = chosen and not re.search(
        r"\A(?:\d[\d\W]|[/$-])|\w\.\w|\A(?:[a-z0-9]+|[A-Z0-9]+)_|->|::|/", value
    )
    return (start, start + len(value)) if chosen and is_secret(value, NameKind.PASSWORD) else None
