"""Promise 11: one daemon a user, which leaves nothing behind that outlives it or blocks the next."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

import psutil
from foveal.ipc import paths

from ..generations import Generations
from ..home import DEADLINE_S, NO_EMBEDDING, PROJECT, Home, home, wait_until
from ..promise import Ground, Promise, Test, Trial
from .workers import ask_faces

AT_ONCE = "50 clients start at once"
LEFT = "kill -9 of the daemon with all its processes at work"

ROUND = 50
END_S = 10.0
KILL_MAX_S = 0.5
FEW = 3
"""Kills in so few there is no embedder, which takes a second of each start."""

START = """
import os
import sys
from foveal.ipc.client import ensure_daemon
sys.stdin.readline()
with ensure_daemon(None, os.environ, 60.0) as client:
    print(client.call("Ping", {}, 60.0)["pid"])
"""


def start_at_once(ground: Ground) -> Iterator[Trial]:
    """Let so many clients find no daemon at the same moment; all must be served, by one and the same."""
    for first in range(0, ground.count, ROUND):
        size = min(ROUND, ground.count - first)
        with home(ground.folder / str(first)) as user:
            starting = [_start(user) for _ in range(size)]
            for one in starting:
                assert one.stdin is not None
                one.stdin.write("go\n")
                one.stdin.flush()
            said = [one.communicate(timeout=2 * DEADLINE_S) for one in starting]
            pids = {out.strip() for out, _ in said}
            daemons = _daemons(user)
            lost = ""
            if pids != {str(user.pid)}:
                lost = f"they were served by {sorted(pids)}: {[error for _, error in said if error][:2]}"
            elif len(daemons) != 1:
                lost = f"{len(daemons)} daemons run: {daemons}"
            yield Trial(f"clients {first} to {first + size}", lost, size)


def _start(user: Home) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", START],
        env=user.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd="/",
    )


def _daemons(user: Home) -> list[int]:
    """Return the processes that serve the user's state folder, by what they were started with."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            serves = process.environ().get("FOVEAL_STATE_DIR") == str(user.state)
            if serves and process.cmdline()[-2:] == ["up", "--foreground"]:
                found.append(process.pid)
    return found


def kill_leaving(ground: Ground) -> Iterator[Trial]:
    """Kill a daemon while its processes work: none may live on, and the next start clears what it left."""
    chance = random.Random(ground.seed)
    config = "" if ground.count > FEW else NO_EMBEDDING
    with home(ground.folder, config=config, files=PROJECT) as user:
        project = Generations(user.project, 60)
        for number in range(ground.count):
            project.write()
            user.call("OpenProject", path=str(user.project))
            ask_faces(user)
            seconds = chance.random() * KILL_MAX_S
            time.sleep(seconds)
            process = psutil.Process(user.pid)
            family = process.children(recursive=True)
            user.kill()
            left = psutil.wait_procs(family, END_S)[1]
            lost = f"{[one.cmdline() for one in left]} outlived it" if left else ""
            user.open_ready()
            wait_until(lambda: not _left(user))  # the processes that clear it start behind
            yield Trial(f"{number}: after {seconds:.3f} s, {len(family)} processes", lost or _left(user))


def _left(user: Home) -> str:
    """Say what lies in the state folder that belongs to nobody now."""
    names = [path for path in user.state.rglob("*") if path.name.endswith(".tmp")]
    names += [path for path in user.state.glob("projects/*/cookies/*") if f"{user.pid}-" in path.name]
    if len(_daemons(user)) != 1:
        return f"the daemons {_daemons(user)} run"
    info = paths.read_daemon_info(str(user.state))
    if info is None or info.pid not in _daemons(user):
        return "daemon.json names another process"
    return f"left over: {', '.join(map(str, names))}" if names else ""


PROMISE = Promise(
    11,
    "One daemon comes up, and leaves nothing that outlives it, blocks the next or grows",
    (
        Test(AT_ONCE, start_at_once, 250, ROUND),
        Test(LEFT, kill_leaving, 50, 3),
    ),
)
