"""What is of another kind than must lie at a place is renamed, and never removed; the right kind stays."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from foveal.daemon.core.quarantine import (
    NAMED_MAX,
    QuarantineLog,
    clear_file,
    clear_folder,
    clear_own_file,
    clear_socket,
    quarantine,
)
from foveal.daemon.core.system import System

Clear = Callable[[str, System], str]
Make = Callable[[Path], object]


def a_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


def a_file(path: Path) -> None:
    path.write_text("precious")
    path.chmod(0o600)


def a_link(path: Path) -> None:
    (path.parent / "target").write_text("precious")
    path.symlink_to("target")


def a_loop(path: Path) -> None:
    path.symlink_to(path.name)


KINDS: dict[str, Make] = {
    "file": a_file, "folder": Path.mkdir, "pipe": os.mkfifo, "loop": a_loop, "link": a_link, "socket": a_socket,
}  # fmt: skip


@pytest.mark.parametrize(
    ("clear", "right"),
    [
        (clear_file, {"file", "link"}),
        (clear_own_file, {"file"}),
        (clear_folder, {"folder"}),
        (clear_socket, {"socket"}),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_only_wrong_kinds_of_files_are_quarantined(
    tmp_path: Path, clear: Clear, right: set[str], kind: str
) -> None:
    path = tmp_path / "x"
    KINDS[kind](path)
    before = os.lstat(path)
    done = clear(str(path), System())
    if kind in right:
        assert done == ""
        assert os.lstat(path).st_ino == before.st_ino
        return
    (aside,) = tmp_path.glob("x.damaged-*")
    assert aside.name in done
    assert os.lstat(aside).st_ino == before.st_ino
    assert not os.path.lexists(path)
    assert clear(str(path), System()) == ""
    assert not (tmp_path / "target").exists() or (tmp_path / "target").read_text() == "precious"


def test_wrong_mode_of_a_file_is_repaired(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("precious")
    path.chmod(0)
    assert "mode was mended" in clear_file(str(path), System())
    assert path.stat().st_mode & 0o777 == 0o600
    (tmp_path / "folder").mkdir(mode=0o400)
    assert "mode was mended" in clear_folder(str(tmp_path / "folder"), System())
    assert (tmp_path / "folder").stat().st_mode & 0o700 == 0o700


def test_files_quarantined_since_the_start_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "projects/shop-1"
    folder.mkdir(parents=True)
    (folder / "old").write_text("damaged before")
    quarantine(str(folder / "old"), System())
    listed = QuarantineLog(str(tmp_path), System())
    assert listed.problem() == ""
    (folder / "index.sqlite").write_text("damaged")
    kept = quarantine(str(folder / "index.sqlite"), System())
    assert f"projects/shop-1/{kept}" in listed.problem()
    assert "old" not in listed.problem()
    (folder / kept).unlink()
    assert listed.problem() == ""


def test_many_quarantined_files_are_counted(tmp_path: Path) -> None:
    listed = QuarantineLog(str(tmp_path), System())
    for number in range(NAMED_MAX + 2):
        (tmp_path / f"f{number}").write_text("damaged")
        quarantine(str(tmp_path / f"f{number}"), System())
    assert "and 2 more" in listed.problem()
