"""The baseline of semble: its chunks for a text, in its own environment (see `retrieval.semble`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..retrieval.embedding import Embedder
from ..retrieval.semble import Semble
from .passages import DEPTH, Passage
from .projects import CodeBase


class SembleChunks:
    """semble's own chunks; `words_only` leaves its static model out."""

    def __init__(self, python: Path, folder: Path, embedder: Embedder, *, words_only: bool) -> None:
        self._semble = Semble(python, folder, embedder, words_only=words_only)
        self.name = self._semble.name

    def rank(self, code: CodeBase, texts: Sequence[str]) -> list[list[Passage]]:
        """Return the best chunks for each text. Raises `BaselineMissing`."""
        chunks = self._semble.chunks(code.root, texts, DEPTH)
        return [
            [Passage(path, first, last) for path, first, last in found if path in code.paths]
            for found in chunks
        ]
