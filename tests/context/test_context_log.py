"""Contexts that were given are kept in bounded memory: one busy scope takes nothing from the others."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from foveal.daemon.context import context_log
from foveal.daemon.context.assembly import Built
from foveal.daemon.context.caller import Caller, ContextJob
from foveal.daemon.context.context_log import (
    GIVEN_MAX,
    MEMORY_MAX,
    TEXT_CHARACTERS_MAX,
    TEXTS_PER_SCOPE,
    GivenContexts,
    new_context_id,
)
from foveal.daemon.context.requests import ContextRequest, Message
from foveal.daemon.context.scopes import Scope
from foveal.daemon.core.system import System

REQUEST = ContextRequest(prompt="how?", history=(Message("user", "before"),))


class Clock(System):
    """A clock that goes on by a second at each look."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 1, 31, tzinfo=UTC)

    def now(self) -> datetime:
        self.moment += timedelta(seconds=1)
        return self.moment


class Ring:
    """The contexts, with what gives them."""

    def __init__(self) -> None:
        self.contexts = GivenContexts(Clock())
        self.built: dict[str, Built] = {}

    def give(self, text: str, scope: str = "s_1", *, again: str = "", **fields: Any) -> str:
        """Give a context, built now or the one that is given `again`; returns its id."""
        reply: Mapping[str, Any] = {"context": text, "slices": [], "items": [], "gaps": [], **fields}
        built = self.built[again] if again else Built(reply, (), (), 0, context_id=new_context_id())
        self.built[built.context_id] = built
        answer = {**built.reply, "cached": bool(again), "partial": False}
        nothing = cast("Any", None)
        job = ContextJob(nothing, Scope(scope, "/p", ""), REQUEST, "shown", Caller(), 0.0)
        self.contexts.note(job, "sam", built, answer, 1.5)
        return built.context_id

    @property
    def ids(self) -> list[str]:
        return [one.id for one in self.contexts.latest_first()]


@pytest.fixture
def ring() -> Ring:
    return Ring()


def test_what_is_given_again_counts_and_comes_first(ring: Ring) -> None:
    first, second = ring.give("a"), ring.give("b")
    ring.give("a", again=first)
    assert ring.ids == [first, second]
    given = ring.contexts.get(first)
    assert given is not None
    assert (given.times, given.cached, given.agent_name) == (2, True, "sam")
    assert (given.at - given.first_at).total_seconds() == 2
    assert given.request.prompt == "how?"
    assert given.request.history == (), "what others said isn't kept for it"


def test_a_render_knows_the_one_before_and_whether_it_says_the_same(ring: Ring) -> None:
    texts = ("one", "one", "two")
    ids = [ring.give(text * 100) for text in texts]
    ring.give("two" * 100, scope="s_2")
    found = [ring.contexts.get(one) for one in ids]
    assert [(one.previous, one.is_same) for one in found if one] == [
        ("", False),
        (ids[0], True),
        (ids[1], False),
    ]


def test_a_busy_scope_keeps_few_texts_and_takes_none_from_others(ring: Ring) -> None:
    quiet = ring.give("quiet" * 50, scope="s_quiet")
    busy = [ring.give(f"{number:04}" * 50) for number in range(GIVEN_MAX + 20)]
    assert len(ring.contexts) == GIVEN_MAX
    given = ring.contexts.get(quiet)
    assert given is not None
    assert given.reply["context"] == "quiet" * 50
    with_text = [one.id for one in ring.contexts.latest_first() if one.has_text]
    assert with_text == [*reversed(busy[-TEXTS_PER_SCOPE:]), quiet]
    older = ring.contexts.get(busy[-TEXTS_PER_SCOPE - 1])
    assert older is not None
    assert "context" not in older.reply
    assert older.reply["slices"] == []


def test_without_texts_to_spare_the_oldest_goes(ring: Ring) -> None:
    ids = [ring.give("x" * 100, scope=f"s_{number}") for number in range(GIVEN_MAX + 1)]
    assert ring.contexts.get(ids[0]) is None
    assert len(ring.contexts) == GIVEN_MAX
    latest = ring.contexts.get(ids[-1])
    assert latest is not None
    assert latest.has_text


def test_memory_is_bounded_and_counted_to_the_last_byte(ring: Ring, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context_log, "GIVEN_MAX", 3)
    for number in range(30):
        ring.give(f"{number:02}" * 1_000_000, scope=f"s_{number % 7}", user_prompt=f"{number:02}" * 100)
        assert ring.contexts.memory_bytes <= MEMORY_MAX
    monkeypatch.setattr(context_log, "GIVEN_MAX", 0)
    ring.give("x" * 100)
    assert (len(ring.contexts), ring.contexts.memory_bytes) == (0, 0)


def test_the_oldest_lose_their_text_where_all_take_too_much(
    ring: Ring, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context_log, "MEMORY_MAX", 300_000)
    ids = [ring.give(f"{number:02}" * 40_000, scope=f"s_{number}") for number in range(5)]
    assert ring.ids == ids[::-1], "their records stay"
    assert [one.id for one in ring.contexts.latest_first() if one.has_text] == ids[:1:-1]


def test_a_huge_text_is_not_kept_and_its_record_is(ring: Ring) -> None:
    found = ring.contexts.get(ring.give("x" * (TEXT_CHARACTERS_MAX + 1), user_prompt="y" * 100))
    assert found is not None
    assert not found.has_text
    assert not {"context", "user_prompt"} & set(found.reply)
    assert ring.contexts.memory_bytes == found.record_bytes
    again = ring.contexts.get(ring.give("z" * 100))
    assert again is not None
    assert (again.previous, again.is_same) == (found.id, False)
