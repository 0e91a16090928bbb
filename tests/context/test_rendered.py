"""A kept context is found only for the same request, revision and validity, and while its files hold."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from foveal.daemon.context.built import Built
from foveal.daemon.context.rendered import ENTRIES_PER_SCOPE, RenderedContexts, RenderedEntry
from foveal.daemon.core.system import Stamp
from foveal.daemon.project.content import Shown
from hypothesis import given
from hypothesis import strategies as st

SHOWN = Shown("/p/a.py", Stamp(1, 1, 1, 1), b"d", 1, racy=False)


def built(text: str = "context", memory_bytes: int = 100) -> Built:
    return Built({"context": text}, (SHOWN,), (), memory_bytes)


def hold(shown: Sequence[Shown]) -> bool:
    assert tuple(shown) == (SHOWN,)
    return True


@pytest.fixture
def kept() -> RenderedContexts:
    contexts = RenderedContexts()
    contexts.put("s", b"key", RenderedEntry(1, ("v",), built()))
    return contexts


@pytest.mark.parametrize(
    ("scope", "key", "revision", "validity"),
    [("t", b"key", 1, "v"), ("s", b"other", 1, "v"), ("s", b"key", 2, "v"), ("s", b"key", 1, "w")],
)
def test_whatever_differs_is_a_miss(
    kept: RenderedContexts, scope: str, key: bytes, revision: int, validity: str
) -> None:
    assert kept.find(scope, key, revision, (validity,), hold) is None
    assert (kept.hits, kept.misses) == (0, 1)


def test_what_is_dropped_is_gone(kept: RenderedContexts) -> None:
    kept.drop("s")
    kept.drop("s")
    assert kept.find("s", b"key", 1, ("v",), hold) is None


def test_a_scope_keeps_a_few_contexts_the_least_recently_used_go() -> None:
    contexts = RenderedContexts()
    for index in range(ENTRIES_PER_SCOPE):
        contexts.put("s", bytes([index]), RenderedEntry(1, (), built(str(index), 10)))
        assert contexts.bytes == 10 * (index + 1)
    assert contexts.find("s", b"\0", 1, (), hold) is not None
    contexts.put("s", b"new", RenderedEntry(1, (), built(memory_bytes=70)))
    assert contexts.bytes == 10 * ENTRIES_PER_SCOPE + 60
    assert contexts.find("s", b"\0", 1, (), hold) is not None
    assert contexts.find("s", b"\1", 1, (), hold) is None


def test_the_same_request_anew_takes_the_place_of_the_former(kept: RenderedContexts) -> None:
    kept.put("s", b"key", RenderedEntry(1, ("w",), built("newer", 30)))
    assert kept.bytes == 30
    assert kept.find("s", b"key", 1, ("w",), hold) == built("newer", 30)


def test_contexts_of_all_scopes_together_have_a_limit_the_least_recently_used_scope_goes() -> None:
    contexts = RenderedContexts(max_bytes=100)
    for scope in "abc":
        contexts.put(scope, b"key", RenderedEntry(1, (), built(scope, 30)))
    assert contexts.find("a", b"key", 1, (), hold) is not None
    contexts.put("d", b"key", RenderedEntry(1, (), built("d", 30)))
    kept = [scope for scope in "abcd" if contexts.find(scope, b"key", 1, (), hold)]
    assert kept == ["a", "c", "d"]
    contexts.put("e", b"key", RenderedEntry(1, (), built("too large", 101)))
    assert contexts.bytes == 0


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 3), st.integers(1, 60))))
def test_rendered_contexts_never_exceed_their_limit(steps: list[tuple[int, int, int, int]]) -> None:
    contexts = RenderedContexts(max_bytes=100)
    for scope, key, revision, size in steps:
        if size == 60:
            contexts.drop(str(scope))
        else:
            contexts.put(str(scope), bytes([key]), RenderedEntry(revision, (), built(memory_bytes=size)))
        assert 0 <= contexts.bytes <= 100
    for scope in range(6):
        contexts.drop(str(scope))
    assert contexts.bytes == 0
