"""The wait for an index goes by events, passes over those on other things, and asks where some were lost."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, cast

import pytest
from foveal.cli.errors import CliError
from foveal.cli.progress import next_news, open_and_wait
from foveal.ipc.client import Client

PROJECT: dict[str, Any] = {
    "root": "/p",
    "state": "scanning",
    "files": 0,
    "files_pending": 0,
    "symbols": 0,
    "degraded": [],
}


class Daemon:
    """Answers as the daemon does, from a script: events in order, and what the project is when asked."""

    def __init__(self, *events: dict[str, Any] | str, states: tuple[dict[str, Any], ...] = ()) -> None:
        self._events = deque(events)
        self._states = deque(states)
        self.asked: list[str] = []

    def call(self, method: str, params: object = None, timeout: float = 0) -> Any:
        self.asked.append(method)
        if method == "OpenProject":
            return dict(PROJECT)
        return {"projects": [{**PROJECT, **self._states.popleft()}]} if method == "ListProjects" else {}

    def events(self, timeout: float) -> Iterator[dict[str, Any]]:
        while self._events:
            event = self._events.popleft()
            if event == "silence":
                raise TimeoutError
            yield event if "topic" in event else {"topic": "index.progress", "data": event}  # type: ignore[misc]  # the only text is handled above


def client(daemon: Daemon) -> Client:
    return cast("Client", daemon)


def ready(**more: Any) -> dict[str, Any]:
    return {"project": "/p", "state": "ready", "files": 3, "files_pending": 0, **more}


def test_lost_events_and_silence_lead_to_a_question() -> None:
    lost = {"topic": "lost", "data": {"count": 4}}
    daemon = Daemon(lost, "silence", states=({}, ready(), ready()))
    open_and_wait(client(daemon), path="/p")
    assert daemon.asked.count("ListProjects") == 3


def test_the_daemon_ends() -> None:
    with pytest.raises(CliError, match="the daemon stopped while it was indexing"):
        next_news(client(Daemon()), "/p")


def test_a_project_that_can_not_be_indexed() -> None:
    broken = {"state": "degraded", "degraded": ["no permission"]}
    daemon = Daemon({"project": "/p", **broken, "files": 0, "files_pending": 0}, states=(broken,))
    with pytest.raises(CliError, match="/p can't be indexed: no permission"):
        open_and_wait(client(daemon), path="/p")
