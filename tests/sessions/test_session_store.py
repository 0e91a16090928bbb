"""The store: no update is lost, what it returned is on the disk, many sessions stay quick, and the oldest go."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from foveal.daemon.core.errors import InvalidRequest, NotFound, StateError
from foveal.daemon.core.system import System
from foveal.daemon.rules.records import ItemKey
from foveal.daemon.sessions.context_sets import set_context
from foveal.daemon.sessions.session import (
    MAX_ID_CHARACTERS,
    IncludedItem,
    Session,
    idle,
    observed,
    with_fields,
    with_item,
    without_item,
)
from foveal.daemon.sessions.session_store import (
    MAX_META_BYTES,
    SessionStore,
    UnusableSession,
    bytes_of,
    session_in,
)
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

A, B, X = (ItemKey("rule", name) for name in "ABX")


class Clock(System):
    """A clock that goes one second a look, and counts what is looked at."""

    def __init__(self) -> None:
        self.moment = datetime(2025, 1, 1, tzinfo=UTC)
        self.reads = 0

    def now(self) -> datetime:
        self.moment += timedelta(seconds=1)
        return self.moment

    def read(self, path: str, limit: int | None = None) -> tuple[bytes, os.stat_result]:
        self.reads += 1
        return super().read(path, limit)


def open_store(folder: Path, system: System | None = None, max_count: int = 100) -> SessionStore:
    return SessionStore(str(folder / "sessions"), system or Clock(), max_count=max_count)


def meta(folder: Path, session_id: str) -> Path:
    return folder / "sessions" / session_id / "meta.json"


def renamed(name: str) -> Callable[[Session], Session]:
    return lambda session: with_fields(session, name=name)


def ids(store: SessionStore, root: str | None = None) -> list[str]:
    return [one.id for one in store.list(root).sessions]


# --- One session ---


def test_a_session_survives_a_restart_with_all_that_was_set(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    made = store.create(
        "/project", [A, X], session_id="s1", name="first", agent_name="planner", selection={"n": 1}
    )
    assert made == Session(
        "s1", "/project", "2025-01-01T00:00:01.000Z", "first", "planner", "2025-01-01T00:00:01.000Z",
        items=(IncludedItem.of(A, "always"), IncludedItem.of(X, "always")), selection={"n": 1},
    )  # fmt: skip
    store.update("s1", lambda session: with_item(session, B, mode="always")[0])
    store.update("s1", lambda session: without_item(session, A, mode="always")[0])
    store.update("s1", lambda session: set_context(session, "files", ["~/a"], "replace", "/home/ada")[0])
    last = store.update("s1", lambda session: idle(session, store.now()))
    assert last.revision == 4
    again = open_store(tmp_path).get("s1")
    assert again == last == store.get("s1")
    assert [item.key for item in again.items] == [X, B]
    assert again.removed == (A,)
    assert again.context == {"files": ("/home/ada/a",)}


def test_a_session_without_an_id_gets_one(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    made = [store.create("/project", []) for _ in range(2)]
    assert len({session.id for session in made}) == 2
    assert [store.get(session.id) for session in made] == made
    path = meta(tmp_path, made[0].id)
    modes = [stat.S_IMODE(one.stat().st_mode) for one in (path, path.parent, path.parent.parent)]
    assert modes == [0o600, 0o700, 0o700], "only the user can read it"


def test_an_id_is_taken_once(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.create("/project", [A], session_id="s1")
    store.end("s1")
    with pytest.raises(InvalidRequest, match="already; call ResumeSession") as raised:
        store.create("/other", [], session_id="s1")
    assert raised.value.field == "session_id"
    assert store.get("s1").project_root == "/project"


def test_an_id_that_leads_elsewhere_touches_nothing(tmp_path: Path) -> None:
    for folder in ("x", "sessions"):
        (tmp_path / folder).mkdir()
    meta(tmp_path, "../x").write_text("{}")
    store = open_store(tmp_path)
    for bad in (
        "../x", "..", ".", "a/b", str(tmp_path / "x"), "x" * (MAX_ID_CHARACTERS + 1), "a\0", " ", "a\\b", "a b",
        ".hidden", "-rf", "a\n", "ä", "%2e%2e", ".removed-1",
    ):  # fmt: skip
        for call in (
            store.get,
            store.find,
            store.end,
            lambda one: store.update(one, renamed("x")),
            lambda one: store.create("/project", [], session_id=one),
        ):
            with pytest.raises(InvalidRequest, match="session_id") as raised:
                call(bad)
            assert raised.value.field == "session_id"
    assert (tmp_path / "x" / "meta.json").read_text() == "{}"
    assert os.listdir(tmp_path / "sessions") == []


def test_a_session_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    assert ids(store) == []
    assert store.find("s1") is None
    for call in (store.get, store.end, lambda one: store.update(one, renamed("x"))):
        with pytest.raises(NotFound, match="no session 's1'"):
            call("s1")
    assert not (tmp_path / "sessions").exists()


def test_a_disk_that_refuses_leaves_memory_as_the_disk(tmp_path: Path) -> None:
    class Refusing(Clock):
        refuses = False

        def write_atomic(self, path: str, data: bytes, *, mode: int = 0o600) -> None:
            if self.refuses:
                raise OSError(28, os.strerror(28))
            super().write_atomic(path, data, mode=mode)

    system = Refusing()
    store = open_store(tmp_path, system)
    made = store.create("/project", [], session_id="s1")
    system.refuses = True
    with pytest.raises(StateError, match="can't be written"):
        store.update("s1", renamed("x"))
    with pytest.raises(StateError, match="can't be written"):
        store.create("/project", [], session_id="s2")
    system.refuses = False
    assert store.get("s1") == made
    assert store.create("/project", [], session_id="s2").id == "s2"  # its empty folder is used


def test_what_is_mended_by_hand_is_seen(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.create("/project", [], session_id="s1")
    fields = json.loads(meta(tmp_path, "s1").read_bytes())
    meta(tmp_path, "s1").write_text(
        json.dumps({**fields, "name": "mended", "mood": "good", "colour": None, "agent_name": None})
    )
    assert store.get("s1").name == "mended"
    assert store.list().sessions[0].name == "mended"


# --- Damage ---


DAMAGE = (
    b"",
    b"\0" * 50,
    b"{ torn",
    b"[]",
    b'{"version": "1"}',
    b'{"version": 1, "id": 3}',
    b"x" * (MAX_META_BYTES + 1),
)


def test_a_damaged_session_is_set_aside_whole_by_whoever_meets_it(tmp_path: Path) -> None:
    meetings: tuple[Callable[[SessionStore, str], object], ...] = (
        lambda store, one: store.get(one),
        lambda store, one: store.find(one),
        lambda store, one: store.update(one, renamed("x")),
    )
    for number, damage in enumerate(DAMAGE):
        store = open_store(tmp_path)
        session_id = f"s{number}"
        path = meta(tmp_path, session_id)
        store.create("/project", [], session_id=session_id)
        path.write_bytes(damage)
        with pytest.raises(UnusableSession, match="kept as"):
            meetings[number % 3](store, session_id)
        (aside,) = os.listdir(path.parent)
        assert path.with_name(aside).read_bytes() == damage
        for _ in range(2):
            with pytest.raises(UnusableSession, match=aside):
                store.find(session_id)
        assert store.create("/project", [A], session_id=session_id).items


def test_what_is_no_regular_file_is_set_aside(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.create("/project", [], session_id="s1")
    path = meta(tmp_path, "s1")
    path.unlink()
    makes: tuple[Callable[[], None], ...] = lambda: os.mkfifo(path), path.mkdir
    for number, make in enumerate(makes, 1):
        make()
        with pytest.raises(UnusableSession):
            store.get("s1")
        assert len(list(path.parent.glob("meta.json.damaged-*"))) == number


def test_one_bad_session_does_not_hide_the_others(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for session_id in ("good", "newer", "copy", "bad"):
        store.create("/project", [], session_id=session_id)
    meta(tmp_path, "newer").write_text('{"version": 99}')
    meta(tmp_path, "copy").write_bytes(meta(tmp_path, "good").read_bytes())
    meta(tmp_path, "bad").write_bytes(b"\0")
    folder = tmp_path / "sessions"
    (folder / "foreign.txt").write_text("mine")
    for foreign in ("empty", ".hidden", "with space"):
        (folder / foreign).mkdir()
    (folder / "link").symlink_to(folder / "good")
    assert ids(store) == ["good"]
    said = sorted(store.list().warnings)
    assert len(said) == 2, "the damaged one is set aside, and no session any more"
    assert "is of the session 'good'" in said[0]
    assert "newer foveal (version 99" in said[1]
    assert meta(tmp_path, "newer").read_text() == '{"version": 99}'
    with pytest.raises(InvalidRequest, match="choose another session_id"):
        store.create("/project", [], session_id="copy")
    (folder / "file").touch()
    with pytest.raises(StateError, match="can't be made"):
        store.create("/project", [], session_id="file")
    with pytest.raises(StateError, match="can't be listed"):
        SessionStore(str(folder / "foreign.txt"), Clock()).list()


# --- Many ---


def test_sessions_are_listed_by_when_they_were_last_heard_of(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for session_id, root in (("a", "/one"), ("b", "/two"), ("c", "/one")):
        store.create(root, [A], session_id=session_id)
    store.update("a", lambda session: observed(session, store.now()))
    assert ids(store) == ["a", "c", "b"]
    assert ids(store, "/one") == ["a", "c"]
    assert ids(store, "/none") == []
    assert store.list().sessions[0].items == 1


def test_above_the_number_the_ended_and_then_those_longest_unused_go(tmp_path: Path) -> None:
    store = open_store(tmp_path, max_count=4)
    for session_id in "abcd":
        store.create("/project", [], session_id=session_id)
    store.update("a", lambda session: observed(session, store.now()))
    store.end("c")
    (tmp_path / "sessions" / "empty").mkdir()  # no session, so it counts for none and stays
    for made, left in (("e", "eadb"), ("f", "fead"), ("g", "gfea")):
        store.create("/project", [], session_id=made)
        assert "".join(ids(store)) == left
    assert sorted(os.listdir(tmp_path / "sessions")) == sorted([*"gfea", "empty"])
    with pytest.raises(NotFound, match="longest unused"):
        store.get("b")
    store = open_store(tmp_path, max_count=1)
    store.create("/project", [], session_id="z")
    assert ids(store) == ["z"], "a lower number holds at once"


# --- Crashes ---

DYING = """
import os, signal, sys
from foveal.daemon.sessions.session import with_fields
from foveal.daemon.sessions.session_store import SessionStore
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
store = SessionStore(sys.argv[1], system)
if store.find("s1") is None:
    store.create("/project", [], session_id="s1", name="one")
else:
    store.update("s1", lambda session: with_fields(session, name="two"))
print("acknowledged", flush=True)
"""


def killed_after(folder: Path, steps: int) -> bool:
    """Make or change a session in a process that is killed after so many steps; return whether it
    acknowledged."""
    command = [sys.executable, "-c", DYING, str(folder / "sessions"), str(steps)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    assert (done.returncode == 0) == (done.stdout == b"acknowledged\n")
    return done.returncode == 0


def test_a_crash_at_any_step_leaves_the_old_or_the_new_session(tmp_path: Path) -> None:
    made, changed = [], []
    for steps in range(6):
        folder = tmp_path / str(steps)
        folder.mkdir()
        acknowledged = killed_after(folder, steps)
        made.append((acknowledged, open_store(folder).find("s1") is not None))
        store = open_store(folder)
        store.remove("s1")
        store.create("/project", [], session_id="s1", name="one")
        changed.append((killed_after(folder, steps), store.get("s1").name))
    # The folders, the file, before the rename, after it, its folder.
    assert made == [(False, False)] * 4 + [(False, True)] * 2
    assert changed == [(False, "one")] * 2 + [(False, "two")] * 2 + [(True, "two")] * 2


# --- At the same time ---


@contextmanager
def quick_switches() -> Iterator[None]:
    """Let threads take turns so often that what is not guarded is met."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def together(*works: Callable[[], None]) -> None:
    """Run each in a thread, all from the same moment, and raise what one of them raised."""
    barrier = threading.Barrier(len(works))
    failures: list[BaseException] = []

    def run(work: Callable[[], None]) -> None:
        try:
            barrier.wait()
            work()
        except BaseException as error:  # noqa: BLE001 - it is raised below, in the test's own thread
            failures.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    with quick_switches():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for failure in failures:
        raise failure


def test_clients_that_change_one_session_at_the_same_time_lose_no_update(tmp_path: Path) -> None:
    store = open_store(tmp_path, System())
    store.create("/project", [], session_id="s1")
    count = 40

    def adding(client: str) -> None:
        for number in range(count):
            store.apply("s1", lambda s: with_item(s, ItemKey("rule", f"{client}{number}"), mode="always"))  # noqa: B023 - called at once

    def merging() -> None:
        for number in range(10):
            store.apply("s1", lambda s: set_context(s, "ports", [str(number + 1)], "merge", "/"))  # noqa: B023 - called at once

    revisions: list[int] = []

    def reading() -> None:
        for _ in range(count):
            revisions.append(store.get("s1").revision)
            assert ids(store) == ["s1"]

    together(lambda: adding("a"), lambda: adding("b"), merging, reading)
    session = store.get("s1")
    assert session.revision == 2 * count + 10
    assert {item.key.name for item in session.items} == {f"{who}{n}" for who in "ab" for n in range(count)}
    assert session.context == {"ports": tuple(str(number + 1) for number in range(10))}
    assert revisions == sorted(revisions)
    assert open_store(tmp_path).get("s1") == session


def test_session_dated_by_a_wrong_clock_is_neither_the_first_nor_kept_longest(tmp_path: Path) -> None:
    clock = Clock()
    store = open_store(tmp_path, clock, max_count=2)
    wrong = store.create("/p", ())
    path = meta(tmp_path, wrong.id)
    fields = json.loads(path.read_text()) | {"last_observed": "2099-01-01T00:00:00.000Z"}
    path.write_text(json.dumps(fields))
    later = store.create("/p", ())
    assert ids(store) == [later.id, wrong.id]
    newest = store.create("/p", ())
    assert ids(store) == [newest.id, later.id]


# --- The file ---

NEEDED = {"version": 1, "id": "s1", "project_root": "/p", "created": "2025-01-01T00:00:00.000Z"}


def test_a_file_that_a_person_wrote_is_read_as_far_as_it_goes() -> None:
    def check(expected: Session, **fields: object) -> None:
        session = session_in(json.dumps({**NEEDED, **fields}).encode())
        assert session == expected
        assert session_in(bytes_of(session)) == session

    bare = Session("s1", "/p", "2025-01-01T00:00:00.000Z")
    check(replace(bare, context={"ports": ("80",)}), context={"files": [], "ports": ["80"]})
    check(replace(bare, context={"ports": ("x",) * 100}), context={"ports": ["x"] * 100})
    check(replace(bare, selection={"preset": "off"}), selection="off")
    check(replace(bare, selection={"preset": [1]}), selection=[1])
    check(bare, selection=None, mood="good")


def test_damage_is_never_read_as_a_session() -> None:
    for said, fields in (
        ("id is missing", {"id": None}),
        ("project_root", {"project_root": 3}),
        ("version", {"version": True}),
        ("context.files", {"context": {"files": ["/a", 1]}}),
        ("items", {"items": ["A"]}),
        ("type", {"items": [{"type": "prompt", "name": "A", "include": "always"}]}),
        ("include is missing", {"items": [{"type": "rule", "name": "A"}]}),
        ("name", {"removed": [{"type": "rule"}]}),
        ("revision", {"revision": "x"}),
    ):
        with pytest.raises(Exception, match=said):
            session_in(json.dumps({**NEEDED, **fields}).encode())
    for data in (b"null", b"\xff\xfe", b"[" * 100_000, json.dumps(NEEDED).encode()[:-1]):
        with pytest.raises(Exception):  # noqa: B017 - any error means damage
            session_in(data)


TEXT = st.text(max_size=20)
TYPES = st.sampled_from(["rule", "reference", "tool"])
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
        st.lists(
            st.builds(IncludedItem, TYPES, TEXT, TEXT, include=st.sampled_from(["always", "manual"])), max_size=4
        ).map(tuple),
        st.lists(st.builds(ItemKey, TYPES, TEXT, TEXT), max_size=3).map(tuple),
        st.dictionaries(TEXT, JSON, max_size=3),
        st.integers(0, 2**60),
    )
)  # fmt: skip
def test_any_session_is_read_back_whole(session: Session) -> None:
    data = bytes_of(session)
    assert session_in(data) == session
    assert bytes_of(session_in(data)) == data
