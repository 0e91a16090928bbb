"""The definitions that compete for a prompt in an indexed project, with what the product knows of each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from foveal.daemon.index.service import LexicalHandle, Reader
from foveal.daemon.project.service import Tree
from foveal.daemon.search.definitions import Part, with_features
from foveal.daemon.search.filters import EVERYTHING
from foveal.daemon.search.ranking import rank
from foveal.daemon.search.router import gather
from msgspec.structs import replace

from .passages import DEPTH


class DefinitionFeatures:
    """The features of definitions in one indexed project. `folder` is that of its index."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._reader = Reader(str(folder))
        self._tree = Tree(str(root), 1, self._reader.load_files())
        self._lexical = LexicalHandle(str(folder))

    def close(self) -> None:
        """Close the index."""
        self._reader.close()

    def features(self, text: str) -> Iterator[tuple[Part, dict[str, float]]]:
        """Yield the definitions that compete for a text, by words and names, with what is known of each."""
        gathered = gather(text, self._tree, self._reader, self._lexical, EVERYTHING, "hybrid", DEPTH)
        languages = {chunk.path: chunk.language for chunk in gathered.candidates.chunks.values()}
        candidates = replace(gathered.candidates, commits=self._reader.commits(languages))

        def rarity(term: str) -> float:
            return gathered.rarity.get(term, 0.0)

        ranked = rank(gathered.question, candidates, languages, rarity)
        yield from with_features(
            gathered.question, ranked, self._reader.symbols, candidates, languages, rarity
        )
