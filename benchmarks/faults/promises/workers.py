"""Promise 6: a process that dies is started again, and a file that ends it twice is left alone."""

from __future__ import annotations

import json
import random
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import psutil
from foveal.ipc import paths
from foveal.ipc.errors import RpcError

from ..home import DEADLINE_S, NO_EMBEDDING, Home, home, wait_until
from ..promise import Ground, Promise, Test, Trial

KILLED = "kill -9 of indexer, embedder, miner and web process"

MODULES = {
    "indexer": "foveal.daemon.index.worker",
    "miner": "foveal.daemon.transcripts.miner",
    "web": "foveal.dashboard.app",
    "embedder": "foveal.daemon.embedding.worker",
}
KILL_MAX_S = 0.4


def kill_workers(ground: Ground) -> Iterator[Trial]:
    """Kill one of a daemon's processes while it works or rests; the daemon answers all the time, and what
    the process was for works again."""
    chance = random.Random(ground.seed)
    kinds = list(MODULES)
    # The embedder is the last of them, and a second of each start.
    config = "" if ground.count >= len(kinds) else NO_EMBEDDING
    with home(ground.folder, config=config) as user:
        user.open_ready()
        for number in range(ground.count):
            kind = kinds[number % len(kinds)]
            seconds = chance.random() * KILL_MAX_S
            yield Trial(f"{number}: the {kind} after {seconds:.3f} s", _kill_one(user, kind, number, seconds))


def _kill_one(user: Home, kind: str, number: int, seconds: float) -> str:
    daemon = user.pid
    name = f"kept_{number}"
    (user.project / f"{name}.py").write_text(f"def {name}() -> None:\n    ...\n")
    uses = threading.Thread(target=_use, args=(user, kind, number))
    uses.start()
    try:
        if not wait_until(lambda: _workers(user, kind) or not uses.is_alive(), pause=0.001):
            return f"the {kind} isn't started"
        if kind != "miner":
            time.sleep(seconds)
        for process in _workers(user, kind):
            with suppress(psutil.NoSuchProcess):
                process.kill()
        begun = time.monotonic()
        context = user.call("GetContext", cwd=str(user.project), focus_paths=[f"{name}.py"])
        took = time.monotonic() - begun
    finally:
        uses.join()
    if f"def {name}" not in context["context"]:
        return "the answer lacks the file in focus"
    if took > 5.0:
        return f"the answer took {took:.1f} s"
    if not wait_until(partial(_works, user, kind, name, number), pause=0.1):
        return f"the {kind} isn't back: {user.call('Status', cwd=str(user.project))['projects']}"
    return "" if user.pid == daemon else "the daemon was ended too"


def _use(user: Home, kind: str, number: int) -> None:
    """Give a process something to do; that it is killed meanwhile may be an error."""
    with suppress(RpcError, OSError):
        if kind == "embedder":
            user.call("Query", cwd=str(user.project), query="where does a session begin")
        elif kind == "miner":
            _graft(user, number)
        elif kind == "web":
            ask_faces(user)


def _works(user: Home, kind: str, name: str, number: int) -> bool:
    """Whether what a process is for is done."""
    cwd = str(user.project)
    if kind == "miner":
        return len(_graft(user, number)["experience_ids"]) + _grafted(user, number) > 0
    if kind == "web":
        return b" 200 " in ask_faces(user)[:20]
    answer = user.call("Query", cwd=cwd, query=name)
    found = any(result["path"] == f"{name}.py" for result in answer["results"])
    (project,) = user.call("Status", cwd=cwd)["projects"]
    whole = project["state"] == "ready" and not answer["degraded"]
    return found and whole and (kind != "embedder" or project["embedding"] == "done")


def _grafted(user: Home, number: int) -> int:
    return len(user.call("ListExperiences", cwd=str(user.project), query=f"number {number} ")["experiences"])


def _graft(user: Home, number: int) -> Any:
    """Have a conversation read in which something was decided."""
    path = user.folder / f"conversation-{number}.jsonl"
    said = f"We decided to keep sessions number {number} in memory, because the disk is slow."
    entry = {"type": "user", "uuid": f"u{number}", "sessionId": f"s{number}", "cwd": str(user.project),
             "timestamp": "2026-01-01T00:00:00Z", "message": {"role": "user", "content": said}}  # fmt: skip
    path.write_text(json.dumps(entry) + "\n")
    return user.call("GraftExperience", cwd=str(user.project), transcript_path=str(path))


def ask_faces(user: Home) -> bytes:
    """Ask the web process on its socket; return what it says."""
    info = paths.read_daemon_info(str(user.state))
    assert info is not None
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(DEADLINE_S)
        connection.connect(info.http_socket)
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        return connection.recv(4096)


def _workers(user: Home, kind: str) -> list[psutil.Process]:
    found = []
    with suppress(psutil.NoSuchProcess):
        for child in psutil.Process(user.pid).children():
            with suppress(psutil.NoSuchProcess):
                if MODULES[kind] in child.cmdline():
                    found.append(child)
    return found


PROMISE = Promise(
    6,
    "A worker that dies is started again, a file that ends it twice is left alone",
    (Test(KILLED, kill_workers, 120, 8),),
)
