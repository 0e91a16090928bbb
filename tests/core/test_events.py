"""Events reach those who asked for their topic, with their time; nobody else, and not after they left."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from foveal.daemon.core.events import EventHub
from foveal.daemon.core.system import System


class StoppedClock(System):
    def now(self) -> datetime:
        return datetime(2026, 1, 31, 12, 0, 0, 7_900, tzinfo=UTC)


@pytest.fixture
def hub() -> EventHub:
    return EventHub(StoppedClock())


def test_event_reaches_all_subscribers_of_its_topic(hub: EventHub) -> None:
    one: list[dict[str, Any]] = []
    two: list[dict[str, Any]] = []
    hub.subscribe("one", ["scope.created", "scope.changed"], one.append)
    hub.subscribe("two", ["scope.created"], two.append)
    hub.publish("scope.created", {"scope_id": "s"})
    hub.publish("scope.changed", {"scope_id": "s"})
    hub.publish("scope.released", {"scope_id": "s"})
    assert [event["topic"] for event in one] == ["scope.created", "scope.changed"]
    assert two == [{"topic": "scope.created", "at": "2026-01-31T12:00:00.007Z", "data": {"scope_id": "s"}}]


def test_second_subscription_replaces_the_first_and_unsubscribing_ends_it(hub: EventHub) -> None:
    seen: list[dict[str, Any]] = []
    hub.subscribe("key", ["scope.created"], seen.append)
    hub.subscribe("key", ["scope.changed"], seen.append)
    hub.publish("scope.created", {})
    hub.publish("scope.changed", {})
    assert [event["topic"] for event in seen] == ["scope.changed"]
    assert len(hub) == 1
    hub.unsubscribe("key")
    hub.unsubscribe("key")
    hub.publish("scope.changed", {})
    assert (len(seen), len(hub)) == (1, 0)
