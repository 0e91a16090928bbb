"""Session files: a write is whole and durable or never was, damage is set aside, and foreign things stay as they are."""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from foveal.daemon.core.errors import NewerVersion, NotFound, StateError, TooLarge
from foveal.daemon.core.system import System
from foveal.daemon.rules.items import ItemKey
from foveal.daemon.sessions.session import IncludedItem, Session
from foveal.daemon.sessions.session_files import (
    MAX_META_BYTES,
    Damaged,
    OthersFolder,
    SessionFiles,
    SetAside,
    bytes_of,
    session_in,
)
from hypothesis import given
from hypothesis import strategies as st

ONE = Session("s1", "/project", "2025-01-01T00:00:00.000Z", name="one")
TWO = Session("s1", "/project", "2025-01-01T00:00:00.000Z", name="two", revision=1)


def meta(folder: Path, session_id: str = "s1") -> Path:
    return folder / "sessions" / session_id / "meta.json"


def files_in(folder: Path, system: System | None = None) -> SessionFiles:
    return SessionFiles(str(folder / "sessions"), system or System())


def stored(folder: Path, session: Session = ONE) -> SessionFiles:
    files = files_in(folder)
    files.make(session.id)
    files.write(session)
    return files


def names(folder: Path, session_id: str = "s1") -> list[str]:
    return sorted(os.listdir(folder / "sessions" / session_id))


# --- Keeping ---


def test_a_session_is_written_and_read(tmp_path: Path) -> None:
    files = files_in(tmp_path)
    assert files.names() == []
    assert files.stamp("s1") is None
    files.make("s1")
    stamp = files.write(ONE)
    assert files.read("s1") == (ONE, stamp)
    assert files.stamp("s1") == stamp
    assert files.write(TWO) != stamp
    assert files.read("s1")[0] == TWO
    assert files.names() == ["s1"]


def test_only_the_user_can_read_it(tmp_path: Path) -> None:
    stored(tmp_path)
    path = meta(tmp_path)
    modes = [stat.S_IMODE(one.stat().st_mode) for one in (path, path.parent, path.parent.parent)]
    assert modes == [0o600, 0o700, 0o700]


def test_a_session_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    nothing: Callable[[], object] = lambda: None  # noqa: E731 - beside the other
    for prepare in (nothing, lambda: files_in(tmp_path).make("s1")):
        prepare()
        with pytest.raises(NotFound, match=r"no session 's1'.*CreateSession"):
            files_in(tmp_path).read("s1")


def test_a_session_is_removed_with_all_that_lies_beside_it(tmp_path: Path) -> None:
    files = stored(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "keep").touch()
    (meta(tmp_path).parent / "requests").mkdir()
    (meta(tmp_path).parent / "requests" / "link").symlink_to(outside)
    (tmp_path / "sessions" / ".removed-1-s0").mkdir()  # a removal that was cut off
    files.remove("s1")
    assert os.listdir(tmp_path / "sessions") == []
    assert os.listdir(outside) == ["keep"]
    with pytest.raises(StateError, match="can't be removed"):
        files.remove("s1")


def test_a_session_that_would_be_too_large_is_not_written(tmp_path: Path) -> None:
    files = stored(tmp_path)
    with pytest.raises(TooLarge, match="16,777,216 bytes"):
        files.write(Session("s1", "/p", "x", extra={"a": "x" * MAX_META_BYTES}))
    assert files.read("s1")[0] == ONE


# --- Crashes and disks that fail ---

DYING = """
import os, signal, sys
from foveal.daemon.sessions.session_files import SessionFiles
from foveal.daemon.sessions.session_files import session_in
from foveal.daemon.core.system import System

class Dying(System):
    steps = int(sys.argv[2])

    def step(self):
        Dying.steps -= 1
        if Dying.steps < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def fsync(self, descriptor):
        super().fsync(descriptor)
        self.step()

system = Dying()
replace = os.replace
def replacing(*paths):
    system.step()
    replace(*paths)
    system.step()
os.replace = replacing
files = SessionFiles(sys.argv[1], system)
session = session_in(sys.stdin.buffer.read())
if files.stamp(session.id) is None:
    files.make(session.id)
files.write(session)
print("acknowledged", flush=True)
"""


def killed_after(folder: Path, steps: int, session: Session) -> bool:
    """Write a session in a process that is killed after so many steps; return whether it acknowledged."""
    done = subprocess.run(
        [sys.executable, "-c", DYING, str(folder / "sessions"), str(steps)],
        input=bytes_of(session), stdout=subprocess.PIPE, check=False,
    )  # fmt: skip
    assert done.returncode in {0, -signal.SIGKILL}
    assert (done.returncode == 0) == (done.stdout == b"acknowledged\n")
    return done.returncode == 0


def test_a_crash_at_any_step_of_a_change_leaves_the_old_or_the_new_session(tmp_path: Path) -> None:
    met = []
    for steps in range(5):
        files = stored(tmp_path, ONE)
        acknowledged = killed_after(tmp_path, steps, TWO)
        found, _ = files_in(tmp_path).read("s1")
        met.append((acknowledged, found.name))
        assert names(tmp_path) == ["meta.json"]  # what was half-written was removed
        files.remove("s1")
    # File on the disk, before the rename, after it, folder on the disk.
    assert met == [(False, "one"), (False, "one"), (False, "two"), (False, "two"), (True, "two")]


def test_a_crash_at_any_step_of_making_one_leaves_it_or_nothing(tmp_path: Path) -> None:
    met = []
    for steps in range(7):
        folder = tmp_path / str(steps)
        folder.mkdir()
        acknowledged = killed_after(folder, steps, ONE)
        files = files_in(folder)
        met.append((acknowledged, files.stamp("s1") is not None))
        files.make("s1")
        files.write(TWO)
        assert files.read("s1")[0] == TWO
        assert names(folder) == ["meta.json"]
    assert met == [(False, False)] * 4 + [(False, True)] * 2 + [(True, True)]


def test_a_disk_that_refuses_leaves_the_former_session(tmp_path: Path) -> None:
    class Full(System):
        def fsync(self, descriptor: int) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    stored(tmp_path)
    with pytest.raises(StateError, match=r"meta\.json can't be written: No space left"):
        files_in(tmp_path, Full()).write(TWO)
    assert files_in(tmp_path).read("s1")[0] == ONE
    assert names(tmp_path) == ["meta.json"]
    with pytest.raises(StateError, match="can't be made: No space left"):
        files_in(tmp_path, Full()).make("s2")


def test_the_folder_of_a_new_session_is_durable_before_it_is_acknowledged(tmp_path: Path) -> None:
    class Recording(System):
        def __init__(self) -> None:
            self.folders: list[str] = []

        def fsync_folder(self, path: str) -> None:
            self.folders.append(os.path.relpath(path, tmp_path))
            super().fsync_folder(path)

    system = Recording()
    files = files_in(tmp_path, system)
    files.make("s1")
    files.write(ONE)
    assert system.folders == ["sessions", ".", "sessions/s1"]
    files.make("s2")
    assert system.folders[3:] == ["sessions"]


# --- Damage and foreign things ---


def test_a_damaged_file_is_set_aside_whole_and_said(tmp_path: Path) -> None:
    for damage in (b"", b"\0" * 50, bytes_of(ONE)[:-20], b"x" * (MAX_META_BYTES + 1)):
        files = stored(tmp_path)
        meta(tmp_path).write_bytes(damage)
        with pytest.raises(
            SetAside, match=r"session s1 could not be used: its meta\.json .*kept as"
        ) as raised:
            files.read("s1")
        (aside,) = names(tmp_path)
        assert aside in str(raised.value)
        assert (meta(tmp_path).parent / aside).read_bytes() == damage
        assert files.stamp("s1") is None
        files.write(TWO)
        assert files.read("s1")[0] == TWO
        files.remove("s1")


def test_a_damaged_file_that_cannot_be_renamed_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(*_paths: str) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    files = stored(tmp_path)
    meta(tmp_path).write_bytes(b"{")
    monkeypatch.setattr(os, "replace", refusing)
    with pytest.raises(StateError, match=r"is not JSON .*can't be renamed: Read-only"):
        files.read("s1")


def test_a_file_of_a_newer_version_is_left_untouched(tmp_path: Path) -> None:
    files = stored(tmp_path)
    newer = b'{"version": 2, "id": "s1"}'
    meta(tmp_path).write_bytes(newer)
    with pytest.raises(StateError, match=r"newer foveal \(version 2.*update foveal"):
        files.read("s1")
    assert meta(tmp_path).read_bytes() == newer


def test_the_folder_of_another_session_is_told_from_damage(tmp_path: Path) -> None:
    files = stored(tmp_path)
    (tmp_path / "sessions" / "s1-copy").mkdir()
    meta(tmp_path, "s1-copy").write_bytes(bytes_of(ONE))
    with pytest.raises(OthersFolder, match="is of the session 's1'"):
        files.read("s1-copy")
    assert session_in(meta(tmp_path, "s1-copy").read_bytes()) == ONE


def test_what_is_not_a_sessions_folder_is_not_named(tmp_path: Path) -> None:
    files = stored(tmp_path)
    folder = tmp_path / "sessions"
    (folder / "README").touch()
    (folder / ".hidden").mkdir()
    (folder / "with space").mkdir()
    (folder / "link").symlink_to(meta(tmp_path).parent)
    (folder / os.fsdecode(b"\xff")).mkdir()
    assert files.names() == ["s1"]


def test_what_is_no_regular_file_is_set_aside(tmp_path: Path) -> None:
    files = stored(tmp_path)
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_bytes(bytes_of(ONE))
    path = meta(tmp_path)
    makes: tuple[Callable[[], object], ...] = (
        lambda: path.symlink_to(elsewhere),
        lambda: os.mkfifo(path),
        path.mkdir,
    )
    path.unlink()
    number = 0
    for make in makes:
        for look in (files.stamp, files.read):
            make()
            with pytest.raises(SetAside, match=r"not a regular file; it was kept as"):
                look("s1")
            number += 1
            assert not os.path.lexists(path)
            assert len(list(path.parent.glob("meta.json.damaged-*"))) == number
    assert elsewhere.read_bytes() == bytes_of(ONE)


def test_a_link_or_file_in_a_new_sessions_place_is_refused(tmp_path: Path) -> None:
    files = stored(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "sessions" / "s2").symlink_to(elsewhere)
    (tmp_path / "sessions" / "s3").touch()
    for session_id in ("s2", "s3"):
        with pytest.raises(StateError, match=r"is no folder\. Move it away"):
            files.make(session_id)
    assert os.listdir(elsewhere) == []


def test_a_folder_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    (tmp_path / "sessions").touch()
    with pytest.raises(StateError, match="can't be listed"):
        files_in(tmp_path).names()


FULL = Session(
    "s1", "/project", "2025-01-01T00:00:00.000Z", "name", "planner", "2025-01-02T00:00:00.000Z",
    "2025-01-03T00:00:00.000Z", "2025-01-04T00:00:00.000Z", "fix\nit", "A=1",
    {"files": ("/a", "/b"), "ports": ("80",)},
    (IncludedItem(ItemKey("rule", "A"), "always"), IncludedItem(ItemKey("tool", "t", "srv"), "manual")),
    (ItemKey("reference", "r"), ItemKey("tool", "u", "srv")),
    {"tools": {"top_n": 3}},
    7,
)  # fmt: skip
NEEDED = {"version": 1, "id": "s1", "project_root": "/p", "created": "2025-01-01T00:00:00.000Z"}


def test_the_file_can_be_mended_with_a_text_editor() -> None:
    lines = bytes_of(FULL).decode().splitlines()
    assert '  "current_intent": "fix\\nit",' in lines
    assert '    "files": ["/a", "/b"],' in lines
    assert '    {"type": "tool", "name": "t", "server_name": "srv", "include": "manual"}' in lines
    assert bytes_of(Session("s", "/naïve", "x")).decode().count("naïve") == 1


def test_unknown_fields_are_kept() -> None:
    data = json.dumps({**NEEDED, "mood": {"x": [1, "\ud800"]}, "colour": None}).encode()
    session = session_in(data)
    assert session.extra == {"mood": {"x": [1, "\ud800"]}, "colour": None}
    again = json.loads(bytes_of(session))
    assert again["mood"] == {"x": [1, "\ud800"]}
    assert again["colour"] is None
    data = bytes_of(session)
    assert session_in(data) == session
    assert bytes_of(session_in(data)) == data


def test_missing_fields_are_empty_and_empty_sets_are_left_out() -> None:
    session = session_in(json.dumps({**NEEDED, "context": {"files": [], "ports": ["80"]}}).encode())
    assert session == Session("s1", "/p", "2025-01-01T00:00:00.000Z", context={"ports": ("80",)})


def test_limits_are_not_enforced_on_what_a_person_wrote() -> None:
    session = session_in(json.dumps({**NEEDED, "context": {"ports": ["x"] * 100}}).encode())
    assert len(session.context["ports"]) == 100


def test_a_selection_that_can_not_be_used_costs_no_session() -> None:
    def check(given: object, expected: object) -> None:
        session = session_in(json.dumps({**NEEDED, "selection": given}).encode())
        assert session.selection == expected
        assert session_in(bytes_of(session)) == session

    check("off", {"preset": "off"})
    check([1], {"preset": [1]})
    check(None, {})
    check({"top_n": "many"}, {"top_n": "many"})


def test_a_newer_version_is_told_from_damage() -> None:
    with pytest.raises(NewerVersion, match="version 2"):
        session_in(json.dumps({"version": 2, "all": "else"}).encode())


def test_damage_is_never_read_as_a_session() -> None:
    def check(said: str, **fields: object) -> None:
        with pytest.raises(Damaged, match=said):
            session_in(json.dumps({**NEEDED, **fields}).encode())

    check("id is missing", id=None)
    check("project_root", project_root=3)
    check("version", version="1")
    check("version", version=True)
    check("name", name=[])
    check("context", context=[1])
    check("context.files", context={"files": "/a"})
    check("context.files", context={"files": ["/a", 1]})
    check("items", items={"a": 1})
    check("items", items=["A"])
    check(r"items\[0\].type must be one of", items=[{"type": "prompt", "name": "A", "include": "always"}])
    check(r"items\[0\].include is missing", items=[{"type": "rule", "name": "A"}])
    check("name", items=[{"type": "rule", "name": 1, "include": "always"}])
    check(
        r"items\[0\].name must be a string, not a list",
        items=[{"type": "rule", "name": [], "include": "always"}],
    )
    check("removed", removed=[3])
    check("name", removed=[{"type": "rule"}])
    check("revision", revision="x")
    for data in (
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"\0" * 300,
        b"[" * 100_000,
        b'{"version": ' + b"9" * 5_000 + b"}",
    ):
        with pytest.raises(Damaged):
            session_in(data)


def test_each_cut_off_file_is_damaged() -> None:
    data = bytes_of(FULL).rstrip()
    for end in range(len(data)):
        with pytest.raises(Damaged):
            session_in(data[:end])


TEXT = st.text(max_size=20)
KEYS = st.builds(ItemKey, st.sampled_from(["rule", "reference", "tool"]), TEXT, TEXT)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)


@given(
    st.builds(
        Session,
        TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT,
        st.dictionaries(TEXT, st.lists(TEXT, min_size=1, max_size=3).map(tuple), max_size=3),
        st.lists(st.builds(IncludedItem, KEYS, st.sampled_from(["always", "manual"])), max_size=4).map(tuple),
        st.lists(KEYS, max_size=3).map(tuple),
        st.dictionaries(TEXT, JSON, max_size=3),
        st.integers(0, 2**70),
    )
)  # fmt: skip
def test_any_session_is_read_back_whole(session: Session) -> None:
    data = bytes_of(session)
    assert session_in(data) == session
    assert bytes_of(session_in(data)) == data
