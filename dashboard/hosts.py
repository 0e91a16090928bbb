"""The hosts that foveal is connected with: where its hooks are installed, what keeps them from running, and
when each was last heard."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..hooks.hosts.host import Host, Level, Obstacle, SettingsPlace
from ..hooks.install.errors import InstallError
from ..hooks.install.host_files import INSTALLABLE
from ..hooks.install.program import find_program
from ..hooks.install.state import HostState, inspect, problems
from ..ipc.version import __version__


@dataclass(frozen=True, slots=True)
class ConnectedHost:
    """A host. `levels` are where hooks are installed; `last_event` is empty if none came."""

    name: str
    title: str
    levels: tuple[Level, ...]
    problems: tuple[Obstacle, ...]
    last_event: str
    last_event_at: str


def connected_hosts(heard: Iterable[Mapping[str, Any]], root: str = "") -> list[ConnectedHost]:
    """Return the hosts with installed hooks, and those of `heard` (ListHosts), the one heard last first.

    With a `root` the settings of that project count too. Reads the hosts' settings files and runs nothing;
    not for the event loop.
    """
    last = {one["host"]: one for one in heard}
    found = []
    for host in INSTALLABLE:
        states = _registered(host, root)
        event = last.get(host.name, {"last_event": "", "last_event_at": ""})
        if states or event["last_event"]:
            found.append(
                ConnectedHost(
                    host.name,
                    host.title,
                    tuple(state.level for state, _ in states),
                    tuple(problem for _, wrong in states for problem in wrong),
                    event["last_event"],
                    event["last_event_at"],
                )
            )
    return sorted(found, key=lambda one: one.last_event_at, reverse=True)


def _registered(host: Host, root: str) -> list[tuple[HostState, list[Obstacle]]]:
    """Return where a host has our hooks, each with what is wrong; nothing if foveal's program isn't found."""
    environ = dict(os.environ)
    home = environ.get("HOME", "")
    if not os.path.isabs(home):
        return []
    place = SettingsPlace(home, root or home, environ)
    levels: tuple[Level, ...] = ("user", "project") if root else ("user",)
    try:
        program = find_program("", sys.executable, environ)
    except InstallError:
        return []
    states = [inspect(host, level, place, program, __version__) for level in levels]
    return [
        (state, list(problems(state, place, program, __version__))) for state in states if state.is_registered
    ]
