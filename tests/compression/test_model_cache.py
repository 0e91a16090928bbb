"""Answers of models are kept on disk up to a bound, the least recently used forgotten first."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.daemon.compression.model_compressor import USE_NS, ModelCache
from foveal.daemon.core.storage import DatabaseError
from foveal.daemon.core.system import System


class Clock(System):
    """A clock that the test moves."""

    now_ns = 10**18

    def time_ns(self) -> int:
        return self.now_ns


def test_answers_outlive_the_process(tmp_path: Path) -> None:
    path = str(tmp_path / "deep" / "answers.db")
    cache = ModelCache(path, Clock())
    assert cache.get(b"a") is None
    cache.put(b"a", "one\x00é")
    cache.put(b"a", "two")
    cache.close()
    again = ModelCache(path, Clock())
    assert again.get(b"a") == "two"
    assert again.bytes() > 0
    assert not again.replaced
    assert (tmp_path / "deep" / "answers.db").stat().st_mode & 0o077 == 0
    again.close()
    with pytest.raises(DatabaseError):
        again.get(b"a")


def test_those_unused_for_longest_are_forgotten(tmp_path: Path) -> None:
    clock = Clock()
    cache = ModelCache(str(tmp_path / "answers.db"), clock, most=1_000)
    for name in (b"a", b"b", b"c"):
        clock.now_ns += USE_NS + 1
        cache.put(name, "x" * 300)
    clock.now_ns += 2 * USE_NS
    assert cache.get(b"a") is not None
    cache.put(b"d", "x" * 300)
    assert [cache.get(name) is not None for name in (b"a", b"b", b"c", b"d")] == [True, False, True, True]
    cache.put(b"e", "x" * 5_000)  # larger than all of the room
    assert [cache.get(name) is not None for name in (b"a", b"b", b"c", b"d", b"e")] == [False] * 5
    cache.close()


def test_a_damaged_file_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "answers.db"
    path.write_bytes(b"no database at all, but long enough to be taken for one" * 100)
    cache = ModelCache(str(path), Clock())
    assert "answers.db could not be used" in cache.replaced
    cache.put(b"a", "one")
    assert cache.get(b"a") == "one"
    cache.close()
