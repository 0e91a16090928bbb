"""Finds the places that a clause names to search in: a file, a folder, a section, a class."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from msgspec import Struct

from .clauses import Clause, Token
from .patterns import any_of, compiled

PlaceKind = Literal["file", "folder", "section", "class", "name", "filter"]
"""`file` and `folder` may be globs; `name` is a dotted name (`auth.session`), `filter` is `path:src`."""


class PlaceMention(Struct, frozen=True):
    """A definite place. `name` is a path, heading or class as written; `said` has all words of the phrase."""

    kind: PlaceKind
    name: str
    said: str


def find_places(clause: Clause) -> tuple[PlaceMention, ...]:
    """Return the definite places in a clause, in order. `in the auth module` is no definite place.

    A path counts only if the clause searches for something in it. A question about the file itself (`what
    does merge.py do`) has no place.
    """
    found: dict[int, PlaceMention] = {}
    taken: set[int] = set()  # `the X section Y` has one name
    for kind, (begin, stop), (start, end) in _matches(clause.form):
        token = next(iter(clause.within(start, max(end, start + 1))), None)
        span = set(range(begin, stop))
        fits = token is not None and (kind != "name" or _is_dotted(token))
        if token and fits and start not in found and (kind != "section" or not span & taken):
            taken |= span if kind == "section" else set()
            place_kind: PlaceKind = "folder" if kind == "file" and _is_folder(token) else kind
            found[start] = PlaceMention(place_kind, _bare(clause, start, end), clause.said(begin, stop))
    return tuple(place for _, place in sorted(found.items()))


_Span = tuple[int, int]


@lru_cache(maxsize=256)
def _matches(form: str) -> tuple[tuple[PlaceKind, _Span, _Span], ...]:
    """Return the kinds of places in a form, each with its span and the span of its name, in the order of the
    patterns. Cached, because forms repeat: they have `N` for every name."""
    return tuple(
        (kind, match.span(), match.span("name"))
        for kind, pattern in _PATTERNS
        for match in compiled(pattern).finditer(form)
    )


def _bare(clause: Clause, start: int, end: int) -> str:
    name = clause.said(start, max(end, start + 1))
    return (
        name.partition(":")[2]
        if name.startswith(("path:", "file:", "dir:", "folder:", "glob:", "in:"))
        else name
    )


def _is_folder(token: Token) -> bool:
    last = token.text.rstrip("/").rpartition("/")[2]
    return token.text.endswith("/") or ("." not in last and not last.istitle() and not last.isupper())


def _is_dotted(token: Token) -> bool:
    return "." in token.text.strip(".") and not token.text.endswith(")")


_IN = any_of(
    "in, inside, within, under, underneath, below, beneath, from, into, across, throughout, through, at",
    "on, near, around",
)
_ARTICLE = "(?:{} )*".format(
    any_of(
        "the, our, my, this, that, an?, only, just, all of, file, files, script, module, document, source",
        "config, folder, directory, dir, beginning of, top of, end of, bottom of",
        r"line \d+ of, lines \S+ (?:to \S+ )?of",
    )
)
_FOLDER = any_of("folders?, directory, directories, dir, subfolder")
_SECTION = any_of("section, subsection, chapter, heading, paragraph, appendix")
_PART = any_of(
    "part, parts, section, sections, chapter, top, bottom, end, beginning, start, head, header",
    "contents?, todos?, fixmes?, comments?, strings, settings, keys, entries, messages, wording, lines?",
    "rest, middle, paragraph, table, text, heading, headings, value, values, half, page, bit, portion",
    "piece, area, body",
)
_SEARCH = "(?:please |only |just )*" + any_of(
    "search, grep, scan, check, browse, skim, look through, search through, scan through",
    "go through, comb through, dig through, look at, search in",
)
_WORD = r"[^\W\d][\w.-]*"
_FUNCTION_WORD = any_of(
    "of, in, that, which, about, for, on, where, is, are, was, does, do, has, and, or, with, to, by",
    "from, at, covers?, explains?, describes?, talks?, mentions?, says?, said, should, it, one, the, a",
    "an, this, these, those, each, every, any, our, my, its, what",
)
_NAME = rf"(?!{_FUNCTION_WORD}\b)(?P<name>[NPQ]|{_WORD})"
"""The name next to a word such as `folder` or `class`."""

_HEADING = rf"(?!{_FUNCTION_WORD}\b)(?P<name>[NQ]|\d[\w.-]*|{_WORD})"
_NAMED = "(?:named |called )?"

_PATTERNS: tuple[tuple[PlaceKind, str], ...] = (
    ("filter", r"(?P<name>F)\b"),
    # in src/a.py, under packages/core, at the top of the Makefile
    ("file", rf"\b{_IN} {_ARTICLE}(?P<name>P)\b"),
    ("file", rf"\b{_PART}(?: \S+){{0,3}}? (?:of|from|in) {_ARTICLE}(?P<name>P)\b"),
    ("file", rf"^{_SEARCH} {_ARTICLE}(?P<name>P) (?:for|after)\b"),
    ("name", rf"^{_SEARCH} {_ARTICLE}(?P<name>N) (?:for|after)\b"),
    # open config/routes.rb and show the admin routes
    (
        "file",
        (
            rf"^(?:{_SEARCH}|open|read|see|view|inspect|look at|look into|look in|go to|take) {_ARTICLE}"
            r"(?P<name>P) ?(?:,|:|and|to|then) ?(?:and )?(?:then )?(?!P|N)\S"
        ),
    ),
    ("name", rf"\b{_PART}(?: \S+){{0,3}}? (?:of|from|in|inside) {_ARTICLE}(?P<name>N)\b"),
    (
        "folder",
        rf"^{_SEARCH} (?:the |our |all |all of |only |just )*(?P<name>[NPQ]|{_WORD}) {_FOLDER} for\b",
    ),
    # the section "Upgrading", chapter 3, the Installation section, section on proxies
    ("section", rf"\b{_SECTION} (?:(?:titled|named|called|headed|number|about|on) )?(?:the )?{_HEADING}"),
    ("section", rf"\b(?:the|under|in|from) (?:the )?{_HEADING} {_SECTION}\b"),
    # in the folder migrations, under the migrations folder
    ("folder", rf"\b{_FOLDER} {_NAMED}{_NAME}"),
    ("folder", rf"\b{_IN} (?:the |our )?{_NAME} {_FOLDER}\b"),
    # in class Cart, within the Cart class
    ("class", rf"\b(?:{_IN}|of) (?:the |our |a )?class {_NAMED}{_NAME}"),
    ("class", rf"\b{_IN} (?:the |our )?{_NAME} class\b"),
    ("name", rf"\b(?:in|inside|within|under) {_ARTICLE}(?P<name>N)\b"),
)
