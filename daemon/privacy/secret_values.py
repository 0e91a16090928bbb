"""Masks values in texts that look like secrets: keys, tokens, passwords.

Precision counts as much as recall: a masked constant is a hole in the code that an agent reads. So a value is
masked if it has the form of a provider's key (`key_forms`), or if a name says that it is secret
(`named_values`) and it is no reference, placeholder or name (`secret_evidence`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from .key_forms import bare_keys, key_forms, kubernetes_secrets, places
from .named_values import named_values

MASK = "[masked]"
"""The text that replaces a secret."""

LENGTH_CLASSES = (64, 32, 16)
"""Minimum lengths that are shown after the mask: `[masked]32+`. They tell a key from a password without
showing the password's length."""


_APART = "\n" * 8
"""Separates texts that are searched together: no form of a secret spans eight line breaks."""


class Masked(Struct, frozen=True):
    """A text with its secrets masked, and their number. Line breaks are kept."""

    text: str
    count: int


def mask_secrets(text: str) -> Masked:
    """Replace values that look like secrets by `MASK`, keeping line breaks; deterministic.

    Takes 5 ms for 100 KB of code: patterns are only tried at their literals. The time is linear in the text.
    A text may grow by a few characters for each password shorter than `MASK`.
    """
    return _replaced(text, _spans(text, _lowered(text)))


def may_hold_secrets(texts: Iterable[str]) -> bool:
    """Tell whether `mask_secrets` may find something in any of many texts; False is certain.

    All are searched together: 7,000 short texts take 5 ms instead of 140.
    """
    whole = _APART.join(texts)
    if "-----BEGIN " in whole:
        return True  # a key in one text could hide that of another
    return next(_spans(whole, _lowered(whole)), None) is not None


def mask_piece(text: str) -> Masked:
    """Mask a part of a longer text, whose context may be missing.

    Neighbouring lines of 60 or more characters of base64 count as a private key, and 40 random characters as
    an AWS secret.
    """
    masked = mask_secrets(text)
    bare = _replaced(masked.text, bare_keys(masked.text))
    masked = Masked(bare.text, masked.count + bare.count)
    if not _may_hold_key_lines(masked.text):
        return masked
    lines = masked.text.split("\n")
    is_key = [_KEY_LINE.fullmatch(line) is not None for line in lines]
    inside = [
        number
        for number, line in enumerate(lines)
        if (is_key[number] and any(is_key[max(number - 1, 0) : number] + is_key[number + 1 : number + 2]))
        or (
            _KEY_END_LINE.fullmatch(line)
            and any("-----END " in line for line in lines[number + 1 : number + 2])
        )
    ]
    if not inside:
        return masked
    for number in inside:
        lines[number] = _KEY_TEXT.sub(MASK, lines[number])
    return Masked("\n".join(lines), masked.count + len(inside))


def mask_pieces(texts: Sequence[str]) -> list[str]:
    """Mask many parts of texts as `mask_piece` does; they are searched together if none has a secret."""
    if not may_hold_secrets(texts) and not any(map(_may_be_cut, texts)):
        return list(texts)
    return [mask_piece(text).text for text in texts]


def secrets_in(text: str) -> list[str]:
    """Return the values that `mask_piece` masks in a text; of a private key each line."""
    spans = [*_spans(text, _lowered(text)), *bare_keys(text)]
    return [text[start:stop] for start, stop in _merged(text, spans)]


def _may_be_cut(text: str) -> bool:
    return _may_hold_key_lines(text) or next(bare_keys(text), None) is not None


def _may_hold_key_lines(text: str) -> bool:
    """Tell whether a text may have a line of a private key; False is certain."""
    return "-----END " in text or any(
        len(line) >= _KEY_LINE_MIN and _KEY_LINE.fullmatch(line) for line in text.split("\n")
    )


def _spans(text: str, lowered: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of secrets, which may overlap."""
    # Half of a text repeats itself, and searching it for a hundred literals costs more than all else.
    words = "\n".join(set(lowered.split()))
    yield from _private_keys(text)
    yield from key_forms(text, lowered, words)
    yield from named_values(text, lowered, words)
    yield from kubernetes_secrets(text)


def _merged(text: str, found: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans in order, overlapping ones as one."""
    merged: list[tuple[int, int]] = []
    end = 0
    for start, stop in sorted(found):
        if stop <= end or text.startswith(MASK, start):
            continue
        begin = merged.pop()[0] if start < end else start
        merged.append((begin, stop))
        end = stop
    return merged


def _replaced(text: str, found: Iterable[tuple[int, int]]) -> Masked:
    spans = _merged(text, found)
    if not spans:
        return Masked(text, 0)
    parts: list[str] = []
    end = 0
    for start, stop in spans:
        parts += [text[end:start], masked_as(stop - start)]
        end = stop
    return Masked("".join([*parts, text[end:]]), len(spans))


def _lowered(text: str) -> str:
    """Return a text in lower case with the same length: lower case of `İ` has two characters."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text.replace("\u0130", "i").lower()


def masked_as(length: int) -> str:
    """Return the mask of a value by its length."""
    return MASK + next((f"{least}+" for least in LENGTH_CLASSES if length >= least), "")


# Private keys

_LOCK = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_UNLOCK = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_TEXT = re.compile(r"[A-Za-z0-9/+]{16,}={0,2}")
_AROUND_KEY = r"[\s>|#*/\"'`+,;]{0,16}"
_KEY_LINE_MIN = 60
_KEY_LINE = re.compile(rf"{_AROUND_KEY}[A-Za-z0-9/+]{{{_KEY_LINE_MIN},76}}={{0,2}}(?:\\n)?{_AROUND_KEY}")
_KEY_END_LINE = re.compile(rf"{_AROUND_KEY}[A-Za-z0-9/+]{{16,76}}={{0,2}}(?:\\n)?{_AROUND_KEY}")
"""A line of a private key in PEM, which has 64 characters or 76, as it may stand in code; and the last."""
_KEY_LINE_START = re.compile(r"[\\nr\s\"'`+,;]{0,12}[A-Za-z0-9/+]{40}")
_ANY_KEY_LINE = re.compile(
    rf"(?:[ \t]*\d{{1,6}}[ \t])?{_AROUND_KEY}"
    rf"(?:[A-Z][\w-]{{2,20}}: [^\n]{{1,80}}|[A-Za-z0-9/+]{{16,}}={{0,2}}(?:\\\\?n)?)"
    rf"{_AROUND_KEY}(?:\n|\Z)|[ \t]*\n"
)
_KEY_CHARACTERS = 20_000
"""A private key of 16,384 bits, the largest in use, has 12,700 characters in PEM."""


def _end_of_key(text: str, begin: int) -> int:
    """Return where the lines of a key without an end mark end; prose that names the mark has none."""
    stop = text.find("\n", begin, begin + _KEY_CHARACTERS)
    if stop < 0:
        return min(len(text), begin + _KEY_CHARACTERS)
    if not _KEY_LINE_START.match(text, begin):
        stop = begin
    while (line := _ANY_KEY_LINE.match(text, max(stop, text.find("\n", begin)) + 1)) and line.end() > stop:
        stop = line.end()
    return stop


def _private_keys(text: str) -> Iterator[tuple[int, int]]:
    """Yield the body of each private key, line by line: line numbers may be in between."""
    for place in places(text, "-----BEGIN "):
        begin = _LOCK.match(text, place)
        if begin is None:
            continue
        end = _UNLOCK.search(text, begin.end(), begin.end() + _KEY_CHARACTERS)
        if end is None and _LOCK.search(text, begin.end(), begin.end() + _KEY_CHARACTERS):
            continue  # code that names the marks of keys
        stop = end.start() if end else _end_of_key(text, begin.end())
        for found in _KEY_TEXT.finditer(text, begin.end(), stop):
            yield found.span()
