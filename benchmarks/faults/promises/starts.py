"""Promise 11: one daemon a user, which leaves nothing behind that outlives it or blocks the next."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress

import psutil

from ..home import DEADLINE_S, Home, home
from ..promise import Ground, Promise, Test, Trial

AT_ONCE = "50 clients start at once"

ROUND = 50

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


PROMISE = Promise(
    11,
    "One daemon comes up, and leaves nothing that outlives it, blocks the next or grows",
    (Test(AT_ONCE, start_at_once, 250, ROUND),),
)
