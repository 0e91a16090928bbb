"""Owns compression by a model that nobody waits for: what it made before is used, the rest is asked later."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..core.lazy_dataclass import dataclass
from ..project.tree import Symbol
from .compress import Compressed
from .model_compressor import ModelCompressor
from .prompt_terms import Words

LATER_MAX = 8
"""So many texts of one context are given to the model, the first ones: those that weigh most."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A text that a model may make shorter, as it was asked for last."""

    text: str
    path: str
    words: Words
    characters: int
    symbols: tuple[Symbol, ...]
    names: tuple[str, ...]


class LaterCompressor:
    """Compresses the texts of one context. For one thread.

    What the model made of the same text for the same room and words is used; of the rest the extractive form
    is given, and it is noted in `wanted`.
    """

    def __init__(self, model: ModelCompressor) -> None:
        self._model = model
        self._wanted: dict[str, Wanted] = {}

    @property
    def wanted(self) -> tuple[Wanted, ...]:
        """What the model wasn't asked about yet, at most `LATER_MAX`."""
        return tuple(self._wanted.values())[:LATER_MAX]

    def __call__(
        self,
        text: str,
        path: str,
        words: Words,
        characters: int,
        symbols: Sequence[Symbol] = (),
        wanted: Collection[str] = (),
    ) -> Compressed:
        """Return a text within so many characters, as `compress` does."""
        made = self._model.compress(text, path, words, characters, symbols, wanted, seconds=0)
        if made.model:
            self._wanted.pop(path, None)
            return made
        if self._model.may_ask(text, characters):
            self._wanted[path] = Wanted(text, path, words, characters, tuple(symbols), tuple(sorted(wanted)))
        return made
