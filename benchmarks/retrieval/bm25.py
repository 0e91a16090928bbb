"""The baseline of plain BM25 by the package bm25s, over the product's chunks and over whole files."""

from __future__ import annotations

from collections.abc import Sequence

import bm25s  # type: ignore[import-untyped]  # has no annotations
from foveal.daemon.index.service import Reader

from .baselines import files_of_chunks
from .judged import Project


class ChunkBm25:
    """The chunks' text alone, each file by its best chunk; words, stop words and constants are bm25s' own."""

    name = "bm25s, chunks"

    def rank(self, project: Project, reader: Reader) -> list[list[str]]:
        """Answer the questions of a project."""
        texts = reader.chunks.texts([chunk.id for chunk in reader.chunks.of_paths(reader.load_files())])
        return _rank(project, [(chunk.path, chunk.text) for chunk in texts.values()])


class FileBm25:
    """Whole files, as many as the product reads."""

    name = "bm25s, files"

    def rank(self, project: Project, reader: Reader) -> list[list[str]]:
        """Answer the questions of a project."""
        paths = [path for path, record in reader.load_files().items() if record.digest]
        documents = [
            (path, (project.root / path).read_bytes().decode("utf-8", "replace")) for path in sorted(paths)
        ]
        return _rank(project, documents)


def _rank(project: Project, documents: Sequence[tuple[str, str]]) -> list[list[str]]:
    index = bm25s.BM25()
    index.index(bm25s.tokenize([text for _, text in documents], show_progress=False), show_progress=False)
    paths = [path for path, _ in documents]
    return [
        files_of_chunks(paths, _scores(index, question.text, len(paths))) for question in project.questions
    ]


def _scores(index: bm25s.BM25, text: str, count: int) -> list[float]:
    (tokens,) = bm25s.tokenize([text], return_ids=False, show_progress=False)
    known = [token for token in tokens if token in index.vocab_dict]
    return [float(score) for score in index.get_scores(known)] if known else [0.0] * count
