"""The gate that every text of a record passes: what a caller's own words show to be a secret is masked
wherever it comes up again.

A secret in a prompt is recognized by what stands around it there. In the reply it may stand bare: a reason
quotes it, or a file has it where nothing tells what it is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeVar

from msgspec import Struct

from .secret_evidence import is_mixed
from .secret_values import MASK, Masked, mask_piece, masked_as, may_hold_secrets, secrets_in

T = TypeVar("T")

SAID_MAX = 200_000
"""Maximum characters of a text of the caller that are kept, and in which secrets are looked for, half of them
at each end: a text full of names such as `auth` takes .4 microseconds a character, and answers wait."""

EDGE = 16_384
"""Characters that are masked beyond each of these ends and then dropped: a secret that is cut in two is not
recognized. A certificate's key of 4,096 bits has 3,300, a token with many claims some thousands."""

VALUES_MAX = 200
"""Maximum number of secrets that are remembered of what a caller wrote; a private key has 50 lines."""

DRAWN_MIN = 6
"""Minimum characters of a secret that is masked inside of words too, if digits or signs are among its
letters. Another may be a common word: it is masked only where it stands alone, in code only as a literal."""

LONG_MIN = 8
"""The same for a secret of words with a number, for a part of a secret that a search took for a word, and for
a word that is masked as a literal: code has `"admin"` for other reasons."""


WORD_MAX = 11
"""Maximum characters of a text that is a word of the record, such as a slice's type or layer: a secret with
what shows it is longer."""


class SecretGate(Struct, frozen=True):
    """The secrets in what a caller wrote; `drawn` ones are no words. Unless `closed` nothing is masked."""

    drawn: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    closed: bool = True

    @property
    def knows_any(self) -> bool:
        """Whether the caller's words have a secret."""
        return bool(self.drawn or self.words)

    def of_said(self, text: str) -> Masked:
        """Mask a text that the caller wrote, of a very long text the two ends that are kept."""
        if len(text) > SAID_MAX:
            half = SAID_MAX // 2
            first = self.of_whole(text[: half + EDGE]).text[:-EDGE]
            last = self.of_whole(text[-half - EDGE :]).text[EDGE:]
            gap = f"\n[{len(text) - SAID_MAX:,} characters are not kept]\n"
            before = text[:half].count(MASK) + text[-half:].count(MASK)
            return Masked(f"{first}{gap}{last}", max(first.count(MASK) + last.count(MASK) - before, 0))
        return self.of_whole(text)

    def of_whole(self, text: str) -> Masked:
        """Mask a text that the caller wrote, or that holds such words, and keep all of it."""
        masked = mask_piece(text)
        again = self.of_code(masked.text)
        return Masked(again, masked.count + again.count(MASK) - masked.text.count(MASK))

    def of_code(self, text: str) -> str:
        """Mask the secrets of the caller in a text of the project."""
        return _pattern(self.drawn, self.words, in_code=True).sub(_mask, text) if self.knows_any else text

    def of_record(self, record: Mapping[str, Any], but: Collection[str] = ()) -> dict[str, Any]:
        """Return a record with all its texts masked, except the fields `but`, which are masked already."""
        sealed = {name: value for name, value in record.items() if name not in but}
        if self.closed and (self.knows_any or may_hold_secrets(texts_in(sealed))):
            return {name: self._sealed(sealed[name]) if name in sealed else record[name] for name in record}
        return dict(record)

    def _sealed(self, value: Any) -> Any:
        if isinstance(value, str):
            masked = mask_piece(value).text if len(value) > WORD_MAX else value
            return _pattern(self.drawn, self.words).sub(_mask, masked) if self.knows_any else masked
        if isinstance(value, Mapping):
            return {name: self._sealed(part) for name, part in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(map(self._sealed, value))
        return value


OPEN = SecretGate(closed=False)
"""Masks nothing, for who switched `mask_values` off."""


def gate_of(texts: Iterable[str]) -> SecretGate:
    """Return the gate for what a caller wrote, of a very long text for its two ends."""
    values = dict.fromkeys(value for text in texts for value in _secrets_of(_ends_of(text)))
    found = list(values)[:VALUES_MAX]
    drawn = {value: None for value in found if _is_drawn(value)}
    parts = [part for value in drawn for part in re.split(r"[^A-Za-z0-9]+", value)]
    drawn |= {part: None for part in parts if len(part) >= LONG_MIN and is_mixed(part)}
    return SecretGate(tuple(drawn), tuple(value for value in found if value not in drawn))


def mask_said(text: str) -> Masked:
    """Mask a text that a person or agent wrote, and each secret in it wherever else in it that stands."""
    return gate_of([text]).of_said(text)


@lru_cache(maxsize=16)
def _secrets_of(text: str) -> tuple[str, ...]:
    """Return the secrets in a text of at most `SAID_MAX` characters. A context, its search, its record, its
    history and its timeline ask for the same prompt."""
    return tuple(secrets_in(text))


def _ends_of(text: str) -> str:
    half = SAID_MAX // 2
    return text if len(text) <= SAID_MAX else f"{text[:half]}\n{text[-half:]}"


def texts_in(value: Any) -> Iterator[str]:
    """Yield the texts in a value, without field names."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from texts_in(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from texts_in(part)


def _is_drawn(value: str) -> bool:
    if len(value) < DRAWN_MIN:
        return False
    return is_mixed(value) or (len(value) >= LONG_MIN and any(map(str.isdigit, value)))


def _mask(found: re.Match[str]) -> str:
    return masked_as(len(found[0]))


@lru_cache(maxsize=64)
def _pattern(drawn: tuple[str, ...], words: tuple[str, ...], *, in_code: bool = False) -> re.Pattern[str]:
    """Return what finds secrets, the longest first: a search may give their words in lower case."""
    inside = [re.escape(value) for value in sorted(drawn, key=len, reverse=True)]
    before, behind = (r"(?<=[\"'`])", r"(?=[\"'`])") if in_code else (r"(?<![\w/.-])", r"(?![\w/-])")
    alone = [
        f"{before}{re.escape(value)}{behind}"
        for value in sorted(words, key=len, reverse=True)
        if len(value) >= LONG_MIN or not in_code
    ]
    return re.compile("|".join((*inside, *alone)) or r"(?!)", re.IGNORECASE)
