"""Promise 11: one daemon a user, which leaves nothing behind that outlives it or blocks the next."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
from foveal.daemon.core.storage import WAL_BYTES
from foveal.ipc import paths

from ..generations import Generations
from ..home import DEADLINE_S, NO_EMBEDDING, PROJECT, Home, home, wait_until
from ..promise import Ground, Promise, Test, Trial
from .workers import ask_faces

PROOF = "tests/faults/test_starts.py"
AT_ONCE = "50 clients start at once"
LEFT = "kill -9 of the daemon with all its processes at work"
REUSED = "the pid in the lock and daemon.json is somebody else's"
LOG = "the write-ahead logs under writes that never rest"

ROUND = 50
END_S = 10.0
KILL_MAX_S = 0.5
LOG_FILES = 300
FEW = 3
"""Kills in so few there is no embedder, which takes a second of each start."""

LOG_MAX_BYTES = 3 * WAL_BYTES
"""A log is cut back to `WAL_BYTES` after a checkpoint; until then it may hold what one burst wrote beside
a reader that has not ended."""

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


def reuse_pid(ground: Ground) -> Iterator[Trial]:
    """Give the pid that a killed daemon noted to another process: the next start isn't held up by it, and
    `foveal down` and `restart` leave that process alone."""
    with home(ground.folder) as user:
        user.call("Ping")
        for number in range(ground.count):
            user.kill_all()
            bystander = subprocess.Popen(
                [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE
            )
            pid = 1 if number % 5 == 4 else bystander.pid
            info = Path(paths.daemon_file(str(user.state)))
            was = paths.read_daemon_info(str(user.state))
            if was is not None:
                info.write_text(info.read_text().replace(str(was.pid), str(pid)))
            Path(paths.lock_file(str(user.state))).write_text(f"{pid}\n")
            commands = (["down"], ["restart"], ["status"])
            words = commands[number % len(commands)]
            done = subprocess.run(
                [sys.executable, "-m", "foveal", *words],
                env=user.environ, cwd="/", capture_output=True, text=True, timeout=DEADLINE_S, check=False,
            )  # fmt: skip
            served = user.call("Ping")["pid"]
            lost = ""
            if bystander.poll() is not None:
                lost = f"foveal {words[0]} ended a process that isn't ours"
            elif served == pid or served not in _daemons(user):
                lost = f"no daemon came up: {done.stderr}"
            yield Trial(f"{number}: pid {pid}, foveal {words[0]}", lost)
            bystander.kill()
            bystander.communicate()


def write_long(ground: Ground) -> Iterator[Trial]:
    """Rewrite all of a project again and again while others ask all the time, and look at each log."""
    with home(ground.folder, files={}) as user:
        project = Generations(user.project, LOG_FILES)
        project.write()
        user.open_ready()
        stop = threading.Event()
        asking = [threading.Thread(target=_ask_always, args=(user, stop)) for _ in range(4)]
        for thread in asking:
            thread.start()
        try:
            for number in range(ground.count):
                project.write()
                with user.client() as client:
                    cwd = str(user.project)
                    client.call(
                        "GetContext", {"cwd": cwd, "focus_paths": ["d1"], "fresh": "tree"}, DEADLINE_S
                    )
                sizes = {path.name: _size(path) for path in user.state.rglob("*-wal")}
                large = {name: size for name, size in sizes.items() if size > LOG_MAX_BYTES}
                lost = f"{large} bytes, at most {LOG_MAX_BYTES}" if large else ""
                yield Trial(f"{number}: the largest has {max(sizes.values(), default=0):,} bytes", lost)
        finally:
            stop.set()
            for thread in asking:
                thread.join()


def _size(path: Path) -> int:
    with suppress(FileNotFoundError):
        return os.stat(path).st_size
    return 0


def _ask_always(user: Home, stop: threading.Event) -> None:
    with user.client() as client:
        while not stop.is_set():
            client.call("Query", {"cwd": str(user.project), "query": "walrus"}, DEADLINE_S)


PROMISE = Promise(
    11,
    "One daemon comes up, and leaves nothing that outlives it, blocks the next or grows",
    (
        Test(AT_ONCE, start_at_once, 250, PROOF, ROUND),
        Test(LEFT, kill_leaving, 50, PROOF, 3),
        Test(REUSED, reuse_pid, 30, PROOF, 3),
        Test(LOG, write_long, 200, PROOF, 10),
    ),
)
