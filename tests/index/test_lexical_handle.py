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


def test_each_commit_is_seen_and_nothing_while_there_is_no_index_that_is_whole(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    handle = LexicalHandle(str(tmp_path))

    def check_refused() -> None:
        for _ in range(2):
            with pytest.raises(LexicalDamaged):
                handle.current()

    check_refused()
    writer = LexicalWriter.create(str(folder))
    for n in range(3):
        assert count(handle, "alpha") == n
        write(writer, n, "alpha")
    earlier = handle.current()
    writer.remove([0])
    writer.commit()
    assert count(handle, "alpha") == 2
    assert handle.current() is earlier
    writer.close()
    (folder / "meta.json").write_text("{}")
    check_refused()
    LexicalWriter.create(str(folder)).close()
    assert count(handle, "alpha") == 0
