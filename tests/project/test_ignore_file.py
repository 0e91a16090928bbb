"""One line of `.fovealignore` is written or removed; every other byte of it stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.daemon.core.errors import InvalidRequest, StateError
from foveal.daemon.core.system import System
from foveal.daemon.project.ignore import NAME, IgnoreRules, parse_lines, set_excluded

from tests.conftest import write_files


@pytest.mark.parametrize(
    ("before", "path", "after"),
    [
        (b"", "a.py", b"/a.py\n"),
        (b"x", "a.py", b"x\n/a.py\n"),
        (b"x\r\n", "docs", b"x\r\n/docs/\r\n"),
        (b"# \xff\n\n", "docs/b.md", b"# \xff\n\n/docs/b.md\n"),
        (b"", "[a]*? \\.py", b"/\\[a\\]\\*\\? \\\\.py\n"),
        (b"", "blank ", b"/blank\\ \n"),
        (b"", "#a", b"/#a\n"),
    ],
)
def test_a_line_is_added_once_and_removed(tmp_path: Path, before: bytes, path: str, after: bytes) -> None:
    write_files(tmp_path, {"docs/b.md": "b\n", path: "x\n"} if path != "docs" else {"docs/b.md": "b\n"})
    file = tmp_path / NAME
    if before:
        file.write_bytes(before)
    root, system = str(tmp_path), System()
    assert set_excluded(root, path, system, excluded=True).changed
    assert file.read_bytes() == after
    rules, name = IgnoreRules(parse_lines(after)), path.rpartition("/")[2]
    assert rules.match(path, name, path == "docs")
    assert not rules.match(f"other/{path}", name, path == "docs")
    assert not set_excluded(root, path, system, excluded=True).changed
    assert set_excluded(root, path, system, excluded=False).changed
    assert file.read_bytes().rstrip() == before.rstrip()
    assert not set_excluded(root, path, system, excluded=False).changed


def test_lines_by_hand_that_name_the_path_alone_are_removed(tmp_path: Path) -> None:
    file = write_files(tmp_path, {"docs/b.md": "b\n", NAME: "docs\n/docs/\ndocs/*\n!docs\n"}) / NAME
    set_excluded(str(tmp_path), "docs", System(), excluded=False)
    assert file.read_text() == "docs\ndocs/*\n!docs\n", "a bare name holds in every folder"


def test_the_mode_of_the_file_stays(tmp_path: Path) -> None:
    file = write_files(tmp_path, {NAME: "x\n"}) / NAME
    file.chmod(0o664)
    set_excluded(str(tmp_path), "a.py", System(), excluded=True)
    assert file.stat().st_mode & 0o777 == 0o664


def test_what_can_not_be_a_line_is_refused(tmp_path: Path) -> None:
    for path in ("", "a\nb", "a\rb"):
        with pytest.raises(InvalidRequest):
            set_excluded(str(tmp_path), path, System(), excluded=True)
    (tmp_path / NAME).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StateError, match="not a regular file"):
        set_excluded(str(tmp_path), "a.py", System(), excluded=True)
