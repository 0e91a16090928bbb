"""A state folder is served by one daemon at a time and never touched by a program that is too old for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from foveal.daemon.errors import StateError
from foveal.daemon.state import STATE_VERSION, VERSION_FILE, StateLock, check_version
from foveal.daemon.system import System


def test_the_second_to_take_the_lock_is_told_who_holds_it(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    lock = StateLock.take(path)
    with pytest.raises(StateError, match=rf"pid {os.getpid()}\).*foveal down"):
        StateLock.take(path)
    lock.release()
    StateLock.take(path).release()
    assert Path(path).read_bytes() == b""


def test_the_lock_ends_with_the_process_that_held_it(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    program = (
        "import sys; from foveal.daemon.state import StateLock; lock = StateLock.take(sys.argv[1]);"
        "print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", program, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(StateError, match=rf"pid {holder.pid}\)"):
            StateLock.take(path)
        holder.kill()
    lock = StateLock.take(path)
    assert Path(path).read_text() == f"{os.getpid()}\n"
    lock.release()


def test_the_lock_is_private_and_not_inherited(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        lock = StateLock.take(str(tmp_path / "lock"))
    finally:
        os.umask(before)
    assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o600
    assert not os.get_inheritable(lock.descriptor)
    lock.release()


def test_a_lock_that_can_not_be_opened_is_an_error_for_a_person(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("precious")
    (tmp_path / "link").symlink_to("elsewhere")
    (tmp_path / "folder").mkdir()
    for name in ("link", "folder", "missing/lock"):
        with pytest.raises(StateError, match="can't be opened"):
            StateLock.take(str(tmp_path / name))
    assert (tmp_path / "elsewhere").read_text() == "precious"


# Version


def version_file(folder: Path) -> Path:
    return folder / VERSION_FILE


def test_a_new_folder_is_marked_and_known_again(tmp_path: Path) -> None:
    for _ in range(2):
        check_version(str(tmp_path), System())
    assert json.loads(version_file(tmp_path).read_text()) == {"state_version": STATE_VERSION}


def test_a_folder_of_a_newer_program_is_left_untouched(tmp_path: Path) -> None:
    newer = json.dumps({"state_version": STATE_VERSION + 1, "more": True})
    version_file(tmp_path).write_text(newer)
    with pytest.raises(StateError, match="newer foveal"):
        check_version(str(tmp_path), System())
    assert version_file(tmp_path).read_text() == newer
    assert [path.name for path in tmp_path.iterdir()] == [VERSION_FILE]


@pytest.mark.parametrize(
    "mark", ["", "{", "[]", "{}", "null", '{"state_version": null}', '{"state_version": 1e999}', "\xff"]
)
def test_a_mark_that_can_not_be_read_says_what_to_put_there(tmp_path: Path, mark: str) -> None:
    version_file(tmp_path).write_bytes(mark.encode("latin-1"))
    with pytest.raises(StateError, match=r'should hold \{"state_version": \d+\}'):
        check_version(str(tmp_path), System())
