"""Owns how tokens are counted: the estimate that needs no vocabulary, and which counter a request gets."""

from __future__ import annotations

from typing import Literal, Protocol

CHARACTERS_PER_TOKEN = 4
"""The rule of thumb of the model vendors for English text. Code runs near it: 4.5 characters a token with
o200k_base and this package's own Python, 3.2 to 3.8 with older vocabularies."""

CounterName = Literal["estimate", "exact"]


class TokenCounter(Protocol):
    """Counts a text's tokens, with a model's vocabulary or by an estimate. Several threads may use it."""

    @property
    def name(self) -> str:
        """What the counter is called in a record: `estimate`, or the vocabulary's name."""
        ...

    def count(self, text: str) -> int:
        """Return how many tokens a text has."""
        ...

    def characters(self, tokens: int) -> int:
        """Return how long a text of so many tokens usually is; what is asked for first when one must fit."""
        ...


class Estimate:
    """ceil(characters * 0.25). Takes no time, and the same for every model."""

    name = "estimate"

    def count(self, text: str) -> int:
        """Return a quarter of the characters, rounded up."""
        return estimate(len(text))

    def characters(self, tokens: int) -> int:
        """Return four characters for each token."""
        return tokens * CHARACTERS_PER_TOKEN


ESTIMATE = Estimate()


def estimate(characters: int) -> int:
    """Return the tokens of a text of so many characters: ceil(characters / 4)."""
    return -(-characters // CHARACTERS_PER_TOKEN)


def counter_of(wanted: str, model: str) -> tuple[TokenCounter, str]:
    """Return the counter that the settings want, for a model's name or "", and a problem in words or "".

    Where the exact one isn't installed it is the estimate. Loads a vocabulary the first time, a second or
    so: call it in a thread.
    """
    if wanted != "exact":
        return ESTIMATE, ""
    # Here, since the vocabularies take a second to load and 150 MB, and few want them.
    from .exact_tokens import NotInstalledError, exact_counter

    try:
        return exact_counter(model), ""
    except NotInstalledError as error:
        return ESTIMATE, f"tokens are estimated, not counted: {error}"
