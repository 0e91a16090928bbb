"""What is kept of a session is given out only while its file is the same, and the memory for it is bounded."""

from __future__ import annotations

from foveal.daemon.core.system import Stamp
from foveal.daemon.rules.items import ItemKey
from foveal.daemon.sessions.session import Session, SessionItem, SessionSummary, summary_of
from foveal.daemon.sessions.session_store import MAX_WHOLE, SessionCache

OLD, NEW = Stamp(1, 1, 1, 1), Stamp(1, 1, 1, 2)


def session(number: int) -> Session:
    return Session(f"s{number}", "/project", "2025-01-01T00:00:00.000Z")


def test_a_summary_says_what_a_list_needs() -> None:
    full = Session(
        "s1", "/project", "2025-01-01", "name", "planner", "2025-01-02", "2025-01-03", "2025-01-04", "fix it", "A=1",
        {"files": ("/a", "/b"), "ports": ("80",)},
        (SessionItem(ItemKey("rule", "A"), "always"),),
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
