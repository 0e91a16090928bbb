"""The lexical index follows the store: nothing is lost by a crash, and what can't be written is tried again."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from foveal.daemon.index import lexical_indexer as indexer_file
from foveal.daemon.index.chunk_table import ChunkText
from foveal.daemon.index.chunks import Chunk
from foveal.daemon.index.lexical_files import FOLDER, read_listing
from foveal.daemon.index.lexical_indexer import (
    APART_S,
    COMMIT_S,
    IDLE_S,
    LexicalIndexer,
)
from foveal.daemon.index.lexical_reader import LexicalReader
from foveal.daemon.index.store import FILE_NAME, Store

from tests.search_cases import Clock, chunk, put, remove, until

LONG_S = 60.0


class Bench:
    """A store with its lexical index. `crash` leaves both as a killed process does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = Clock()
        self.open()

    def open(self) -> None:
        self.store = Store(str(self.folder), self.clock)
        self.lexical_indexer = LexicalIndexer(str(self.folder), self.store, self.clock)

    def close(self) -> None:
        self.lexical_indexer.close()
        self.store.close()

    def crash(self) -> None:
        self.close()  # a writer that is let go commits nothing
        self.open()

    def fill(self, **chunks: Sequence[Chunk]) -> None:
        """Put chunks into files of these names, if any, and step until everything is written."""
        for name, several in chunks.items():
            put(self.store, f"{name}.py", several)
        while self.lexical_indexer.step(LONG_S):
            pass

    def found(self, term: str) -> list[str]:
        """Return the paths in which a term is found, in order."""
        hits = LexicalReader(str(self.folder / FOLDER)).search({term: 1.0}, 100)
        paths = {record: path for path, record in self._ids().items()}
        return sorted(paths.get(hit.file_id, "gone") for hit in hits)

    def documents(self) -> int:
        return LexicalReader(str(self.folder / FOLDER)).documents

    def _ids(self) -> dict[str, int]:
        return {path: self.store.chunks.id_of(path) or 0 for path in self.store.load_files()}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    one = Bench(tmp_path)
    yield one
    one.close()


def test_lexical_index_follows_added_and_removed_files(bench: Bench) -> None:
    bench.fill(a=[chunk("alpha", "one"), chunk("beta", "two")], b=[chunk("alpha gamma", "three")])
    assert (bench.found("alpha"), bench.found("beta")) == (["a.py", "b.py"], ["a.py"])
    put(bench.store, "a.py", [chunk("delta", "one")])
    remove(bench.store, "b.py")
    bench.fill()
    assert (bench.found("alpha"), bench.found("gamma"), bench.found("delta")) == ([], [], ["a.py"])
    assert bench.documents() == 1


def test_nothing_is_lost_by_a_crash_before_the_commit(bench: Bench) -> None:
    bench.fill(a=[chunk("alpha", "one")])
    put(bench.store, "b.py", [chunk("beta", "two")])
    remove(bench.store, "a.py")
    assert bench.lexical_indexer.step(LONG_S, more=True), "it waits for more before it commits"
    bench.crash()
    assert bench.documents() == 1
    bench.fill()
    assert (bench.found("alpha"), bench.found("beta")) == ([], ["b.py"])


def test_while_more_comes_commits_are_rare_but_come(bench: Bench) -> None:
    put(bench.store, "a.py", [chunk("alpha", "one")])
    assert bench.lexical_indexer.step(LONG_S, more=True)
    assert bench.documents() == 0
    for n in range(12):
        put(bench.store, f"f{n}.py", [chunk("alpha", "one")])
        bench.clock.skipped_s += COMMIT_S
        bench.lexical_indexer.step(LONG_S, more=True)
        assert bench.documents() == n + 2


def test_requested_files_are_written_first_and_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(5):
        put(bench.store, f"f{n}.py", [chunk(f"alpha w{n}", "one")])
    bench.lexical_indexer.write_now(["f3.py", "nowhere.py"])
    assert bench.found("alpha") == ["f3.py"]
    written = files_read(bench, monkeypatch)
    bench.fill()
    assert len(written) == 4, "a file that is written isn't written again"
    assert bench.documents() == 5


def files_read(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Note from now on the files whose chunks are read to be written."""
    read: list[int] = []
    of_file = bench.store.chunks.of_file

    def noted(file_id: int) -> list[ChunkText]:
        read.append(file_id)
        return of_file(file_id)

    monkeypatch.setattr(bench.store.chunks, "of_file", noted)
    return read


def test_saves_that_follow_one_another_are_committed_together(bench: Bench) -> None:
    def save(text: str) -> None:
        put(bench.store, "a.py", [chunk(text, "one")])
        assert not bench.lexical_indexer.saved(LONG_S), "nothing is left to do now"

    assert bench.lexical_indexer.patience() is None
    save("alpha")
    assert (bench.found("alpha"), bench.lexical_indexer.patience()) == (["a.py"], None)
    save("beta")
    save("gamma")
    assert (bench.found("alpha"), bench.found("gamma")) == (["a.py"], [])
    patience = bench.lexical_indexer.patience()
    assert patience is not None
    assert 0 <= patience <= APART_S
    bench.clock.skipped_s += APART_S
    assert bench.lexical_indexer.patience() == 0.0
    save("delta")
    assert (bench.found("alpha"), bench.found("delta"), bench.lexical_indexer.patience()) == (
        [],
        ["a.py"],
        None,
    )


def test_deferred_words_are_written_for_a_request_that_needs_them(bench: Bench) -> None:
    put(bench.store, "a.py", [chunk("alpha", "one")])
    bench.lexical_indexer.saved(LONG_S)
    for path in ("b.py", "c.py"):
        put(bench.store, path, [chunk("beta", "one")])
        bench.lexical_indexer.saved(LONG_S)
    bench.lexical_indexer.write_now(["b.py"])
    assert bench.found("beta") == ["b.py"]
    assert bench.lexical_indexer.patience() is not None
    assert not bench.lexical_indexer.step(LONG_S)
    assert (bench.found("beta"), bench.lexical_indexer.patience()) == (["b.py", "c.py"], None)


def test_an_idle_writer_is_let_go(bench: Bench) -> None:
    bench.fill(a=[chunk("alpha", "one")])
    bench.lexical_indexer.tidy()
    assert engine_threads() > 0, "it was just used"
    bench.clock.skipped_s += IDLE_S
    bench.lexical_indexer.tidy()
    until(lambda: engine_threads() == 0, "its threads have ended")
    bench.fill(b=[chunk("alpha", "one")])
    assert bench.found("alpha") == ["a.py", "b.py"]


def engine_threads() -> int:
    """Count the threads that the engine of the lexical index runs in this process."""
    count = 0
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # it ended meanwhile
            count += "tantivy" in (task / "comm").read_text() or "merge_thread" in (task / "comm").read_text()
    return count


def test_an_index_that_is_mostly_deleted_is_built_anew(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexer_file, "DELETED_MIN", 10)
    bench.fill(
        b=[chunk(f"beta {n}", f"b{n}") for n in range(40)],
        a=[chunk(f"alpha {n}", f"a{n}") for n in range(60)],
    )
    bench.fill(a=[chunk("alpha", "a")])
    assert deleted(bench) == 60
    bench.clock.skipped_s += IDLE_S
    bench.lexical_indexer.tidy()
    bench.fill()
    assert (deleted(bench), bench.documents()) == (0, 41)


def deleted(bench: Bench) -> int:
    return read_listing(str(bench.folder / FOLDER)).deleted


@pytest.mark.parametrize("harm", ["removed", "emptied", "cut", "flipped", "of_another_format"])
def test_a_damaged_index_is_built_anew_from_the_store(bench: Bench, harm: str) -> None:
    bench.fill(a=[chunk("alpha", "one")], gone=[chunk("alpha", "two")])
    remove(bench.store, "gone.py")
    bench.close()
    damage(bench.folder / FOLDER, harm)
    bench.open()
    bench.fill()
    assert bench.found("alpha") == ["a.py"]
    assert bench.lexical_indexer.problem == ""


def damage(folder: Path, harm: str) -> None:
    """Harm a lexical index on the disk: by files in place of the old ones, which the engine may be reading."""
    listing = folder / "meta.json"
    largest = max(
        folder.iterdir(), key=lambda path: (path.suffix in {".store", ".term", ".idx"}, path.stat().st_size)
    )
    match harm:
        case "removed":
            shutil.rmtree(folder)
        case "emptied":
            listing.write_bytes(b"")
        case "cut":
            put_in_place(largest, largest.read_bytes()[:-3])
        case "flipped":
            data = bytearray(largest.read_bytes())
            data[len(data) // 3] ^= 0xFF
            put_in_place(largest, data)
        case "of_another_format":
            listing.write_text(listing.read_text().replace("foveal-", "else-"))


def put_in_place(path: Path, data: bytes | bytearray) -> None:
    path.unlink()
    path.write_bytes(data)


@pytest.mark.parametrize("how", ["damaged", "deleted"])
def test_an_index_of_another_store_is_built_anew(bench: Bench, how: str) -> None:
    """Numbers of files and chunks begin anew with a store, and would mean others."""
    bench.fill(old=[chunk("alpha", "one")], older=[chunk("alpha", "two")])
    bench.close()
    database = bench.folder / FILE_NAME
    for suffix in ("-wal", "-shm"):
        Path(f"{database}{suffix}").unlink(missing_ok=True)
    database.write_bytes(b"garbage" * 1_000) if how == "damaged" else database.unlink()
    bench.open()
    bench.fill(new=[chunk("beta", "one")])
    assert (bench.found("alpha"), bench.found("beta"), bench.documents()) == ([], ["new.py"], 1)


def test_an_older_copy_of_the_index_is_built_anew(bench: Bench) -> None:
    bench.fill(a=[chunk("alpha", "one")])
    bench.close()
    shutil.copytree(bench.folder / FOLDER, bench.folder / "older")
    bench.open()
    bench.fill(b=[chunk("beta", "two")])
    bench.close()
    shutil.rmtree(bench.folder / FOLDER)
    (bench.folder / "older").rename(bench.folder / FOLDER)
    bench.open()
    bench.fill()
    assert (bench.found("alpha"), bench.found("beta")) == (["a.py"], ["b.py"])


def test_a_reader_that_met_the_old_index_does_not_have_it_built_again(bench: Bench) -> None:
    bench.fill(a=[chunk("alpha", "one")])
    bench.lexical_indexer.repair()
    assert bench.documents() == 1, "it was just made, and is whole"
    damage(bench.folder / FOLDER, "flipped")
    bench.lexical_indexer.repair()
    bench.fill()
    assert bench.found("alpha") == ["a.py"]
    bench.clock.skipped_s += 10 * LONG_S
    bench.lexical_indexer.repair()
    assert bench.documents() == 0, "somebody could not read it, whatever the checksums say"
    bench.fill()
    assert bench.found("alpha") == ["a.py"]


def test_texts_that_are_damaged_are_read_again(bench: Bench) -> None:
    put(bench.store, "a.py", [chunk("alpha", "one")])
    put(bench.store, "b.py", [chunk("alpha", "two")])
    bench.store._db.execute("UPDATE texts SET chunks = x'00' WHERE file_id = 1")
    bench.fill()
    assert bench.found("alpha") == ["b.py"]
    assert bench.store.load_files()["a.py"].digest == b""
