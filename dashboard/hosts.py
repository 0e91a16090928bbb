"""The hosts that foveal is connected with: where its hooks are installed, what keeps them from running, and
when each was last heard."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..hooks.hosts.host import LEVELS, Level, Obstacle, SettingsPlace
from ..hooks.install.errors import InstallError
from ..hooks.install.host_files import INSTALLABLE
from ..hooks.install.program import find_program
from ..hooks.install.state import inspect, problems
from ..ipc.version import __version__


@dataclass(frozen=True, slots=True)
class ConnectedHost:
    """A host. `levels` are where hooks are installed, `events` how many; `last_event` is empty if none
    came."""

    name: str
    title: str
    levels: tuple[Level, ...]
    events: int
    has_mcp: bool
    problems: tuple[Obstacle, ...]
    last_event: str
    last_event_at: str


def connected_hosts(heard: Iterable[Mapping[str, Any]], root: str = "") -> list[ConnectedHost]:
    """Return the hosts with installed hooks, and those of `heard` (ListHosts), the one heard last first.

    With a `root` the settings of that project count too. Reads the hosts' settings files and runs nothing;
    not for the event loop.
    """
    environ = dict(os.environ)
    last = {one["host"]: one for one in heard}
    home = os.path.expanduser("~")
    place = SettingsPlace(home, root or home, environ)
    try:
        program = find_program("", sys.executable, environ)
    except InstallError:
        program = ""
    found = []
    for host in INSTALLABLE:
        states = [
            state
            for level in (LEVELS if root else LEVELS[:1])
            if program and (state := inspect(host, level, place, program, __version__)).is_registered
        ]
        event = last.get(host.name, {"last_event": "", "last_event_at": ""})
        if states or event["last_event"]:
            found.append(
                ConnectedHost(
                    host.name,
                    host.title,
                    tuple(state.level for state in states),
                    len({event for state in states for event in state.events}),
                    any(state.has_mcp for state in states),
                    tuple(one for state in states for one in problems(state, place, program, __version__)),
                    event["last_event"],
                    event["last_event_at"],
                )
            )
    return sorted(found, key=lambda one: one.last_event_at, reverse=True)
