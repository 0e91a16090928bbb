"""What was committed is durable and what wasn't is gone, if a process is killed or the disk is full."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from foveal.daemon.index.lexical_files import LexicalDamaged, LexicalUnwritable, read_listing
from foveal.daemon.index.lexical_indexer import LexicalDocument, LexicalWriter
from foveal.daemon.index.lexical_reader import LexicalReader

LARGEST = 2**64 - 1


def document(chunk_id: int, *body: str) -> LexicalDocument:
    return LexicalDocument(chunk_id, "function", body, ["src"], ["name"])


def found(folder: Path, term: str) -> list[int]:
    return sorted(hit.chunk_id for hit in LexicalReader(str(folder)).search({term: 1.0}, 100))


def run_python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=60, check=False
    )


def test_files_are_found_once_they_are_committed(tmp_path: Path) -> None:
    writer = LexicalWriter.create(str(tmp_path))
    writer.replace(1, [document(10, "alpha"), document(11, "beta")])
    writer.replace(2, [document(20, "alpha")])
    assert found(tmp_path, "alpha") == []
    writer.commit()
    assert found(tmp_path, "alpha") == [10, 20]


def test_a_replaced_file_leaves_no_former_terms(tmp_path: Path) -> None:
    writer = LexicalWriter.create(str(tmp_path))
    writer.replace(1, [document(10, "alpha"), document(11, "alpha")])
    writer.commit()
    writer.replace(1, [document(12, "beta")])
    writer.replace(1, [document(13, "beta")])
    writer.commit()
    assert (found(tmp_path, "alpha"), found(tmp_path, "beta")) == ([], [13])


def test_removed_files_are_gone_and_unknown_ones_do_not_matter(tmp_path: Path) -> None:
    writer = LexicalWriter.create(str(tmp_path))
    for file_id in (1, 11, 111, LARGEST):
        writer.replace(file_id, [document(file_id, "alpha")])
    writer.commit()
    writer.remove([11, LARGEST, 12345])
    writer.commit()
    assert found(tmp_path, "alpha") == [1, 111]
    assert read_listing(str(tmp_path)).documents == 2


def test_ids_have_64_bits(tmp_path: Path) -> None:
    writer = LexicalWriter.create(str(tmp_path))
    writer.replace(LARGEST, [document(LARGEST, "alpha")])
    writer.commit()
    (hit,) = LexicalReader(str(tmp_path)).search({"alpha": 1.0}, 1)
    assert (hit.chunk_id, hit.file_id) == (LARGEST, LARGEST)


def test_a_file_with_a_chunk_that_cannot_be_indexed_stays_as_it_was(tmp_path: Path) -> None:
    writer = LexicalWriter.create(str(tmp_path))
    writer.replace(1, [document(10, "alpha")])
    with pytest.raises(OverflowError):
        writer.replace(1, [document(11, "alpha"), document(-1, "alpha")])
    writer.commit()
    assert found(tmp_path, "alpha") == [10]


def test_a_file_may_have_no_chunks_and_a_chunk_no_terms(tmp_path: Path) -> None:
    writer = LexicalWriter.create(str(tmp_path))
    writer.replace(1, [document(10, "alpha")])
    writer.replace(1, [])
    writer.replace(2, [LexicalDocument(20, "", [], [], [])])
    writer.commit()
    assert found(tmp_path, "alpha") == []
    assert read_listing(str(tmp_path)).documents == 1


def test_an_index_is_opened_again_and_goes_on(tmp_path: Path) -> None:
    first = LexicalWriter.create(str(tmp_path))
    first.replace(1, [document(10, "alpha")])
    first.commit()
    first.replace(2, [document(20, "alpha")])
    first.close()
    second = LexicalWriter(str(tmp_path))
    second.replace(3, [document(30, "alpha")])
    second.commit()
    assert found(tmp_path, "alpha") == [10, 30]


def test_creating_an_index_replaces_the_former(tmp_path: Path) -> None:
    first = LexicalWriter.create(str(tmp_path / "lexical"))
    first.replace(1, [document(10, "alpha")])
    first.commit()
    first.close()
    LexicalWriter.create(str(tmp_path / "lexical")).close()
    assert found(tmp_path / "lexical", "alpha") == []
    assert os.stat(tmp_path / "lexical").st_mode & 0o777 == 0o700


def test_there_must_be_an_index_to_open(tmp_path: Path) -> None:
    with pytest.raises(LexicalDamaged):
        LexicalWriter(str(tmp_path / "missing"))
    with pytest.raises(LexicalDamaged):
        LexicalWriter(str(tmp_path))


def test_a_damaged_index_is_not_written_to(tmp_path: Path) -> None:
    writer = LexicalWriter.create(str(tmp_path))
    writer.replace(1, [document(10, "alpha")])
    writer.commit()
    writer.close()
    (segment,) = tmp_path.glob("*.term")
    data = bytearray(segment.read_bytes())
    data[0] ^= 1
    segment.unlink()  # the engine may still be reading it, and what is written is short for a moment
    segment.write_bytes(data)
    with pytest.raises(LexicalDamaged):
        LexicalWriter(str(tmp_path))


def test_a_folder_that_cannot_be_made_is_an_error_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OSError):
        LexicalWriter.create(str(tmp_path / "file" / "lexical"))


def test_only_one_writer_at_a_time(tmp_path: Path) -> None:
    first = LexicalWriter.create(str(tmp_path))
    with pytest.raises(LexicalUnwritable):
        LexicalWriter(str(tmp_path))
    first.close()
    LexicalWriter(str(tmp_path)).close()


def test_a_commit_without_changes_leaves_the_index_alone(tmp_path: Path) -> None:
    writer = LexicalWriter.create(str(tmp_path))
    writer.replace(1, [document(10, "alpha")])
    writer.commit()
    before = (tmp_path / "meta.json").stat()
    writer.remove([])
    writer.commit()
    assert (tmp_path / "meta.json").stat() == before


def test_statistics_count_the_living_and_the_dead(tmp_path: Path) -> None:
    writer = LexicalWriter.create(str(tmp_path))
    assert read_listing(str(tmp_path)).documents == 0
    for file_id in range(10):
        writer.replace(file_id, [document(file_id, "alpha")])
    writer.commit()
    writer.remove([0, 1, 2])
    writer.commit()
    found = read_listing(str(tmp_path))
    assert (found.documents, found.deleted, len(found.segments)) == (7, 3, 1)


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
    writer = LexicalWriter.create(str(tmp_path))
    writer.replace(1, [document(10, "alpha")])
    writer.commit()
    writer.close()
    killed = run_python(KILLED, str(tmp_path))
    assert (killed.returncode, killed.stderr) == (-9, "")
    assert found(tmp_path, "alpha") == [10, 20]
    writer = LexicalWriter(str(tmp_path))
    writer.replace(3, [document(30, "alpha")])
    writer.commit()
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
    writer = LexicalWriter.create(str(tmp_path))
    writer.replace(1, [document(10, "alpha")])
    writer.commit()
    writer.close()
    assert run_python(FULL, str(tmp_path)).stdout == "unwritable\n"
    assert found(tmp_path, "alpha") == [10]
    writer = LexicalWriter(str(tmp_path))
    writer.replace(2, [document(20, "alpha")])
    writer.commit()
    assert found(tmp_path, "alpha") == [10, 20]
