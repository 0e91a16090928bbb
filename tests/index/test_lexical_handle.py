"""Readers see the lexical index as committed last, also after it was built anew."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.daemon.index.lexical_files import FOLDER, LexicalDamaged
from foveal.daemon.index.lexical_handle import LexicalHandle
from foveal.daemon.index.lexical_indexer import LexicalDocument, LexicalWriter


def write(writer: LexicalWriter, file_id: int, *terms: str) -> None:
    writer.replace(file_id, [LexicalDocument(file_id, "code", terms, ("a",), ())])
    writer.commit()


def count(handle: LexicalHandle, term: str) -> int:
    return len(handle.current().search({term: 1.0}, 10))


def test_without_an_index_it_says_so_until_there_is_one(tmp_path: Path) -> None:
    handle = LexicalHandle(str(tmp_path))
    for _ in range(2):
        with pytest.raises(LexicalDamaged):
            handle.current()
    LexicalWriter.create(str(tmp_path / FOLDER)).close()
    assert count(handle, "alpha") == 0


def test_each_commit_is_seen(tmp_path: Path) -> None:
    writer = LexicalWriter.create(str(tmp_path / FOLDER))
    handle = LexicalHandle(str(tmp_path))
    for n in range(3):
        assert count(handle, "alpha") == n
        write(writer, n, "alpha")
    earlier = handle.current()
    writer.remove([0])
    writer.commit()
    assert count(handle, "alpha") == 2
    assert handle.current() is earlier
    writer.close()


def test_a_damaged_index_is_refused_until_it_is_built_anew(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    writer = LexicalWriter.create(str(folder))
    write(writer, 1, "alpha")
    writer.close()
    handle = LexicalHandle(str(tmp_path))
    assert count(handle, "alpha") == 1
    (folder / "meta.json").write_text("{}")
    for _ in range(2):
        with pytest.raises(LexicalDamaged):
            handle.current()
    LexicalWriter.create(str(folder)).close()
    assert count(handle, "alpha") == 0
