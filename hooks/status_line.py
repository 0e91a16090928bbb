"""The process of a status line: it says in one line what foveal sent in a session. Fails silently.

Claude Code runs it after each answer with a JSON object on standard input. Whatever goes wrong, the exit
status is 0 and nothing is printed, so that the line stays empty. Imports the standard library and msgpack
only.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Final, NoReturn

LIMIT_S: Final = 1.0
"""Maximum seconds of the process: the host runs it beside the conversation and drops a late line."""

MAX_BYTES: Final = 1 << 20
"""Maximum bytes read; the host sends a few thousand."""

ENTRIES: Final = 1_000
"""Maximum entries of a reply; a session's timeline keeps twice as many."""

USAGE: Final = (
    "Usage: foveal statusline\n\n"
    "  Says in one line what foveal sent in a session, which comes as JSON on the standard input.\n"
    "  Claude Code runs it by itself after: foveal hooks install claude-code --status-line\n"
)


def run(arguments: list[str]) -> NoReturn:
    """Print the line and end the process with status 0, whatever happens."""
    try:
        if arguments == ["--help"]:
            os.write(1, USAGE.encode())
        elif not os.isatty(0):
            os.write(1, _line().encode())
    except BaseException:  # noqa: BLE001, S110 - a status line has nobody to complain to
        pass
    os._exit(0)


def _line() -> str:
    import json
    import signal

    from ..ipc.client import Client
    from ..ipc.paths import find_socket

    # Without a handler the signal ends the process and the shell may say so.
    signal.signal(signal.SIGALRM, lambda number, frame: os._exit(0))
    signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
    with open(0, "rb", closefd=False) as source:
        session_id = json.loads(source.read(MAX_BYTES))["session_id"]
    entries: list[Mapping[str, Any]] = []
    asked = {"session_id": session_id, "limit": ENTRIES}
    with Client.connect(find_socket(None, os.environ).path, LIMIT_S) as client:
        while "before" not in asked or asked["before"] is not None:
            found = client.call("GetTimeline", asked, LIMIT_S)
            entries += found["entries"]
            asked["before"] = found.get("next")
    return line_of(entries)


def line_of(entries: Iterable[Mapping[str, Any]]) -> str:
    """Return the line about the entries of a timeline: contexts, tokens, and the share of places that were
    used, if that can be observed."""
    given = [entry for entry in entries if entry.get("tokens")]
    tokens = sum(entry["tokens"] for entry in given)
    parts = [f"{len(given)} context{'' if len(given) == 1 else 's'}"]
    if given:
        parts.append(f"{tokens / 1000:.1f}k tokens" if tokens >= 1000 else f"{tokens} tokens")
    observed = [entry for entry in given if entry.get("shown") and entry.get("used") is not None]
    if observed:
        used = sum(entry["used"] for entry in observed) / sum(entry["shown"] for entry in observed)
        parts.append(f"{used:.0%} of places used")
    return f"foveal {', '.join(parts)}\n"
