"""Only regular files of the user are read, whatever a path names, and in pieces of bounded size."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from foveal.daemon.core.errors import InvalidRequest
from foveal.daemon.transcripts.transcript_file import MAX_FILE_BYTES
from foveal.daemon.transcripts.transcripts import read

from tests.transcript_cases import Claude, write


def refusal(path: str) -> str:
    """Return why a path isn't read."""
    with pytest.raises(InvalidRequest) as caught, read(path):
        pass
    assert caught.value.field == "transcript_path"
    return str(caught.value)


def test_invalid_transcript_paths_are_refused(tmp_path: Path) -> None:
    def check(path: Path | str, *words: str) -> None:
        message = refusal(str(path))
        assert all(word in message for word in words), message

    pipe, folder, empty, prose = (tmp_path / name for name in ("pipe", "folder", "empty", "prose"))
    os.mkfifo(pipe)
    folder.mkdir()
    empty.touch()
    prose.write_text("Dear diary,\ntoday I decided nothing.\n")
    check(tmp_path / "missing", "can't be read", "No such file")
    check("t.jsonl", "no absolute path")
    check("", "no absolute path")
    check(f"{tmp_path}/a\0b", "no absolute path")
    check(f"{tmp_path}/a\ud800b", "a character that no path has")
    check(f"{prose}/x", "can't be read")
    check(tmp_path / ("x" * 300), "can't be read")
    check(folder, "is a folder")
    check(pipe, "not a regular file")
    check("/dev/null", "not a regular file")
    check("/dev/zero", "not a regular file")
    check(empty, "is empty")
    check(prose, "no transcript", "docs/transcripts.md")
    for name, target in (("to-pipe", pipe), ("to-device", Path("/dev/zero")), ("to-folder", folder)):
        (tmp_path / name).symlink_to(target)
        check(tmp_path / name, "folder" if target is folder else "not a regular file")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    check(tmp_path / "loop", "can't be read")


def test_foreign_or_endless_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.jsonl"
    with path.open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    assert "more than" in refusal(str(path))
    write(path, [Claude().user("x")])
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert "belongs to the user" in refusal(str(path))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    write(path, [Claude().user("x")])
    path.chmod(0)
    assert "Permission denied" in refusal(str(path))
