"""The events that clients subscribe to, by topic."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Literal, get_args

from .system import System
from .times import timestamp_of

Topic = Literal[
    "context.changed",
    "context.resumed",
    "session.changed",
    "items.changed",
    "scope.created",
    "scope.changed",
    "scope.released",
    "context.built",
    "index.progress",
    "project.changed",
    "experience.grafted",
    "experience.changed",
]

TOPICS: frozenset[str] = frozenset(get_args(Topic))

Sink = Callable[[dict[str, Any]], None]


class EventHub:
    """Delivers each event to the subscribers of its topic. On the event loop only; sinks must not block."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._sinks: dict[object, tuple[frozenset[str], Sink]] = {}
        self.topics: frozenset[str] = frozenset()
        """Topics that anybody listens to."""

    def subscribe(self, key: object, topics: Collection[str], sink: Sink) -> None:
        """Send events of these topics to a sink, replacing the key's former subscription."""
        self._sinks[key] = (frozenset(topics), sink)
        self._collect_topics()

    def unsubscribe(self, key: object) -> None:
        """Forget a subscriber; unknown ones are ignored."""
        self._sinks.pop(key, None)
        self._collect_topics()

    def _collect_topics(self) -> None:
        self.topics = frozenset().union(*(topics for topics, _ in self._sinks.values()))

    def wanted(self, topic: Topic) -> bool:
        """Whether the topic has a subscriber; without one, costly data need not be made."""
        return topic in self.topics

    def publish(self, topic: Topic, data: dict[str, Any]) -> None:
        """Send `{topic, at, data}` to the topic's subscribers; `at` is ISO 8601 in UTC."""
        if not self.wanted(topic):
            return
        event = {"topic": topic, "at": timestamp_of(self._system.now()), "data": data}
        for topics, sink in list(self._sinks.values()):
            if topic in topics:
                sink(event)

    def __len__(self) -> int:
        return len(self._sinks)
