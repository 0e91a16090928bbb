"""Real Redis servers on loopback: one, or a cluster of three nodes."""

from __future__ import annotations

import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from tests.conftest import need_tool

WAIT_S = 30.0


class Server:
    """A `redis-server` on a port of its own; it keeps nothing on the disk."""

    def __init__(self, folder: Path, *options: str, port: int = 0) -> None:
        self.folder = folder
        self.port = port or free_port()
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]
        command += ["--dir", str(self.folder), *self._options]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert wait_until(lambda: _answers(self.port))

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def cli(self, *words: str) -> str:
        command = ["redis-cli", "-p", str(self.port), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@contextmanager
def redis_server(folder: Path, *options: str) -> Iterator[Server]:
    need_tool("redis-server")
    server = Server(folder, *options)
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def redis_cluster(folder: Path) -> Iterator[Sequence[Server]]:
    """Three nodes that share all slots; each answers for its own while others are gone."""
    need_tool("redis-server")
    options = ["--cluster-enabled", "yes", "--cluster-require-full-coverage", "no"]
    options += ["--cluster-node-timeout", "1000"]
    nodes: list[Server] = []
    try:
        for number in range(3):
            port = free_port(below=50_000)
            nodes.append(Server(folder / str(number), *options, port=port))
        places = [f"127.0.0.1:{node.port}" for node in nodes]
        nodes[0].cli("--cluster", "create", *places, "--cluster-yes")
        assert wait_until(lambda: all("cluster_state:ok" in node.cli("cluster", "info") for node in nodes))
        yield nodes
    finally:
        for node in nodes:
            node.stop()


def free_port(below: int = 65_536) -> int:
    """Return a free port; a cluster's node listens at the one 10,000 above it too."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        if port < below:
            return port


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        if probe.connect_ex(("127.0.0.1", port)):
            return False
        probe.sendall(b"PING\r\n")
        return bool(probe.recv(100))


def wait_until(condition: Callable[[], bool]) -> bool:
    """Wait until something is so; False if it isn't in time."""
    deadline = time.monotonic() + WAIT_S
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


class SlowProxy:
    """Passes bytes on to a port of this machine, each answer after a delay; counts its connections."""

    def __init__(self, port: int, delay_s: float) -> None:
        self.connections = 0
        self._port = port
        self._delay_s = delay_s
        self._closed = threading.Event()
        self._server = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self._server.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        for end in (self._server, *self._sockets):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            self.connections += 1
            server = socket.create_connection(("127.0.0.1", self._port))
            self._sockets += [client, server]
            for source, target, delay in ((client, server, 0.0), (server, client, self._delay_s)):
                thread = threading.Thread(target=self._pass, args=(source, target, delay))
                self._threads.append(thread)
                thread.start()

    def _pass(self, source: socket.socket, target: socket.socket, delay_s: float) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 20):
                if self._closed.wait(delay_s):
                    break
                target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)
