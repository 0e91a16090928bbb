"""A state folder is served by one daemon at a time and never touched by a program that is too old for it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from foveal.daemon.app.server import MIGRATIONS
from foveal.daemon.core.errors import StateError
from foveal.daemon.core.state_folder import (
    STATE_VERSION,
    VERSION_FILE,
    StateLock,
    StateMark,
    bring_up,
    check_version,
)
from foveal.daemon.core.system import System


def test_second_lock_names_the_holder(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    lock = StateLock.take(path)
    with pytest.raises(StateError, match=rf"pid {os.getpid()}\).*foveal down"):
        StateLock.take(path)
    lock.release()
    StateLock.take(path).release()
    assert Path(path).read_bytes() == b""


def test_a_lock_that_can_not_be_opened_is_an_error_for_a_person(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="can't be opened"):
        StateLock.take(str(tmp_path / "missing/lock"))


def test_wrong_kind_of_file_in_place_of_the_lock_is_quarantined(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("precious")
    path = tmp_path / "lock"
    makes: tuple[Callable[[], object], ...] = (
        lambda: path.symlink_to("elsewhere"),
        path.mkdir,
        lambda: path.symlink_to("lock"),
        lambda: os.mkfifo(path),
    )
    for number, make in enumerate(makes, 1):
        make()
        StateLock.take(str(path)).release()
        assert path.is_file()
        assert not path.is_symlink()
        path.unlink()
        assert len(list(tmp_path.glob("lock.damaged-*"))) == number
    assert (tmp_path / "elsewhere").read_text() == "precious"


# Version


def version_file(folder: Path) -> Path:
    return folder / VERSION_FILE


def bring(folder: Path) -> tuple[str, ...]:
    return bring_up(str(folder), System(), STATE_VERSION, MIGRATIONS)


@pytest.mark.parametrize("more", [{}, {"more": True}])
def test_a_folder_of_a_newer_program_is_left_untouched(tmp_path: Path, more: dict[str, bool]) -> None:
    newer = json.dumps({"state_version": STATE_VERSION + 1, **more})
    version_file(tmp_path).write_text(newer)
    with pytest.raises(StateError, match="newer foveal"):
        bring(tmp_path)
    assert version_file(tmp_path).read_text() == newer
    assert [path.name for path in tmp_path.iterdir()] == [VERSION_FILE]


@pytest.mark.parametrize(
    "mark", ["", "{", "[]", "{}", "null", '{"state_version": null}', '{"state_version": 1e999}', "\xff",
             '{"state_version": 0}']
)  # fmt: skip
def test_damaged_mark_is_quarantined_and_reported(tmp_path: Path, mark: str) -> None:
    version_file(tmp_path).write_bytes(mark.encode("latin-1"))
    (done,) = bring(tmp_path)
    (aside,) = tmp_path.glob("version.json.damaged-*")
    assert "damaged" in done
    assert aside.name in done
    assert aside.read_bytes() == mark.encode("latin-1")
    assert check_version(str(tmp_path), System()) == StateMark(STATE_VERSION)
