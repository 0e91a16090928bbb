"""An experience is stale when its files changed much or went, or git reverted its commit; and fresh again."""

from __future__ import annotations

from foveal.daemon.memory.experience import Experience
from foveal.daemon.memory.staleness import FRESH, sketch_of, staleness_of

BODY = "\n".join(f"statement {number}" for number in range(60))
OTHER = "\n".join(f"another {number}" for number in range(60))


def check(before: dict[str, str], now: dict[str, str], reason: str, commit: str = "") -> None:
    experience = Experience("x", "2026-01-01T00:00:00.000Z", "a", "s", "d", commit=commit)
    sketches = {path: sketch_of(text) for path, text in before.items()}
    today = {path: sketch_of(text) for path, text in now.items()}
    found = staleness_of(experience, sketches, today.get, {"abcdef1234567890"})
    assert found.reason == reason
    assert (found == FRESH) is (reason == "")
    assert found.weight == (0.4 if reason else 1.0)


def test_freshness_and_staleness() -> None:
    check({"a.py": BODY}, {"a.py": BODY}, "")
    check({"a.py": BODY}, {"a.py": BODY + "\nmore"}, "")
    check({"a.py": BODY}, {"a.py": OTHER}, "a.py changed much since")
    check({"a.py": BODY}, {}, "a.py is gone")
    check({"a.py": BODY, "b.py": BODY}, {}, "a.py, b.py are gone")
    check({"a.py": BODY, "b.py": BODY}, {"a.py": BODY}, "b.py is gone")
    check({"a.py": BODY, "b.py": BODY}, {"a.py": OTHER}, "a.py changed much since")
    check(dict.fromkeys("abcd", BODY), dict.fromkeys("abcd", OTHER), "a, b and 2 more changed much since")
    check({}, {}, "")
    check({}, {}, "its commit abcdef12 was reverted", commit="abcdef1234567890")
    check({}, {}, "its commit abcdef1 was reverted", commit="abcdef1")
    check({}, {}, "", commit="1234567")
