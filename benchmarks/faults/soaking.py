"""Years of use in minutes, and what they took.

The daemon's clock is set ahead by some days each round, so that what ages does; what is done once a day by
the loop's own clock (pruning of decisions) is done where the project is opened anew.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil
from foveal.ipc.client import Client
from foveal.ipc.errors import RpcError

from . import jumping_clock
from .home import PROJECT, Home, home

DAYS = 4
"""Simulated days of a round: 240 rounds are two and a half years, longer than anything is kept."""
SESSIONS = 20
REOPENED_EVERY = 8

CONFIG = """
[embedding]
enabled = false
[scopes]
max_count = 200
[experience]
max_count = 300
max_age_days = 90
[daemon]
log_max_bytes = 20_000
log_backups = 1
log_level = "debug"
"""
"""Bounds that some rounds reach; the others are the built-in ones."""

GROWTH = 0.1
"""What the last quarter may take more than the one before the middle, as a share of that."""
SLACK_BYTES = {"daemon": 8 << 20, "indexer": 8 << 20, "state": 3 << 20}
"""And beside that: an allocator's arenas, a log of SQLite before its checkpoint."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What daemon and indexer have in memory and the state folder on the disk after a round, in bytes."""

    daemon: int
    indexer: int
    state: int


def soak(folder: Path, rounds: int) -> Iterator[Taken]:
    """Use a daemon for so many rounds, and tell after each what it took."""
    clock = folder / "clock"
    jumping_clock.set_clock(clock, 0)
    files = PROJECT | {f"shop/part{n}.py": f"def part_{n}():\n    return {n}\n" for n in range(40)}
    with home(folder / "h", config=CONFIG, files=files, **{jumping_clock.VARIABLE: str(clock)}) as user:
        user.command = jumping_clock.COMMAND
        user.open_ready()
        with user.client() as client, user.client() as watching:
            watching.call("Subscribe", {"topics": ["scope.created", "context.built", "index.progress"]}, 20)
            for number in range(rounds):
                jumping_clock.set_clock(clock, number * DAYS * 86_400)
                _live(client, user, number)
                yield _taken(client, user)


def _live(client: Client, user: Home, number: int) -> None:
    """Do what agents, editors and people do in some days."""
    root = str(user.project)
    for one in range(SESSIONS):
        session = f"s{number}-{one}"
        client.call("CreateSession", {"cwd": root, "session_id": session}, 20)
        focus = [f"shop/part{(number + one) % 40}.py"]
        prompt = f"Question {number}-{one}: " + " ".join(f"word{number * one + n}" for n in range(40))
        for form in ("markdown", "messages"):
            asked = {
                "cwd": root,
                "session_id": session,
                "focus_paths": focus,
                "prompt": prompt,
                "format": form,
            }
            client.call("GetContext", asked, 20)
    for one in range(SESSIONS // 2):
        given = {
            "decision": f"In round {number} we chose {one}",
            "agent_id": f"a{number}-{one}",
            "session_id": "s",
        }
        client.call(
            "GraftExperience", {"cwd": root, "experience": given | {"files_touched": ["shop/auth.py"]}}, 20
        )
    client.call("Query", {"cwd": root, "query": f"part {number}"}, 20)
    buffer = {
        "cwd": root,
        "path": f"shop/part{number % 40}.py",
        "event": "changed",
        "text": f"x = {number}\n" * 50,
    }
    client.call("NotifyFile", buffer, 20)
    item = {"type": "rule", "name": f"rule{number % 30}", "text": f"Rule {number}.", "include": "agent"}
    client.call("PutItem", {"cwd": root, "item": item}, 20)
    (user.project / f"shop/part{number % 40}.py").write_text(
        f"def part_{number}():\n    return {number}\n" * 5
    )
    (user.project / f"new{number}.py").write_text(f"def new_{number}():\n    pass\n")
    (user.project / f"new{number - 3}.py").unlink(missing_ok=True)
    client.call("GetContext", {"cwd": root, "fresh": "tree"}, 20)
    with suppress(RpcError):
        client.call(f"Unknown{number}", {}, 20)
    if number % REOPENED_EVERY == REOPENED_EVERY - 1:
        client.call("CloseProject", {"path": root}, 20)
        user.open_ready()


def _taken(client: Client, user: Home) -> Taken:
    status = client.call("Status", {}, 20)
    sizes = [_size(path) for path in user.state.rglob("*")]
    indexer = status["indexer_pid"]
    return Taken(status["rss_bytes"], psutil.Process(indexer).memory_info().rss if indexer else 0, sum(sizes))


def _size(path: Path) -> int:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return 0  # the daemon is at work, and removed it
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def grown(taken: list[Taken]) -> str:
    """Return what is no flat line in the second half, in words, or ""."""
    quarter = max(1, len(taken) // 4)
    before, last = taken[quarter : 2 * quarter] or taken, taken[-quarter:]
    found = []
    for name, slack in SLACK_BYTES.items():
        former, now = (median(getattr(one, name) for one in part) for part in (before, last))
        if now > former * (1 + GROWTH) + slack:
            found.append(f"{name} grew from {former / 1e6:.1f} to {now / 1e6:.1f} MB")
    return ", ".join(found)
