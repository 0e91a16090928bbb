"""The text that the embedding model reads of a chunk: a header, then its text without licenses and rules."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

HEADER_NAMES = 160
"""Characters of the names in a header. The default model reads 128 tokens, about 500 characters, and a
header longer than a third of them would leave too little for the text."""

HEADER_PATH = 120
"""Characters of the path in a header, its end; cut at a slash."""

WORTH_CHARACTERS = 40
"""Letters and digits below which a text without a definition gets no vector: a single import, a closing
bracket with a word. It would be near to anything."""


class Embeddable(Protocol):
    """The part of a `Chunk` that this file needs."""

    @property
    def names(self) -> tuple[str, ...]: ...  # noqa: D102 - named in `Chunk`
    @property
    def text(self) -> str: ...  # noqa: D102


def header(path: str, chunk: Embeddable) -> str:
    """Return the first line of what is embedded: `path :: Session.login, logout`.

    Of a name and those inside it only the inner ones stand there, and what two neighbours share stands once.
    """
    if len(path) > HEADER_PATH:
        tail = path[-HEADER_PATH:]
        path = tail.partition("/")[2] or tail
    names = ", ".join(_short_names(chunk.names))
    if len(names) > HEADER_NAMES:
        # Of sections the innermost title says most.
        names = names[-HEADER_NAMES:] if "/" in chunk.names[0] else names[:HEADER_NAMES]
    return f"{path} :: {names}" if names else path


def embedded_text(path: str, chunk: Embeddable) -> str:
    """Return what is embedded for a chunk: its header, then its text as the model should see it.

    License comments at its beginning are left out, and so are rows of dashes and the like, of which the
    model's tokenizer makes a token a character. Documentation stays: it speaks the language of questions.
    """
    return f"{header(path, chunk)}\n{_ORNAMENT.sub('', _without_license(chunk.text))}"


def is_worth_embedding(text: str, names: Sequence[str]) -> bool:
    """Whether a vector for a text can tell it from others: it holds a definition, or words but a license."""
    if len(text) >= _CERTAIN and text[0] not in _COMMENT_STARTS:
        return True
    readable = _ORNAMENT.sub("", _without_license(text)[:_CERTAIN])
    return len(_SILENT.sub("", readable)) >= WORTH_CHARACTERS or bool(names and readable)


def _without_license(text: str) -> str:
    """Return a text without the comment at its beginning if that speaks of a license."""
    if text[:1] in _COMMENT_STARTS:
        comment = _LEADING_COMMENT.match(text)
        if comment is not None and _LICENSE.search(comment[0]):
            return text[comment.end() :].lstrip("\n")
    return text


def _short_names(names: Sequence[str]) -> list[str]:
    """Return names for a header: without those that enclose the next, and without a shared beginning."""
    short: list[str] = []
    shared = ""
    for index, name in enumerate(names):
        following = names[index + 1] if index + 1 < len(names) else ""
        if following.startswith((f"{name}.", f"{name}/")):
            continue
        outer, dot, own = name.rpartition(".")
        short.append(own if dot and outer == shared and "/" not in name else name)
        shared = outer
    return short


_CERTAIN = 6 * WORTH_CHARACTERS
"""Characters of a text that need no count: ordinary code has as many letters in them."""

# What licenses say and code about licenses doesn't.
_LICENSE = re.compile(
    r"copyright\W{0,8}(?:c\b|\d{4})|©|\blicen[cs]ed under\b|SPDX-License|\ball rights reserved\b"
    r"|\bpermission is hereby granted\b|\bsee (?:the )?LICEN[CS]E\b|\b(?:public|apache|mit|bsd) licen[cs]e\b"
    r"|@license\b",
    re.IGNORECASE,
)
_COMMENT_STARTS = frozenset("#/<-;%")
_LEADING_COMMENT = re.compile(
    r"(?:<\?php\s*)?(?:/\*(?:[^*]|\*(?!/))*\*/|<!--(?:[^-]|-(?!->))*-->|(?:[ \t]*(?://|#(?!include|define|if"
    r"|pragma)|--|;|%)[^\n]*(?:\n|\Z))+)"
)
_ORNAMENT = re.compile(r"([-=*#~_/+.^<>!])\1{3,}")
_SILENT = re.compile(r"[\W_]+")
