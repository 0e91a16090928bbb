"""What was committed is durable and what wasn't is gone, if a process is killed or the disk is full."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from foveal.daemon.index.lexical_files import FOLDER, LexicalDamaged
from foveal.daemon.index.lexical_handle import LexicalHandle
from foveal.daemon.index.lexical_indexer import LexicalDocument, LexicalWriter
from foveal.daemon.index.lexical_reader import LexicalReader


def document(chunk_id: int, *body: str) -> LexicalDocument:
    return LexicalDocument(chunk_id, "function", body, ["src"], ["name"])


def write(writer: LexicalWriter, file_id: int) -> None:
    """Write a file of one chunk, and close the writer."""
    writer.replace(file_id, [document(10 * file_id, "alpha")])
    writer.commit()
    writer.close()


def found(folder: Path, term: str) -> list[int]:
    return sorted(hit.chunk_id for hit in LexicalReader(str(folder)).search({term: 1.0}, 100))


def run_python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=60, check=False
    )


def test_a_file_with_a_chunk_that_cannot_be_indexed_stays_as_it_was(tmp_path: Path) -> None:
    writer = LexicalWriter.create(str(tmp_path))
    writer.replace(1, [document(10, "alpha")])
    with pytest.raises(OverflowError):
        writer.replace(1, [document(11, "alpha"), document(-1, "alpha")])
    writer.commit()
    assert found(tmp_path, "alpha") == [10]


KILLED = """
import os, signal, sys
from foveal.daemon.index.lexical_indexer import LexicalDocument, LexicalWriter
writer = LexicalWriter(sys.argv[1])
writer.replace(2, [LexicalDocument(20, "", ["alpha"], [], [])])
writer.commit()
writer.remove([1])
writer.replace(3, [LexicalDocument(30, "", ["alpha"], [], [])])
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_writer_loses_only_uncommitted_documents(tmp_path: Path) -> None:
    write(LexicalWriter.create(str(tmp_path)), 1)
    killed = run_python(KILLED, str(tmp_path))
    assert (killed.returncode, killed.stderr) == (-9, "")
    assert found(tmp_path, "alpha") == [10, 20]
    write(LexicalWriter(str(tmp_path)), 3)
    assert found(tmp_path, "alpha") == [10, 20, 30]


FULL = """
import resource, signal, sys
from foveal.daemon.index.lexical_files import LexicalUnwritable
from foveal.daemon.index.lexical_indexer import LexicalDocument, LexicalWriter
writer = LexicalWriter(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))  # writes beyond this fail, as on a full disk
try:
    for number in range(2, 5000):
        writer.replace(number, [LexicalDocument(number, "", ["alpha", f"beta{number}"], [], [])])
    writer.commit()
except LexicalUnwritable as error:
    print("unwritable")
"""


def test_a_full_disk_is_an_error_and_the_last_commit_stays(tmp_path: Path) -> None:
    write(LexicalWriter.create(str(tmp_path)), 1)
    assert run_python(FULL, str(tmp_path)).stdout == "unwritable\n"
    assert found(tmp_path, "alpha") == [10]
    write(LexicalWriter(str(tmp_path)), 2)
    assert found(tmp_path, "alpha") == [10, 20]


# Readers see the lexical index as committed last, also after it was built anew.


def add(writer: LexicalWriter, file_id: int, *terms: str) -> None:
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
        add(writer, n, "alpha")
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
