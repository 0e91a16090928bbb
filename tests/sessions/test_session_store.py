"""The store: no update is lost, what it returned is on the disk, many sessions stay quick, and the oldest go."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from foveal.daemon.core.errors import InvalidRequest, NotFound, StateError, TooLarge
from foveal.daemon.core.system import Stamp, System
from foveal.daemon.rules.items import ItemKey
from foveal.daemon.sessions.context_sets import set_context
from foveal.daemon.sessions.session import (
    IncludedItem,
    Session,
    SessionSummary,
    idle,
    observed,
    summary_of,
    with_fields,
    with_item,
    without_item,
)
from foveal.daemon.sessions.session_files import KeptAside
from foveal.daemon.sessions.session_store import MAX_WHOLE, SessionCache, SessionStore
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
    return [one.id for one in store.list(root)]


# --- One session ---


def test_a_session_survives_a_restart_with_all_that_was_set(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    made = store.create(
        "/project", [A, X], session_id="s1", name="first", agent_name="planner", selection={"n": 1}
    )
    assert made == Session(
        "s1", "/project", "2025-01-01T00:00:01.000Z", "first", "planner", "2025-01-01T00:00:01.000Z",
        items=(IncludedItem(A, "always"), IncludedItem(X, "always")), selection={"n": 1},
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
    for bad in ("../x", "..", ".", "a/b", str(tmp_path / "x"), "x" * 200, "a\0", " "):
        for call in (
            store.get,
            store.find,
            store.end,
            lambda one: store.update(one, renamed("x")),
            lambda one: store.create("/project", [], session_id=one),
        ):
            with pytest.raises(InvalidRequest, match="session_id"):
                call(bad)
    assert (tmp_path / "x" / "meta.json").read_text() == "{}"
    assert os.listdir(tmp_path / "sessions") == []


def test_a_session_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    assert store.list() == ()
    assert store.find("s1") is None
    for call in (store.get, store.end, lambda one: store.update(one, renamed("x"))):
        with pytest.raises(NotFound, match="no session 's1'"):
            call("s1")
    assert not (tmp_path / "sessions").exists()


def test_a_change_that_changes_nothing_is_not_written(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    made = store.create("/project", [A], session_id="s1")
    before = meta(tmp_path, "s1").stat()
    same, outcome = store.apply("s1", lambda session: with_item(session, A, mode="always"))
    assert same == made
    assert not outcome.changed
    assert meta(tmp_path, "s1").stat() == before


def test_a_change_that_fails_changes_nothing(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    made = store.create("/project", [], session_id="s1")

    def half_done(session: Session) -> Session:
        session = with_fields(session, name="new")
        return set_context(session, "ports", [str(port) for port in range(1, 12)], "replace", "/")[0]

    with pytest.raises(TooLarge):
        store.update("s1", half_done)
    assert store.get("s1") == made
    assert store.update("s1", renamed("after")).name == "after"  # the lock was let go of


def test_a_change_can_move_neither_the_id_nor_the_time_of_birth(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    made = store.create("/project", [], session_id="s1")
    store.update("s1", lambda session: replace(session, id="../s2", created="", revision=90, name="x"))
    assert store.get("s1") == replace(made, name="x", revision=1)
    assert ids(store) == ["s1"]


def test_an_ended_session_stays_and_lives_again_when_something_is_heard_of_it(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.create("/project", [A], session_id="s1")
    over = store.end("s1")
    assert over.ended == "2025-01-01T00:00:02.000Z"
    assert store.end("s1") == over
    assert store.list()[0].ended == over.ended
    alive = store.update("s1", lambda session: observed(session, store.now()))
    assert (alive.ended, alive.items) == ("", over.items)


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


def test_what_is_mended_by_hand_is_seen_and_what_is_not_known_is_kept(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.create("/project", [], session_id="s1")
    fields = json.loads(meta(tmp_path, "s1").read_bytes())
    meta(tmp_path, "s1").write_text(json.dumps({**fields, "name": "mended", "mood": "good"}))
    assert store.get("s1").name == "mended"
    assert store.list()[0].name == "mended"
    store.update("s1", renamed("x"))
    assert json.loads(meta(tmp_path, "s1").read_bytes())["mood"] == "good"


# --- Damage ---


def test_a_damaged_session_is_set_aside_with_a_warning_by_whoever_meets_it(tmp_path: Path) -> None:
    meetings: tuple[Callable[[SessionStore, str], object], ...] = (
        lambda store, one: store.get(one),
        lambda store, one: store.update(one, renamed("x")),
        lambda store, one: store.list() or store.get(one),
    )
    for number, meet in enumerate(meetings):
        store = open_store(tmp_path)
        session_id = f"s{number}"
        store.create("/project", [], session_id=session_id)
        meta(tmp_path, session_id).write_bytes(b"{ torn")
        with pytest.raises(NotFound):
            meet(store, session_id)
        (warning,) = store.take_warnings()
        assert f"session {session_id} could not be used" in warning
        assert store.take_warnings() == ()
        assert store.statistics().quarantine == 1
        (aside,) = os.listdir(meta(tmp_path, session_id).parent)
        assert meta(tmp_path, session_id).with_name(aside).read_bytes() == b"{ torn"
        for _ in range(2):
            with pytest.raises(KeptAside, match=aside):
                store.find(session_id)
        assert store.create("/project", [A], session_id=session_id).items
        meta(tmp_path, session_id).unlink()


def test_one_bad_session_does_not_hide_the_others_and_is_said_once(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for session_id in ("good", "newer", "folder", "copy", "bad"):
        store.create("/project", [], session_id=session_id)
    meta(tmp_path, "newer").write_text('{"version": 99}')
    meta(tmp_path, "folder").unlink()
    meta(tmp_path, "folder").mkdir()
    meta(tmp_path, "copy").write_bytes(meta(tmp_path, "good").read_bytes())
    meta(tmp_path, "bad").write_bytes(b"\0")
    (tmp_path / "sessions" / "foreign.txt").write_text("mine")
    (tmp_path / "sessions" / "empty").mkdir()
    assert ids(store) == ["good"]
    assert len(store.take_warnings()) == 4
    assert ids(store) == ["good"]
    assert store.take_warnings() == ()
    assert meta(tmp_path, "newer").read_text() == '{"version": 99}'
    assert (tmp_path / "sessions" / "foreign.txt").read_text() == "mine"
    with pytest.raises(InvalidRequest, match="choose another session_id"):
        store.create("/project", [], session_id="copy")


# --- Many ---


def test_sessions_are_listed_by_when_they_were_last_heard_of(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for session_id, root in (("a", "/one"), ("b", "/two"), ("c", "/one")):
        store.create(root, [A], session_id=session_id)
    store.update("a", lambda session: observed(session, store.now()))
    assert ids(store) == ["a", "c", "b"]
    assert ids(store, "/one") == ["a", "c"]
    assert ids(store, "/none") == []
    assert store.list()[0].items == 1


def test_a_thousand_sessions_are_read_once_and_then_looked_at_only(tmp_path: Path) -> None:
    class Lazy(Clock):
        def fsync(self, descriptor: int) -> None:  # the disk's speed is not what is measured
            pass

    store = open_store(tmp_path, Lazy(), max_count=1_000)
    for number in range(1_000):
        store.create("/project", [A, B], session_id=f"s{number}")
    system = Lazy()
    again = open_store(tmp_path, system)
    assert len(again.list()) == 1_000
    assert system.reads == 1_000
    assert again.list() == again.list("/project")
    assert system.reads == 1_000
    again.update("s7", renamed("x"))
    meta(tmp_path, "s8").touch()
    assert again.list()[-1].id == "s0"
    assert system.reads == 1_002  # the one that was changed, to change it, and the one that was touched
    assert again.statistics().sessions == 1_000
    assert again.statistics().kept == 1
    for number in range(1_000):
        assert again.get(f"s{number}").id == f"s{number}"


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
    assert store.statistics().removed == 3
    assert sorted(os.listdir(tmp_path / "sessions")) == sorted([*"gfea", "empty"])
    with pytest.raises(NotFound, match="longest unused"):
        store.get("b")
    assert store.take_warnings() == ()


def test_a_lower_number_holds_at_once_and_the_new_session_stays(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for session_id in "abcdef":
        store.create("/project", [], session_id=session_id)
    store = open_store(tmp_path, max_count=1)
    store.create("/project", [], session_id="z")
    assert ids(store) == ["z"]


def test_an_old_session_that_cannot_be_removed_fails_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(tmp_path, max_count=1)
    store.create("/project", [], session_id="old")

    def refusing(*_paths: str) -> None:
        raise PermissionError(13, os.strerror(13))

    monkeypatch.setattr(os, "rename", refusing)
    assert store.create("/project", [], session_id="new").id == "new"
    (warning,) = store.take_warnings()
    assert "old can't be removed" in warning


def test_a_session_in_use_is_not_removed(tmp_path: Path) -> None:
    store = open_store(tmp_path, max_count=1)
    store.create("/project", [], session_id="old")

    def change(session: Session) -> Session:
        made = threading.Thread(target=lambda: store.create("/project", [], session_id="new"))
        made.start()
        made.join()
        return with_fields(session, name="in use")

    assert store.update("old", change).name == "in use"
    assert sorted(ids(store)) == ["new", "old"]
    store.create("/project", [], session_id="third")
    assert ids(store) == ["third"]


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
            assert [one.id for one in store.list()] == ["s1"]

    together(lambda: adding("a"), lambda: adding("b"), merging, reading)
    session = store.get("s1")
    assert session.revision == 2 * count + 10
    assert {item.key.name for item in session.items} == {f"{who}{n}" for who in "ab" for n in range(count)}
    assert session.context == {"ports": tuple(str(number + 1) for number in range(10))}
    assert revisions == sorted(revisions)
    assert open_store(tmp_path).get("s1") == session


def test_one_of_those_that_make_the_same_session_wins(tmp_path: Path) -> None:
    store = open_store(tmp_path, System())
    refused = []

    def make(number: int) -> None:
        try:
            store.create("/project", [], session_id="s1", name=str(number))
        except InvalidRequest:
            refused.append(number)

    together(*(lambda number=number: make(number) for number in range(4)))
    assert sorted([*refused, int(store.get("s1").name)]) == [0, 1, 2, 3]


def test_many_are_made_at_once_while_others_are_removed(tmp_path: Path) -> None:
    store = open_store(tmp_path, System(), max_count=5)

    def make() -> None:
        for _ in range(10):
            made = store.create("/project", [A])
            try:
                store.update(made.id, renamed("x"))
            except NotFound:
                continue  # the others made so many meanwhile
            store.list()

    together(make, make, make)
    assert store.take_warnings() == ()
    store.create("/project", [])
    assert len(store.list()) == 5
    assert all(not name.startswith(".removed") for name in os.listdir(tmp_path / "sessions"))


def test_a_damaged_session_is_set_aside_once_by_those_who_meet_it_together(tmp_path: Path) -> None:
    store = open_store(tmp_path, System())
    store.create("/project", [], session_id="s1")
    meta(tmp_path, "s1").write_bytes(b"{")

    def meet() -> None:
        with pytest.raises(NotFound, match=r"damaged|could not be used"):
            store.find("s1")

    def listing() -> None:
        assert store.list() == ()

    together(meet, meet, meet, listing)
    assert len(store.take_warnings()) == 1
    assert len(os.listdir(meta(tmp_path, "s1").parent)) == 1


OLD, NEW = Stamp(1, 1, 1, 1), Stamp(1, 1, 1, 2)


def session(number: int) -> Session:
    return Session(f"s{number}", "/project", "2025-01-01T00:00:00.000Z")


def test_a_summary_says_what_a_list_needs() -> None:
    full = Session(
        "s1", "/project", "2025-01-01", "name", "planner", "2025-01-02", "2025-01-03", "2025-01-04", "fix it", "A=1",
        {"files": ("/a", "/b"), "ports": ("80",)},
        (IncludedItem(ItemKey("rule", "A"), "always"),),
        revision=7,
    )  # fmt: skip
    assert summary_of(full) == SessionSummary(
        "s1", "/project", "name", "planner", "2025-01-01", "2025-01-02", "2025-01-03", "2025-01-04", "fix it",
        items=1, context_items=3, revision=7, active="2025-01-03",
    )  # fmt: skip


def test_nothing_is_given_out_for_another_stamp() -> None:
    cache = SessionCache()
    cache.put(session(1), OLD)
    assert cache.session("s1", OLD) == session(1)
    assert cache.summary("s1", OLD) == summary_of(session(1))
    assert cache.session("s1", NEW) is None
    assert cache.summary("s1", NEW) is None
    assert cache.session("s2", OLD) is None


def test_the_sessions_used_last_are_kept_whole() -> None:
    cache = SessionCache()
    for number in range(MAX_WHOLE):
        cache.put(session(number), OLD)
    assert cache.session("s0", OLD)
    cache.put(session(MAX_WHOLE), OLD)
    assert cache.session("s0", OLD)
    assert cache.session("s1", OLD) is None
    assert cache.summary("s1", OLD)
    assert cache.counts() == (MAX_WHOLE + 1, MAX_WHOLE)


def test_a_list_drives_nothing_out() -> None:
    cache = SessionCache()
    cache.put(session(0), OLD)
    for number in range(1, 3 * MAX_WHOLE):
        assert cache.put_summary(session(number), OLD) == summary_of(session(number))
    assert cache.session("s0", OLD)
    assert cache.session("s1", OLD) is None
    assert cache.counts() == (3 * MAX_WHOLE, 1)


def test_what_is_gone_is_forgotten() -> None:
    cache = SessionCache()
    for number in range(4):
        cache.put(session(number), OLD)
    cache.forget("s0")
    cache.forget("never")
    cache.keep_only({"s1", "s9"})
    assert [cache.session(f"s{number}", OLD) is not None for number in range(4)] == [
        False,
        True,
        False,
        False,
    ]
    assert cache.counts() == (1, 1)


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
    assert store.take_warnings() == ()
