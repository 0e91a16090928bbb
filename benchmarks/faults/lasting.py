"""Hours of use at the pace of the clock: python -m benchmarks.faults.lasting prints a line a minute.

Where `soaking` lets years pass with small limits, this keeps the built-in settings and the real clock, and
asks whether memory levels off. The share of a core that the daemon and its children use is held, by pauses.
"""

from __future__ import annotations

import argparse
import http.client
import os
import random
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from foveal.ipc import paths
from foveal.ipc.client import Client
from foveal.ipc.errors import RpcError

from .. import synthetic
from .home import DEADLINE_S, NO_EMBEDDING, Home, home

FILES = 400
"""Files of the project that is edited and asked about; a tenth of them in the second one."""

SESSIONS_ALIVE = 8
"""Sessions that ask at the same time; each ends after some requests, and a new one begins."""

CONNECTIONS = 6
"""Clients that stay connected, as editors and MCP servers do. Others come for one request, as hooks do."""

MINUTE_S = 60.0


@dataclass(frozen=True, slots=True)
class Sample:
    """Resident bytes of the daemon and of each kind of its children, and the requests that were answered."""

    seconds: float
    daemon: int
    children: Mapping[str, int]
    requests: int
    cpu_s: float


class Use:
    """What agents, editors and people ask of a daemon, at random and the same for a seed."""

    def __init__(self, user: Home, second: Path, seed: int) -> None:
        self._user = user
        self._second = second
        self._chance = random.Random(seed)
        self._socket = paths.find_socket(None, user.environ).path
        self._clients = [Client.connect(self._socket, DEADLINE_S) for _ in range(CONNECTIONS)]
        self._sessions: list[str] = []
        self._begun = 0
        self._steps: list[tuple[int, Callable[[], object]]] = [
            (30, self._prompt), (10, self._again), (8, self._hook), (12, self._query), (6, self._structural),
            (6, self._symbols), (3, self._graft), (6, self._edit), (3, self._buffer), (3, self._lists),
            (2, self._wrong), (1, self._reopen), (1, self._face),
        ]  # fmt: skip
        self.requests = 0

    def step(self) -> None:
        """Do one thing, mostly one request."""
        weights = [weight for weight, _ in self._steps]
        self._chance.choices(self._steps, weights)[0][1]()

    def close(self) -> None:
        """Close the connections."""
        for client in self._clients:
            client.close()

    def _call(self, method: str, **params: Any) -> Any:
        self.requests += 1
        if self._chance.random() < 0.3:
            with Client.connect(self._socket, DEADLINE_S) as client:
                return client.call(method, params, DEADLINE_S)
        return self._chance.choice(self._clients).call(method, params, DEADLINE_S)

    def _root(self) -> str:
        return str(self._user.project)

    def _number(self) -> int:
        return self._chance.randrange(FILES)

    def _path(self) -> str:
        """Return the path of a file, which may be gone by now."""
        number, root = self._number(), self._user.project
        return str(next(root.glob(synthetic.path_of(number, "*")), root / synthetic.path_of(number)))

    def _session(self) -> str:
        if len(self._sessions) < SESSIONS_ALIVE or self._chance.random() < 0.1:
            self._begun += 1
            session = f"session-{self._begun}"
            self._call("CreateSession", cwd=self._root(), session_id=session)
            self._sessions = [*self._sessions[1 - SESSIONS_ALIVE :], session]
        return self._chance.choice(self._sessions)

    def _question(self) -> str:
        number = self._number()
        words = " ".join(self._chance.choices(synthetic.NOUNS + synthetic.VERBS, k=30))
        return f"Why does {synthetic.function_of(number)} fail after the change of the {words}?"

    def _prompt(self) -> None:
        asked: dict[str, Any] = {
            "cwd": self._root(), "session_id": self._session(), "prompt": self._question(),
        }  # fmt: skip
        if self._chance.random() < 0.5:
            asked["focus_paths"] = [self._path()]
        self._call("GetContext", **asked)

    def _again(self) -> None:
        session = self._session()
        for _ in range(3):
            self._call("GetContext", cwd=self._root(), session_id=session)

    def _hook(self) -> None:
        payload = {"hook_event_name": "UserPromptSubmit", "cwd": self._root(), "session_id": self._session(),
                   "prompt": self._question()}  # fmt: skip
        self._call("HookEvent", host="claude-code", payload=payload)

    def _query(self) -> None:
        self._call("Query", cwd=self._root(), query=self._question())

    def _structural(self) -> None:
        self._call("Query", cwd=self._root(), query=f"who calls {synthetic.function_of(self._number())}")

    def _symbols(self) -> None:
        self._call("FindSymbols", cwd=self._root(), query=self._chance.choice(synthetic.NOUNS))
        self._call("FindFiles", cwd=self._root(), query=str(self._number()))
        with suppress(RpcError):  # of a file that was removed
            self._call("GetNode", cwd=self._root(), node_id=os.path.relpath(self._path(), self._root()))

    def _graft(self) -> None:
        decision = f"Number {self.requests}: {self._question()}"
        experience = {"decision": decision, "agent_id": "a", "session_id": self._session()}
        self._call("GraftExperience", cwd=self._root(), experience=experience)

    def _edit(self) -> None:
        path = Path(self._path())
        path.parent.mkdir(parents=True, exist_ok=True)
        kind = self._chance.random()
        if kind < 0.1:
            path.unlink(missing_ok=True)
        elif kind < 0.8 and path.is_file():
            lines = path.read_text().splitlines()[:400]
            lines.insert(self._chance.randrange(len(lines) + 1), f"# {self._question()}")
            path.write_text("\n".join(lines) + "\n")
        else:
            number = self._number()
            path.write_text(f"def {synthetic.function_of(number)}(value):\n    return value + {number}\n")
        self._call("GetContext", cwd=self._root(), session_id=self._session(), fresh="tree")

    def _buffer(self) -> None:
        path, text = self._path(), f"value = {self.requests}\n" * 50
        self._call("NotifyFile", cwd=self._root(), path=path, event="changed", text=text)
        self._call("NotifyFile", cwd=self._root(), path=path, event="closed")

    def _lists(self) -> None:
        for method in ("Status", "GetMetrics", "ListContexts", "ListSessions", "ListScopes", "ListProjects"):
            self._call(method, **({"cwd": self._root()} if method == "ListSessions" else {}))

    def _wrong(self) -> None:
        with suppress(RpcError):
            self._call(f"Unknown{self.requests}")
        with suppress(RpcError):
            self._call("GetContext", cwd=f"/nowhere/{self.requests}")

    def _reopen(self) -> None:
        self._call("OpenProject", path=str(self._second))
        self._call("Query", cwd=str(self._second), query=self._question())
        self._call("CloseProject", path=str(self._second))

    def _face(self) -> None:
        """Ask over HTTP, which the faces process answers."""
        self.requests += 1
        face = http.client.HTTPConnection("localhost", timeout=DEADLINE_S)
        face.sock = socket.socket(socket.AF_UNIX)
        try:
            face.sock.connect(paths.http_socket(self._socket))
            face.request("GET", "/rpc/Status")
            face.getresponse().read()
        finally:
            face.close()


def last(user: Home, minutes: float, share: float, seed: int = 1) -> Iterator[Sample]:
    """Use the daemon for so many minutes, at that share of a core; yield a sample a minute, one first."""
    second = synthetic.write_tree(user.folder / "second", FILES // 10, seed=synthetic.SEED + 1)
    synthetic.write_tree(user.project, FILES)
    user.open_ready()
    use = Use(user, second, seed)
    started = time.monotonic()
    family = _Family(user.pid)
    try:
        for minute in range(round(minutes) + 1):
            while (now := time.monotonic() - started) < minute * MINUTE_S:
                use.step()
                # What was used since the start, over the time that it may take; checked after each step.
                time.sleep(max(0.0, min(1.0, family.cpu_s() / share - now)))
            yield Sample(now, *family.memory(), use.requests, family.cpu_s())
    finally:
        use.close()


class _Family:
    """A daemon with its children, those that ended included in the time that they took."""

    def __init__(self, pid: int) -> None:
        self._daemon = psutil.Process(pid)
        self._seen: dict[psutil.Process, float] = {}
        self._first = 0.0
        self._first = self.cpu_s()

    def cpu_s(self) -> float:
        """Return the seconds of a core that all took since this was made."""
        for process in self._all():
            with suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                self._seen[process] = times.user + times.system
        return sum(self._seen.values()) - self._first

    def memory(self) -> tuple[int, dict[str, int]]:
        """Return the resident bytes of the daemon, and of its children by what they are."""
        children: dict[str, int] = {}
        for process in self._all()[1:]:
            with suppress(psutil.NoSuchProcess):
                parts = (part for part in process.cmdline() if part.startswith("foveal."))
                name = next(parts, "foveal.other").split(".", 1)[1]  # git, or one that has just begun
                children[name] = children.get(name, 0) + process.memory_info().rss
        return self._daemon.memory_info().rss, children

    def _all(self) -> list[psutil.Process]:
        return [self._daemon, *self._daemon.children(recursive=True)]


def main() -> None:
    """Print or append a line a minute: the time, MB of the daemon and its children, requests, seconds of a
    core."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults.lasting")
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument(
        "--share", type=float, default=0.2, help="of a core, for daemon and children together"
    )
    parser.add_argument("--csv", type=Path, help="append here, in the place of printing")
    parser.add_argument("--embed", action="store_true", help="with embeddings")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    config = "" if options.embed else NO_EMBEDDING
    with (
        tempfile.TemporaryDirectory(prefix="fv-") as folder,
        home(Path(folder), config=config, files={}) as user,
        options.csv.open("a") if options.csv else sys.stdout as out,
    ):
        print("time,seconds,daemon_mb,children_mb,requests,cpu_s,children", file=out, flush=True)
        for sample in last(user, options.minutes, options.share, options.seed):
            children = " ".join(f"{name}={size / 1e6:.1f}" for name, size in sorted(sample.children.items()))
            print(
                f"{time.strftime('%H:%M:%S')},{sample.seconds:.0f},{sample.daemon / 1e6:.1f},"
                f"{sum(sample.children.values()) / 1e6:.1f},{sample.requests},{sample.cpu_s:.1f},{children}",
                file=out, flush=True,
            )  # fmt: skip


if __name__ == "__main__":
    os.nice(5)
    main()
