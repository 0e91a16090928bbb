"""Chunks are found by their terms, best first and in a stable order, among those that are asked for."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import pytest
from foveal.daemon.index import lexical_reader
from foveal.daemon.index.lexical_files import LexicalDamaged
from foveal.daemon.index.lexical_indexer import LexicalDocument, LexicalWriter
from foveal.daemon.index.lexical_reader import LexicalReader
from foveal.daemon.index.terms import document_terms, path_terms, query_terms

SESSION = "src/auth/session.py"


def document(
    chunk_id: int, body: str, path: str = "", symbols: str = "", kind: str = "code"
) -> LexicalDocument:
    return LexicalDocument(
        chunk_id, kind, document_terms(body), path_terms(path), list(dict.fromkeys(document_terms(symbols)))
    )


def index(folder: Path, files: Mapping[int, Iterable[LexicalDocument]]) -> LexicalWriter:
    writer = LexicalWriter.create(str(folder))
    for file_id, documents in files.items():
        writer.replace(file_id, documents)
    writer.commit()
    return writer


def ask(
    reader: LexicalReader,
    text: str,
    limit: int = 100,
    files: Collection[int] | None = None,
    kinds: Collection[str] | None = None,
) -> list[int]:
    hits = reader.search(query_terms(text).weights, limit, files=files, kinds=kinds)
    return [hit.chunk_id for hit in hits]


@pytest.fixture
def library(tmp_path: Path) -> LexicalReader:
    index(
        tmp_path,
        {
            1: [
                document(10, "def login(user): check the password", SESSION, "Session.login", "function"),
                document(11, "def logout(user): forget", SESSION, "Session.logout", "function"),
            ],
            2: [document(20, "# Users log in with a password", "docs/login.md", "Login", "section")],
            3: [document(30, "def parse_url(text): split at a colon", "src/url.py", "parse_url", "function")],
        },
    )  # fmt: skip
    return LexicalReader(str(tmp_path))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("where is the password checked", [10, 20]),
        ("parseUrl", [30]),
        ("parsing URLs", [30]),
        ("session", [10, 11]),
        ("nothing of the kind", []),
        ("what is this", []),
        ("", []),
    ],
)
def test_chunks_are_found_by_their_text_their_path_and_their_symbols(
    library: LexicalReader, text: str, expected: list[int]
) -> None:
    assert ask(library, text) == expected


# Limits and filters


@pytest.mark.parametrize(
    ("limit", "expected"),
    [(-1, []), (0, []), (1, [20]), (2, [20, 10]), (3, [20, 10, 11]), (10**9, [20, 10, 11])],
)
def test_the_limit_may_be_anything(library: LexicalReader, limit: int, expected: list[int]) -> None:
    assert ask(library, "user password", limit) == expected


@pytest.mark.parametrize("largest_clause", [0, 10_000])
def test_files_and_kinds_keep_to_themselves(
    library: LexicalReader, monkeypatch: pytest.MonkeyPatch, largest_clause: int
) -> None:
    monkeypatch.setattr(lexical_reader, "MAX_FILE_CLAUSE", largest_clause)
    assert ask(library, "user password", files=[1]) == [10, 11]
    assert ask(library, "user password", files={2, 3, 999}) == [20]
    assert ask(library, "user password", files=[3]) == []
    assert ask(library, "user password", kinds=["section"]) == [20]
    assert ask(library, "user password", kinds=["function"], files=(2, 1)) == [10, 11]
    assert ask(library, "user password", kinds=["section"], files=[1]) == []
    assert ask(library, "user password", files=[]) == []
    assert ask(library, "user password", kinds=set()) == []


def test_filters_do_not_change_scores(library: LexicalReader) -> None:
    terms = query_terms("user password").weights
    everywhere = {hit.chunk_id: hit.score for hit in library.search(terms, 9)}
    filtered = list(library.search(terms, 9, files=[1], kinds=["function"]))
    assert len(filtered) == 2
    for hit in filtered:
        assert hit.score == everywhere[hit.chunk_id]


@pytest.mark.parametrize("largest_clause", [0, 10_000])
def test_a_filter_reaches_far_below_the_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, largest_clause: int
) -> None:
    monkeypatch.setattr(lexical_reader, "MAX_FILE_CLAUSE", largest_clause)
    better = {file_id: [document(file_id, "needle")] for file_id in range(500)}
    worse = {900 + file_id: [document(900 + file_id, "needle in much hay")] for file_id in range(3)}
    index(tmp_path, better | worse)
    assert ask(LexicalReader(str(tmp_path)), "needle", 2, files=frozenset(worse)) == [900, 901]


# Order


# Questions of any length


# Freshness


# Damage


def test_any_damaged_file_of_a_segment_is_noticed_before_it_answers(tmp_path: Path) -> None:
    writer = index(tmp_path, {n: [document(n, f"alpha beta{n}", f"src/{n}.py", "name")] for n in range(50)})
    writer.remove([3])
    writer.commit()
    writer.close()
    files = [path for path in tmp_path.iterdir() if path.suffix in _SEGMENT_FILES]
    assert {path.suffix for path in files} == _SEGMENT_FILES
    for path in files:
        data = path.read_bytes()
        flipped = bytes([data[0] ^ 1]) + data[1:]
        for damaged in (flipped, data[: len(data) // 2], data[:-1], data[:3], b"", data + b"more", None):
            path.unlink()
            if damaged is not None:
                path.write_bytes(damaged)
            with pytest.raises(LexicalDamaged):
                ask(LexicalReader(str(tmp_path)), "alpha")
            path.unlink(missing_ok=True)
            path.write_bytes(data)
    assert LexicalReader(str(tmp_path)).documents == 49


_SEGMENT_FILES = {".term", ".idx", ".pos", ".fieldnorm", ".fast", ".store", ".del"}


def overwrite(path: Path, start: bytes) -> None:
    """Change the first bytes of a file that the engine may have mapped: it is never shorter, not for a
    moment."""
    with path.open("r+b") as file:
        file.write(start)


def test_damage_is_noticed_on_refresh_and_the_state_before_goes_on_answering(tmp_path: Path) -> None:
    writer = index(tmp_path, {1: [document(10, "alpha")]})
    reader = LexicalReader(str(tmp_path))
    before = set(tmp_path.iterdir())
    writer.replace(2, [document(20, "alpha")])
    writer.commit()
    (new,) = [path for path in tmp_path.iterdir() if path not in before and path.suffix == ".idx"]
    data = new.read_bytes()
    overwrite(new, b"x")
    for _ in range(2):
        with pytest.raises(LexicalDamaged):
            reader.refresh()
        assert ask(reader, "alpha") == [10]
    overwrite(new, data[:1])
    assert reader.refresh() is True
    assert ask(reader, "alpha") == [10, 20]


@pytest.mark.parametrize("suffix", [".idx", ".term", ".fast", ".fieldnorm"])
def test_a_file_that_is_cut_off_while_it_is_mapped_is_noticed_before_it_is_read(
    tmp_path: Path, suffix: str
) -> None:
    """One byte stays, and with it the page: the engine loads an index once more in a thread of its own just
    after it is opened, and a page that is gone would end this process."""
    writer = index(tmp_path, {1: [document(10, "alpha")]})
    reader = LexicalReader(str(tmp_path))
    assert ask(reader, "alpha") == [10]
    (cut,) = [path for path in tmp_path.iterdir() if path.suffix == suffix]
    os.truncate(cut, 1)
    for _ in range(2):
        with pytest.raises(LexicalDamaged, match="long and is 1"):
            reader.refresh()
    with pytest.raises(LexicalDamaged):
        LexicalReader(str(tmp_path))
    writer.close()


def test_holding_tells_which_hits_have_enough_of_a_text(
    library: LexicalReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    hits = library.search(query_terms("password user url").weights, 10)
    weights = {"password": 8.0, "user": 4.0, "check": 5.0}
    for fetched in (1, 100):
        monkeypatch.setattr(lexical_reader, "HOLDING_FETCHED", fetched)
        assert library.holding(hits, weights, 17.0) == {10}
        assert library.holding(hits, weights, 12.0) == {10, 20}
        assert library.holding(hits, weights, 1.0) == {10, 11, 20}
    assert library.holding(hits, weights, 17.1) == frozenset()
    assert library.holding(hits, {}, 0.0) == {hit.chunk_id for hit in hits}
    assert library.holding(hits, {}, 1.0) == library.holding([], weights, 1.0) == frozenset()
