"""What the product gathers for each question, in several states of the vectors, kept in a file a project.

`words` has no vectors at all, `nothing` those that are made for the answer alone, a share such as `tenth`
also so much of the project in the order in which it is embedded, `all` every one. Shares and `all` need a
project that is embedded.
"""

from __future__ import annotations

import pickle
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
from foveal.daemon.embedding.messages import DEFAULT_MODEL
from foveal.daemon.embedding.model import model_key
from foveal.daemon.embedding.project_vectors import _LATER
from foveal.daemon.embedding.unit_vectors import Halves, unit_halves
from foveal.daemon.embedding.vectors import cosines
from foveal.daemon.index.records import FILE_NAME
from foveal.daemon.index.service import LexicalHandle, Reader, embedded_text
from foveal.daemon.project.service import Tree
from foveal.daemon.search.candidates import VECTOR_MAX, GatheredCandidates
from foveal.daemon.search.filters import EVERYTHING
from foveal.daemon.search.meaning_search import FIRST_MAX
from foveal.daemon.search.router import gather
from msgspec.structs import replace

from ..retrieval.embedding import Embedder
from ..retrieval.indexing import ensure_index
from .projects import Asked, CodeBase

DEPTH: Final = 50
FIRST_EMBEDDED: Final = 20
"""As many of the best chunks as one core embeds in the time that a question allows."""

SHARES: Final = {"twentieth": 0.05, "tenth": 0.1, "quarter": 0.25, "half": 0.5}
"""States in which so much of a project is embedded."""

EMBEDDED_SHARE: Final = 0.99
"""With so many of its contents embedded a project counts as embedded."""

STATES: Final = ("words", "nothing", *SHARES, "all")
WHOLE: Final = ("words", "all")
"""States in which no chunk waits for its vector, be it that none is wanted."""

Hits = tuple[tuple[bytes, float], ...]


@dataclass
class Gathered:
    """What is known of one question. `answer` are the paths that the graph or a place answers, None where
    words are searched; `follows` says whether the others follow them. `found` is
    of the words, without the route where that gave the answer or narrowed the search."""

    asked: Asked
    routed: GatheredCandidates
    unrouted: GatheredCandidates
    answer: list[str] | None
    follows: bool
    hits: dict[str, tuple[Hits, Hits]] = field(default_factory=dict)
    """By state what the vectors say, routed and unrouted."""


def provide_index(code: CodeBase, state: Path) -> Path:
    """Return the folder of a code base's index, made if it isn't there."""
    folder = index_folder(state, code)
    if not (folder / FILE_NAME).is_file():
        ensure_index(code.root, folder)
    return folder


def index_folder(state: Path, code: CodeBase) -> Path:
    """Return the folder of a code base's index."""
    return state / "projects" / code.group / code.name


def cache_file(state: Path, name: str) -> Path:
    """Return the file that keeps what was gathered about a code base."""
    return state / "gathered" / f"{name}.pickle"


class Vectors:
    """The vectors of one project that are known, and those that are made for questions."""

    def __init__(self, reader: Reader, embedder: Embedder) -> None:
        self._reader = reader
        self._embedder = embedder
        self._key = model_key(DEFAULT_MODEL)
        rows = list(_to_embed(reader))
        paths = reader.chunks.paths({file_id for _, file_id, _ in rows})
        self.ordered = list(
            dict.fromkeys(
                digest
                for _, _, digest in sorted(
                    rows, key=lambda row: (bool(_LATER.search(paths[row[1]].lower())), row[0])
                )
            )
        )
        self._files: dict[bytes, set[int]] = {}
        for _, file_id, digest in rows:
            self._files.setdefault(digest, set()).add(file_id)
        ids = embedder.store.ids(self._key, self.ordered)
        stored = embedder.store.vectors(self._key, ids.values())
        self._vectors = dict(zip(stored.digests, stored.matrix.astype(np.float16), strict=True))
        self.complete = len(ids) >= EMBEDDED_SHARE * len(self.ordered)
        self._all = frozenset(self._vectors)
        self._shares = {
            name: frozenset(self.ordered[: int(share * len(self.ordered))]) for name, share in SHARES.items()
        }
        self._matrix = (list(stored.digests), stored.matrix.astype(np.float16))

    def hits(self, gathered: GatheredCandidates) -> dict[str, Hits]:
        """Return by state what the vectors say of a question."""
        question = gathered.question
        texts = question.windows or ((question.text[:1_000],) if question.text.strip() else ())
        if not texts:
            return dict.fromkeys(STATES if self.complete else STATES[:2], ())
        queries = unit_halves(np.concatenate([self._embedder.model.embed_query(text) for text in texts]), 384)
        first = self._first(gathered)
        found: dict[str, Hits] = {"words": (), "nothing": self._best(gathered, queries, first, ())}
        if self.complete:
            digests, matrix = self._matrix
            scored = dict(zip(digests, cosines(matrix, queries).tolist(), strict=True)) if digests else {}
            for name, known in self._shares.items():
                both = (*known, *self._first(gathered, known))
                found[name] = self._cut(gathered, {key: scored[key] for key in both if key in scored})
            found["all"] = self._cut(gathered, scored)
        return found

    def _first(self, gathered: GatheredCandidates, known: frozenset[bytes] = frozenset()) -> list[bytes]:
        chunks = self._reader.chunks.by_ids([number for number, _ in gathered.candidates.lexical[:FIRST_MAX]])
        wanted = [
            chunks[number].digest
            for number, _ in gathered.candidates.lexical[:FIRST_MAX]
            if number in chunks
            and chunks[number].digest in self._files
            and chunks[number].digest not in known
        ]
        return list(dict.fromkeys(wanted))[:FIRST_EMBEDDED]

    def _best(
        self, gathered: GatheredCandidates, queries: Halves, first: Sequence[bytes], known: Sequence[bytes]
    ) -> Hits:
        self._embed([digest for digest in first if digest not in self._vectors])
        wanted = [digest for digest in (*first, *known) if digest in self._vectors]
        if not wanted:
            return ()
        found = cosines(np.stack([self._vectors[digest] for digest in wanted]), queries)
        return self._cut(gathered, dict(zip(wanted, found.tolist(), strict=True)))

    def _cut(self, gathered: GatheredCandidates, scored: dict[bytes, float]) -> Hits:
        allowed = None if gathered.files is None else set(gathered.files)
        ordered = sorted(scored.items(), key=lambda hit: (-hit[1], hit[0]))
        if allowed is not None:
            ordered = [hit for hit in ordered if self._files.get(hit[0], set()) & allowed]
        return tuple(ordered[:VECTOR_MAX])

    def _embed(self, digests: Sequence[bytes]) -> None:
        if not digests:
            return
        chunks = {one.digest: one for one in self._reader.chunks.by_digests(digests)}
        texts = self._reader.chunks.texts([one.id for one in chunks.values()])
        known = list(texts.values())
        matrix = self._embedder.embed_texts([embedded_text(one.path, one.names, one.text) for one in known])
        self._embedder.store.put(self._key, [one.digest for one in known], matrix)
        for one, vector in zip(known, matrix, strict=True):
            self._vectors[one.digest] = unit_halves(vector, 384)[0]


def collect(code: CodeBase, state: Path, embedder: Embedder | None, *, embed: bool) -> list[Gathered]:
    """Gather for all questions of a code base, and keep it."""
    started = time.monotonic()
    folder = provide_index(code, state)
    indexed = time.monotonic()
    if embed and embedder is not None:
        vectors = embedder.vectors(code.name, folder)
        embedder.embed_all(vectors)
    reader = Reader(str(folder))
    tree = Tree(str(code.root), 1, reader.load_files())
    lexical = LexicalHandle(str(folder))
    known = Vectors(reader, embedder) if embedder is not None else None
    found = []
    for asked in code.questions:
        relevant = {path: grade for path, grade in asked.relevant.items() if path in tree.files}
        if not relevant:
            continue
        asked.relevant.clear()
        asked.relevant.update(relevant)
        found.append(_gather(asked, tree, reader, lexical, known))
    reader.close()
    file = cache_file(state, code.name)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(pickle.dumps(found, 5))
    complete = known is not None and known.complete
    print(
        f"{code.name}: {len(found)} questions, {len(tree.files)} files, embedded {complete},"
        f" {indexed - started:.0f} + {time.monotonic() - indexed:.0f} s",
        file=sys.stderr,
        flush=True,
    )
    return found


def _gather(
    asked: Asked, tree: Tree, reader: Reader, lexical: LexicalHandle, vectors: Vectors | None
) -> Gathered:
    routed = gather(asked.text, tree, reader, lexical, EVERYTHING, None, DEPTH)
    unrouted = routed
    if routed.answer is not None or routed.files is not None:
        unrouted = gather(asked.text, tree, reader, lexical, EVERYTHING, "hybrid", DEPTH)
    answer = None if routed.answer is None else [hit.path for hit in routed.answer]
    follows = routed.narrowed and routed.answer is None
    found = Gathered(asked, replace(routed, answer=None), unrouted, answer, follows)
    if vectors is None:
        found.hits = {"words": ((), ())}
        return found
    of_unrouted = vectors.hits(unrouted)
    of_routed = of_unrouted if unrouted is routed else vectors.hits(routed) if answer is None else {}
    found.hits = {state: (of_routed.get(state, ()), hits) for state, hits in of_unrouted.items()}
    return found


def _to_embed(reader: Reader) -> Iterator[tuple[int, int, bytes]]:
    last = 0
    while rows := reader.chunks.to_embed(last, 20_000):
        yield from rows
        last = rows[-1][0]


def read(file: Path) -> list[Gathered]:
    """Return what `collect` kept."""
    found: list[Gathered] = pickle.loads(file.read_bytes())
    return found
