"""The kinds of text: code, prose, data, generated or binary, and how much of each is indexed."""

from __future__ import annotations

import codecs
import re
from typing import Literal

from msgspec import Struct

from ..languages.shared.source_text import WIDE_MARKS, wide_encoding

DATA_BYTES = 50_000
"""Characters from which a file of a language that people also write by hand (YAML, TOML, XML, HTML) is data.
What is written by hand, such as the configuration of a build, stays far below it."""

LONG_LINE = 1_000
"""Characters of a line that nobody wrote by hand; the longest line of Python in Django 5.2 has 172."""

DIGIT_SHARE = 0.35
"""Share of digits, of all characters but white space, from which a text is a table of numbers. Of the Python
files of Django 5.2 the median has .01, 95 in 100 less than .06, and the one with the most, tests of dates,
.29; a raster written as text has .88."""

DIGITS_FROM = 4_000
"""Characters below which digits are not counted: a short table costs nothing."""

MARKER_CHARACTERS = 3_000
"""How far from its beginning a file may say that it was generated; licenses stand before it."""


class TextKind(Struct, frozen=True):
    """What kind of text a file is, the evidence in words, and what it is worth.

    `keep` is how many chunks are kept, from its beginning, 0 for all; `embed` how many of these are worth a
    vector, 0 for none, -1 for all.
    """

    kind: Literal["code", "prose", "data", "generated"]
    evidence: str
    keep: int = 0
    embed: int = -1


def kind_of_text(path: str, language: str, text: str) -> TextKind:
    """Return the kind of a file's text by its name, its language and what stands in it; any text is fine.

    Code and documents are kept whole and embedded. Of data a few chunks tell what they are about, the
    first by a vector; of translations, drawings, keys and the like, of what was generated and of licenses a
    few stay for the search by words. So a file of 1 MB of data costs 8 chunks instead of 700.
    """
    name = path.rpartition("/")[2].lower()
    is_prose = language in PROSE_LANGUAGES or not language
    if is_prose and _LICENSE_NAME.fullmatch(name):
        return TextKind("prose", "a license by its name", 2, 0)
    match = _GENERATED_NAME.search(name)
    if match is not None:
        return TextKind("generated", f"its name has {match[0]}", *_GENERATED)
    match = _SILENT_NAME.search(name)
    if match is not None:
        return TextKind("data", f"{match[0]} holds data that say nothing in words", *_SILENT)
    if language in _DATA_LANGUAGES or _DATA_NAME.search(name):
        return TextKind("data", f"{language or 'its name'} holds data", *_DATA)
    if language in _MIXED_LANGUAGES and len(text) >= DATA_BYTES:
        return TextKind("data", f"{language} of {len(text)} characters", *_DATA)
    marker = "" if is_prose else _marker(text)
    if marker:
        return TextKind("generated", f"it says: {marker}", *_GENERATED)
    if not is_prose and _is_minified(text):
        return TextKind("generated", f"most of it stands in lines of {LONG_LINE} characters", *_GENERATED)
    if len(text) >= DIGITS_FROM and _digit_share(text) >= DIGIT_SHARE:
        return TextKind("data", f"digits are more than {DIGIT_SHARE:.0%} of it", *_DATA)
    if not language:
        return TextKind("prose", "text of no known language", _UNKNOWN_CHUNKS)
    if is_prose:
        return TextKind("prose", f"{language} is written to be read")
    return TextKind("code", f"{language} is code")


PROSE_LANGUAGES = frozenset({"markdown", "mdx", "restructuredtext", "text", "latex"})
"""Languages that are divided by sections and paragraphs."""

_DATA = (8, 1)
_SILENT = (4, 0)
_GENERATED = (4, 0)
_UNKNOWN_CHUNKS = 64

_DATA_LANGUAGES = frozenset({"json", "json5", "jsonc", "jsonl", "diff"})
_MIXED_LANGUAGES = frozenset({"yaml", "toml", "xml", "html", "ini", "sql", "css"})
_DATA_NAME = re.compile(r"\.(?:csv|tsv|tab|log|out|dat|geojson|gml|kml|dump|ipynb|srt|vtt|arff|asn1?|mib)$")
_SILENT_NAME = re.compile(
    r"\.(?:po|pot|xlf|xliff|strings|resx|arb|svg|eps|ps|xpm|pgm|ppm|bdf|obj|stl|ply|wkt|hex|b64|pem|crt|cer"
    r"|key|pub|sig|fasta|sha\d+|md5|gcode)$"
)
_LICENSE_NAME = re.compile(r"(?:un)?(?:licen[cs]e|copying)(?:[-_.].*)?")
_GENERATED_NAME = re.compile(
    r"[.-]min\.(?:js|mjs|cjs|css)$|\.bundle\.js$|\.map$|\.snap$|\.lock$|-lock\.(?:json|yaml)$|lock\.json$"
    r"|^go\.sum$|^npm-shrinkwrap\.json$|^\.pnp\.[cm]?js$|_pb2(?:_grpc)?\.pyi?$|\.pb(?:\.gw)?\.(?:go|cc|h)$"
    r"|\.(?:g|freezed)\.dart$|\.designer\.cs$|\.g\.cs$|_generated\.\w+$|\.generated\.\w+$"
)
_MARKER = re.compile(
    r"(@generated\b|\bcode generated\b.*\bdo not edit\b"
    r"|\bauto(?:matically)?[- ]?generated\b.*\b(?:by|from|file|code|using|edit|modify)\b"
    r"|\b(?:file|code|module|class|header|parser)\b.{0,20}\b(?:is|was|has been)\b.{0,20}\bgenerated\b)",
    re.IGNORECASE,
)
_COMMENT_LINE = re.compile(r"[ \t]*(?:#|//|/\*|\*|--|;|%|<!--|\"\"\")")


def _marker(text: str) -> str:
    """Return what a comment at the beginning says of the file's being generated, or ""."""
    head = text[:MARKER_CHARACTERS]
    if "enerated" not in head and "ENERATED" not in head:
        return ""
    for line in head.split("\n"):
        if len(line) <= LONG_LINE and _COMMENT_LINE.match(line):
            match = _MARKER.search(line)
            if match is not None:
                return " ".join(match[1].split())[:80]
    return ""


def _is_minified(text: str) -> bool:
    """Whether more than half of a text that needs more than one chunk stands in lines too long to read."""
    if len(text) <= 2 * LONG_LINE:
        return False
    return 2 * sum(length for length in map(len, text.split("\n")) if length > LONG_LINE) > len(text)


def _digit_share(text: str) -> float:
    """Return the share of digits in a text without its white space, from its first 64 Ki characters."""
    written = text[:65_536].encode().translate(None, b" \t\n")
    return 1 - len(written.translate(None, b"0123456789")) / max(1, len(written))


_PROBE_BYTES = 8192
"""git looks at the first 8,000 bytes for a NUL as well."""


def classify_content(data: bytes) -> str:
    """Return `binary` for content that is no text, else "". UTF-16 and UTF-32 count as text with a mark.

    Only the first 8 KiB are looked at. What begins with such a mark and isn't in that encoding is binary.
    """
    probe = data[:_PROBE_BYTES]
    if probe.startswith(WIDE_MARKS):
        return "" if _is_wide_text(probe) else "binary"
    return "binary" if b"\0" in probe else ""


def _is_wide_text(probe: bytes) -> bool:
    """Whether the beginning of a file with a mark can be decoded; it may end within a character."""
    decoder = codecs.getincrementaldecoder(wide_encoding(probe))()
    try:
        return "\0" not in decoder.decode(probe)
    except UnicodeDecodeError:
        return False
