"""What a file says is told in plain values, and a file that can't be read tells why."""

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path

import pytest
from foveal.daemon.core.system import System
from foveal.daemon.index.reading import FileReader, FileToRead

from tests.conftest import write_files

SOURCE = b'import os\n\n\nclass Store:\n    """Keeps it."""\n\n    def load(self):\n        return os.sep\n'


@pytest.fixture
def reader(tmp_path: Path) -> FileReader:
    write_files(
        tmp_path, {"a.py": SOURCE, "logo.bin": b"\0\1\2", "large.txt": b"x" * 2_001, "tool": "#!/bin/sh\n"}
    )
    return FileReader(str(tmp_path), 2_000, System())


def test_reading_gives_the_stored_contents(reader: FileReader) -> None:
    read = reader.read(FileToRead("a.py", "python"))
    assert read.look.digest == hashlib.blake2b(SOURCE, digest_size=16).digest()
    contents = read.contents
    assert contents is not None
    assert [(name, kind) for name, kind, *_ in contents.symbols] == [
        ("Store", "class"),
        ("Store.load", "method"),
    ]
    assert contents.imports == (("os", "", 1, True),)
    assert contents.facts is not None
    assert len(contents.text.rows) == 1
    assert pickle.loads(pickle.dumps(read)) == read


@pytest.mark.parametrize(
    ("name", "skipped"), [("logo.bin", "binary"), ("large.txt", "too_large"), ("gone.py", "gone")]
)
def test_files_that_are_not_indexed_have_a_reason(reader: FileReader, name: str, skipped: str) -> None:
    look, contents, problem = reader.read(FileToRead(name, ""))
    assert (look.skipped, look.digest, contents, problem) == (skipped, b"", None, "")
    assert (look.stamp is None) == (skipped == "gone")


def test_a_language_is_known_by_the_first_line_too(reader: FileReader) -> None:
    assert reader.read(FileToRead("tool", "")).look.language == "bash"
