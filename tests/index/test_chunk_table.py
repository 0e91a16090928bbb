"""Chunks come back as they were put, go with their file, and what changed is logged for the lexical index."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from foveal.daemon.core.system import Stamp
from foveal.daemon.index.chunk_table import COPIES_READ, ChunkPlace, TextsDamaged
from foveal.daemon.index.store import FILE_NAME, Reader, Store
from foveal.daemon.project.records import FileRecord

from tests.search_cases import chunk, digests, put, remove

CHUNKS = (
    chunk("def a(): ...", "a", 1),
    chunk("def b():\n    pass", "b", 3),
    chunk("x = 1", "", 6, kind="code"),
)


def id_of(store: Store, path: str) -> int:
    found = store.chunks.id_of(path)
    assert found is not None
    return found


def test_places_by_digests_reads_no_more_copies_than_wanted(store: Store, reader: Reader) -> None:
    for number in range(COPIES_READ + 2):
        put(store, f"{number:03}.py", CHUNKS[:1])
    digest = CHUNKS[0].digest
    found = reader.chunks.places_by_digests([digest], 2)
    assert [place.path for _, place in found] == ["000.py", "001.py"]
    inside = reader.chunks.file_ids(["004.py", "007.py", "009.py"]).values()
    found = reader.chunks.places_by_digests([digest], 2, set(inside))
    assert [place.path for _, place in found] == ["004.py", "007.py"]


def test_chunks_are_found_by_id_content_and_file(store: Store, reader: Reader) -> None:
    put(store, "a.py", CHUNKS)
    put(store, "copy.py", CHUNKS[:1])
    stored = reader.chunks.of_paths(["a.py", "nowhere.py"])
    assert [(one.path, one.symbol, one.kind, one.start_line, one.names) for one in stored] == [
        ("a.py", "a", "function", 1, ("a",)),
        ("a.py", "b", "function", 3, ("b",)),
        ("a.py", "", "code", 6, ()),
    ]
    assert reader.chunks.by_ids([stored[1].id, 999_999]) == {stored[1].id: stored[1]}
    assert [one.path for one in reader.chunks.by_digests([CHUNKS[0].digest, b"unknown"])] == [
        "a.py",
        "copy.py",
    ]
    places = {
        chunk.id: ChunkPlace(chunk.id, chunk.file_id, "a.py", "python", chunk.start_line, chunk.end_line)
        for chunk in stored
    }
    assert reader.chunks.places([*places, 999_999]) == places
    assert reader.chunks.places_in(["a.py", "nowhere.py"]) == list(places.values())
    digests = [CHUNKS[0].digest, CHUNKS[1].digest, b"unknown"]
    one_each = reader.chunks.places_by_digests(digests, 1)
    assert [(digest, place.path, place.start_line) for digest, place in one_each] == [
        (CHUNKS[0].digest, "a.py", 1),
        (CHUNKS[1].digest, "a.py", 3),
    ]
    inside = reader.chunks.file_ids(["copy.py"]).values()
    found = reader.chunks.places_by_digests([CHUNKS[0].digest], 1, set(inside))
    assert [place.path for _, place in found] == ["copy.py"]
    assert reader.chunks.alive([CHUNKS[1].digest, b"unknown"]) == {CHUNKS[1].digest}
    ids = reader.chunks.file_ids(["a.py", "copy.py", "nowhere.py"])
    assert set(ids) == {"a.py", "copy.py"}
    assert reader.chunks.paths(ids.values()) == {number: path for path, number in ids.items()}


def test_chunks_worth_embedding_come_in_pages(store: Store, reader: Reader) -> None:
    put(store, "a.py", [chunk(f"text {n}", f"f{n}", embed=n % 3 != 0) for n in range(30)])
    seen: list[bytes] = []
    after = 0
    while page := reader.chunks.to_embed(after, 7):
        assert len(page) <= 7
        seen.extend(digest for _, _, digest in page)
        after = page[-1][0]
    assert seen == [chunk(f"text {n}", f"f{n}").digest for n in range(30) if n % 3]


def test_ids_are_never_given_again(store: Store, reader: Reader) -> None:
    put(store, "a.py", CHUNKS)
    first = {one.id for one in reader.chunks.of_paths(["a.py"])}
    remove(store, "a.py")
    assert reader.chunks.size() == (0, max(first))
    put(store, "a.py", CHUNKS)
    assert min(one.id for one in reader.chunks.of_paths(["a.py"])) > max(first)
    assert reader.chunks.size() == (3, max(first) + 3)


def test_a_file_that_goes_or_is_skipped_or_has_no_chunks_leaves_nothing(store: Store, reader: Reader) -> None:
    put(store, "empty.py", [])
    assert (reader.chunks.count(), reader.chunks.size()) == (0, (0, 0))
    assert store.chunks.of_file(id_of(store, "empty.py")) == store.chunks.of_file(999) == []
    put(store, "a.py", CHUNKS)
    put(store, "b.py", CHUNKS)
    remove(store, "a.py")
    with store.transaction():
        store.put_records([FileRecord("b.py", Stamp(1, 2, 3, 4), skipped="binary")])
    assert reader.chunks.count() == 0
    assert reader.chunks.alive(digests(CHUNKS)) == set()


def changed(store: Store) -> list[int]:
    return [file_id for _, file_id in store.chunks.unlexed(100)]


def test_each_change_is_logged_once_until_it_is_taken(store: Store) -> None:
    put(store, "a.py", CHUNKS)
    put(store, "b.py", CHUNKS)
    a, b = id_of(store, "a.py"), id_of(store, "b.py")
    assert changed(store) == [a, b]
    put(store, "a.py", CHUNKS[:1])
    (_, second, _) = store.chunks.unlexed(100)
    assert store.chunks.unlexed(1, second[0]) == [(second[0] + 1, a)]
    store.chunks.set_lexed(second[0])
    assert changed(store) == [a]
    remove(store, "b.py")
    assert changed(store) == [a, b]
    store.chunks.set_files_lexed([a])
    assert changed(store) == [b]
    store.chunks.unlex_all()
    store.chunks.unlex_all()
    assert changed(store) == [a], "what is gone need not be taken out of an empty index"


@pytest.mark.parametrize(
    "damage",
    ["UPDATE texts SET chunks = x'00'", "UPDATE texts SET chunks = substr(chunks, 1, 9)", "DELETE FROM texts",
     "DELETE FROM chunks WHERE start_line = 3"],
)  # fmt: skip
def test_texts_that_do_not_fit_their_chunks_are_never_given(
    tmp_path: Path, store: Store, reader: Reader, damage: str
) -> None:
    put(store, "a.py", CHUNKS)
    put(store, "b.py", [chunk("unharmed", "u")])
    with closing(sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)) as database:
        database.execute(f"{damage} {'AND' if 'WHERE' in damage else 'WHERE'} file_id = 1")
    ids = [one.id for one in reader.chunks.of_paths(["a.py", "b.py"])]
    assert [one.text for one in reader.chunks.texts(ids).values()] == ["unharmed"]
    with pytest.raises(TextsDamaged):
        store.chunks.of_file(1)
    store.chunks.forget_content(1)
    assert store.load_files()["a.py"].digest == b""
