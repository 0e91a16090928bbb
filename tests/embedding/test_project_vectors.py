"""A project's vectors are those of its chunks: what came, went, was copied, moved or lost on the way."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from foveal.daemon.core.storage import DatabaseError
from foveal.daemon.core.system import System
from foveal.daemon.embedding import embed_queue
from foveal.daemon.embedding import project_vectors as vectors_file
from foveal.daemon.embedding.embed_queue import EmbedQueue
from foveal.daemon.embedding.embeddings import EmbeddingStore
from foveal.daemon.embedding.project_vectors import ProjectVectors
from foveal.daemon.embedding.unit_vectors import Floats
from foveal.daemon.index.chunks import Chunk
from foveal.daemon.index.records import FILE_NAME, ChunkText
from foveal.daemon.index.store import Store

from tests.search_cases import chunk, put, remove

DIM = 16
MODEL = "model"


def vector(digest: bytes) -> Floats:
    """Return a vector that is a content's own."""
    seed = int.from_bytes(hashlib.blake2b(digest, digest_size=8).digest())
    made = np.random.default_rng(seed).standard_normal(DIM).astype(np.float32)
    unit: Floats = made / np.linalg.norm(made)
    return unit


class Bench:
    """An index, the embeddings of all projects, and the vectors of this one. `embedded` are the contents that
    were given a vector, in order."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = Store(str(folder / "index"), System())
        self.embeddings = EmbeddingStore(str(folder / "embeddings.sqlite"), System())
        self.vectors = self.opened()
        self.embedded: list[bytes] = []

    def opened(self) -> ProjectVectors:
        return ProjectVectors("/p", str(self.folder / "index"), self.embeddings, MODEL, DIM, System())

    def embed(self, batches: int = 1_000, size: int = 4) -> None:
        """Embed what waits."""
        for _ in range(batches):
            batch = self.vectors.next_batch(size)
            if not batch:
                return
            self.keep(batch)

    def keep(self, batch: Sequence[ChunkText]) -> None:
        self.embedded.extend(one.digest for one in batch)
        self.vectors.keep(self.embedded[-len(batch) :], np.stack([vector(one.digest) for one in batch]))

    def ready(self, **chunks: Sequence[Chunk]) -> None:
        """Put chunks into files of these names, if any, and embed what waits."""
        for name, several in chunks.items():
            put(self.store, f"{name}.py", several)
        self.vectors.refresh()
        self.embed()

    def nearest(self, one: Chunk, limit: int = 1, files: Sequence[int] | None = None) -> list[bytes]:
        queries = vector(one.digest)[None, :]
        return [digest for digest, _ in self.vectors.search(queries, limit, files).hits]

    def state(self) -> tuple[int, int]:
        return self.vectors.contents, self.vectors.pending

    def close(self) -> None:
        self.embeddings.close()
        self.store.close()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    one = Bench(tmp_path)
    yield one
    one.close()


def chunks(name: str, count: int) -> list[Chunk]:
    return [chunk(f"text of {name} {n}", f"{name}{n}") for n in range(count)]


def test_all_contents_get_a_vector_once(bench: Bench) -> None:
    mine = [*chunks("a", 9), chunk("}", embed=False)]
    put(bench.store, "a.py", [*mine, mine[0]])
    put(bench.store, "b.py", chunks("b", 3))
    bench.vectors.refresh()
    assert bench.state() == (12, 12)
    bench.ready()
    assert bench.state() == (12, 0)
    assert len(bench.embedded) == len(set(bench.embedded)) == 12
    assert [bench.nearest(one) for one in mine[:9]] == [[one.digest] for one in mine[:9]]


@pytest.mark.parametrize(
    "how",
    ["copied", "moved", "deleted and back", "reopened", "rewritten"],
)
def test_a_content_that_is_known_is_never_embedded_again(bench: Bench, how: str) -> None:
    mine = chunks("a", 6)
    bench.ready(a=mine)
    bench.embedded.clear()
    match how:
        case "copied":
            put(bench.store, "copy.py", mine)
        case "moved":
            remove(bench.store, "a.py")
            put(bench.store, "moved.py", mine)
        case "deleted and back":
            remove(bench.store, "a.py")
            bench.ready()
            assert bench.state() == (0, 0)
            put(bench.store, "a.py", mine)
        case "rewritten":
            put(bench.store, "a.py", [chunk("new"), *mine])
            put(bench.store, "a.py", mine)
        case _:
            bench.vectors = bench.opened()
    bench.ready()
    assert bench.embedded == []
    assert bench.state() == (6, 0)
    assert [bench.nearest(one) for one in mine] == [[one.digest] for one in mine]


@pytest.mark.parametrize("small", [True, False])
def test_removed_chunks_are_not_found(bench: Bench, monkeypatch: pytest.MonkeyPatch, small: bool) -> None:
    if not small:
        monkeypatch.setattr(vectors_file, "SMALL_CHUNKS", 0)
    a, b = chunks("a", 4), chunks("b", 400)
    bench.ready(a=a, b=b)
    remove(bench.store, "a.py")
    bench.vectors.refresh()
    assert bench.state() == ((400, 0) if small else (404, 0)), "of many, a few may stay for a while"
    assert not {one.digest for one in a} & set(bench.nearest(a[0], 404))
    remove(bench.store, "b.py")
    bench.ready(c=a[:1])
    assert bench.state() == (1, 0)
    assert bench.nearest(a[3], 10) == [a[0].digest]


def test_many_removed_chunks_hide_no_hit(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = chunks("a", 200), chunks("b", 10)
    bench.ready(a=a, b=b)
    remove(bench.store, "a.py")  # and the vectors aren't told yet
    assert set(bench.nearest(a[0], 10)) == {one.digest for one in b}


def test_a_chunk_whose_file_goes_while_it_is_embedded_leaves_nothing(bench: Bench) -> None:
    a, b = chunks("a", 3), chunks("b", 3)
    put(bench.store, "a.py", a)
    put(bench.store, "b.py", b)
    bench.vectors.refresh()
    batch = bench.vectors.next_batch(6)
    remove(bench.store, "a.py")
    bench.keep(batch)
    assert bench.state() == (3, 0)
    assert bench.embeddings.ids(MODEL, [one.digest for one in a]) == {}


def test_a_content_that_moved_while_it_waited_is_embedded_where_it_is(bench: Bench) -> None:
    mine = chunks("a", 5)
    put(bench.store, "a.py", mine)
    bench.vectors.refresh()
    remove(bench.store, "a.py")
    put(bench.store, "b.py", mine)
    assert {one.path for one in bench.vectors.next_batch(9)} == {"b.py"}
    bench.embed()
    assert bench.state() == (5, 0)


def test_an_index_that_took_the_place_of_another_is_followed(bench: Bench) -> None:
    put(bench.store, "a.py", chunks("a", 30))
    bench.vectors.refresh()
    bench.embed(1)
    bench.store.close()
    for suffix in ("", "-wal", "-shm"):
        Path(f"{bench.folder / 'index' / FILE_NAME}{suffix}").unlink(missing_ok=True)
    bench.store = Store(str(bench.folder / "index"), System())
    other = chunks("b", 5)
    put(bench.store, "b.py", other)
    bench.embed()
    assert set(bench.embedded[4:]) <= {one.digest for one in other}, "the same numbers mean others now"
    bench.ready()
    assert bench.state() == (5, 0)
    assert [bench.nearest(one) for one in other] == [[one.digest] for one in other]


def test_tests_and_documents_come_last_and_preferred_files_first(bench: Bench) -> None:
    for path in ("docs/a.md", "tests/test_b.py", "src/c.py", "src/d.spec.ts", "lib/e.py"):
        put(bench.store, path, [chunk(path, path)])
    bench.vectors.refresh()
    bench.vectors.prefer(["lib/e.py", "nowhere.py"])
    paths = [one.path for one in bench.vectors.next_batch(9)]
    assert paths == ["lib/e.py", "src/c.py", "docs/a.md", "tests/test_b.py", "src/d.spec.ts"]


def test_missing_chunks_of_a_question_come_in_its_order(bench: Bench) -> None:
    mine = chunks("a", 5)
    put(bench.store, "a.py", [*mine, mine[1]])
    bench.vectors.refresh()
    ids = [one.id for one in bench.store.chunks.of_file(1)]
    bench.embed(1, 1)
    found = bench.vectors.lacking([ids[4], ids[0], ids[5], ids[1], 999])
    assert [one.digest for one in found] == [mine[4].digest, mine[1].digest]
    bench.embed()
    assert bench.vectors.lacking(ids) == []


def test_filters(bench: Bench) -> None:
    a = chunks("a", 5)
    b = [chunk("class B", "B", kind="class"), *chunks("b", 4)]
    bench.ready(a=a, b=b)
    assert set(bench.nearest(a[0], 99, files=[2])) == {one.digest for one in b}
    assert bench.nearest(a[0], 99, files=[]) == []
    assert bench.nearest(a[0], 99, files=[777]) == []
    assert len(bench.nearest(a[0], 99)) == 10, "more than there are gives all"


def test_a_content_without_direction_is_not_found(bench: Bench) -> None:
    mine = chunks("a", 3)
    put(bench.store, "a.py", mine)
    bench.vectors.refresh()
    batch = bench.vectors.next_batch(3)
    digests = [chunk.digest for chunk in batch]
    bench.vectors.keep(digests, np.stack([vector(mine[0].digest), np.zeros(DIM), np.full(DIM, np.nan)]))
    assert bench.state() == (1, 0)
    assert bench.nearest(mine[1], 9) == [mine[0].digest]


def test_pages_make_no_difference(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors_file, "PAGE", 3)
    mine = chunks("a", 10)
    put(bench.store, "a.py", mine)
    bench.vectors.refresh()
    assert bench.state() == (10, 10)
    bench.ready()
    put(bench.store, "b.py", [*chunks("b", 10), *mine])
    bench.vectors.refresh()
    assert bench.state() == (20, 10)


def test_damaged_embeddings_are_an_error(bench: Bench) -> None:
    bench.ready(a=chunks("a", 3))
    with closing(sqlite3.connect(bench.folder / "embeddings.sqlite")) as database, database:
        database.execute("UPDATE embeddings SET vector = x'00'")
    bench.vectors = bench.opened()
    with pytest.raises(DatabaseError):
        bench.vectors.refresh()


def test_what_changed_lately_comes_before_what_waits(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new, checkout = chunk("old"), chunk("new"), [chunk(f"checkout {number}") for number in range(3)]
    put(bench.store, "lib/old.py", [old])
    bench.vectors.refresh()
    put(bench.store, "tests/new.py", [new])
    bench.vectors.refresh()
    monkeypatch.setattr(vectors_file, "CHANGED_MAX", 2)
    put(bench.store, "lib/checkout.py", checkout)
    bench.vectors.refresh()
    bench.embed()
    assert bench.embedded == [one.digest for one in (new, old, *checkout)]


# Contents wait in the order of their turn: preferred ones, then as they came, then tests and documents.


def filled() -> EmbedQueue:
    """Give `a`, `b` and `c`, and between them `x` and `y` that come later."""
    queue = EmbedQueue()
    for place, name in enumerate("axbyc", 1):
        queue.put(name.encode(), place, later=name in "xy")
    return queue


def order(queue: EmbedQueue) -> str:
    return b"".join(queue.first(100)).decode()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda queue: None, "abcxy"),
        (lambda queue: queue.prefer([b"y", b"b"]), "ybacx"),
        (lambda queue: (queue.prefer([b"c"]), queue.prefer([b"b"])), "bcaxy"),
        (lambda queue: (queue.prefer([b"c", b"b"]), queue.prefer([b"b"])), "bcaxy"),
        (lambda queue: queue.prefer([b"unknown"]), "abcxy"),
        (lambda queue: (queue.prefer([b"y"]), queue.forget([b"y", b"a", b"unknown"])), "bcx"),
        (lambda queue: queue.retain({b"x", b"c", b"unknown"}), "cx"),
        (lambda queue: queue.retain({}), ""),
        (lambda queue: queue.put(b"a", 9), "abcxy"),
        (lambda queue: queue.put(b"a", 9, later=True), "abcxy"),
        (lambda queue: queue.put(b"x", 9), "abcxy"),
        (lambda queue: (queue.forget([b"a"]), queue.put(b"a", 9)), "bcaxy"),
    ],
)
def test_the_order(change: Callable[[EmbedQueue], object], expected: str) -> None:
    queue = filled()
    change(queue)
    assert order(queue) == expected
    assert len(queue) == len(expected)
    assert [name in queue for name in (b"a", b"x")] == ["a" in expected, "x" in expected]


def test_preferences_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed_queue, "PREFERRED_MAX", 2)
    queue = filled()
    queue.prefer([b"x", b"y", b"c"])
    assert order(queue) == "xyabc"
    queue.prefer([b"c"])
    assert order(queue) == "cxaby"
