"""Token counters: an estimate, and exact counts with the vocabulary of a model."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import cache

from ..core.sized_cache import SizedCache

CHARACTERS_PER_TOKEN = 4
"""Average characters of a token: the model vendors' rule of thumb for English text. Code is close to it: this
package's own Python has 4.5 characters a token with o200k_base, and 3.2 to 3.8 with older vocabularies."""

CACHE_CHARACTERS = 4_000_000
"""Maximum characters of text whose token counts are cached: some forty contexts of the largest usual size."""


class TokenCounter:
    """Counts the tokens of a text, exactly with the function `encode` of a vocabulary, else by an estimate:
    a token for every four characters. Thread-safe."""

    def __init__(self, name: str = "estimate", encode: Callable[[str], list[int]] | None = None) -> None:
        self.name = name
        """The name in records: `estimate`, or that of the vocabulary."""
        self._encode = encode
        self._counts = SizedCache[str, int](CACHE_CHARACTERS)

    def count(self, text: str) -> int:
        """Return the number of tokens of a text; special tokens in it count as plain text.

        A long text is counted in pieces, which may give a few tokens more.
        """
        if self._encode is None:
            return -(-len(text) // CHARACTERS_PER_TOKEN)
        count = self._counts.get(text)
        if count is None:
            count = sum(len(self._encode(piece)) for piece in pieces(text))
            self._counts.put(text, count, len(text))
        return count

    def characters(self, tokens: int) -> int:
        """Return the average number of characters of a number of tokens: 4, or 4.5 where they are counted,
        the average of code with o200k_base."""
        return tokens * CHARACTERS_PER_TOKEN if self._encode is None else tokens * 9 // 2


ESTIMATE = TokenCounter()


def counter_of(wanted: str, model: str) -> tuple[TokenCounter, str]:
    """Return the configured counter for a model's name or "", and a problem in words or "".

    If the exact counter isn't installed, the estimate is used. The first call loads a vocabulary, which takes
    about a second: call it in a thread.
    """
    if wanted != "exact":
        return ESTIMATE, ""
    try:
        return _counter(vocabulary_of(model)), ""
    except NotInstalledError as error:
        return ESTIMATE, f"tokens are estimated, not counted: {error}"


DEFAULT_VOCABULARY = "o200k_base"
"""The vocabulary of current OpenAI models, and the nearest to models with unpublished ones."""

VOCABULARIES: tuple[tuple[str, str], ...] = (
    ("gpt-4o*", "o200k_base"),
    ("gpt-4.[0-9]*", "o200k_base"),
    ("gpt-4*", "cl100k_base"),
    ("gpt-3*", "cl100k_base"),
)
"""Vocabularies by globs of model names; the first match counts."""

PIECE_CHARACTERS = 100_000
"""Maximum characters counted at once: the package refuses texts with a million characters."""


class NotInstalledError(Exception):
    """The optional package bpe-openai isn't installed. The message says what to do."""


def vocabulary_of(model: str) -> str:
    """Return the name of a model's vocabulary; a vendor's prefix before a slash is ignored."""
    name = model.lower().rpartition("/")[2]
    return next((found for glob, found in VOCABULARIES if fnmatchcase(name, glob)), DEFAULT_VOCABULARY)


def pieces(text: str) -> list[str]:
    """Divide a long text after line feeds if possible, since tokens end there."""
    found = []
    start = 0
    while len(text) - start > PIECE_CHARACTERS:
        end = text.rfind("\n", start, start + PIECE_CHARACTERS) + 1 or start + PIECE_CHARACTERS
        found.append(text[start:end])
        start = end
    return [*found, text[start:]]


@cache
def _counter(vocabulary: str) -> TokenCounter:
    with warnings.catch_warnings():
        # The package reads its data with a function that Python 3.11 deprecates.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            # Optional, and without types.
            from bpe_openai import get_encoding  # type: ignore[import-untyped,import-not-found,unused-ignore]
        except ImportError as error:
            raise NotInstalledError(
                "bpe-openai isn't installed; install foveal[exact], or set context.token_counter to estimate"
            ) from error
        return TokenCounter(vocabulary, get_encoding(vocabulary).encode_ordinary)
