"""Clients that misbehave, each a process of its own.

python -m benchmarks.faults.misbehaving KIND SOCKET ROOT says `ready` when it does its worst, and goes on
until it is killed.
"""

from __future__ import annotations

import itertools
import os
import resource
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import NoReturn, cast

import msgpack  # type: ignore[import-untyped] # it ships no types
from foveal.ipc.protocol import MAX_FRAME_BYTES, Decoder, encode_notification, encode_request

CONNECTIONS = 1_000
HALF = MAX_FRAME_BYTES - 4096
"""Bytes of a frame that never ends: as many as are taken before its end has to come."""

Misbehaviour = Callable[[str, str], NoReturn]


@contextmanager
def misbehaving(kind: str, path: str, root: str) -> Iterator[subprocess.Popen[str]]:
    """Let a client misbehave, from when it says that it does."""
    process = subprocess.Popen(
        [sys.executable, "-m", "foveal.benchmarks.faults.misbehaving", kind, path, root],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        if process.stdout is None or process.stdout.readline() != "ready\n":
            raise RuntimeError(f"the client that was to misbehave ({kind}) ended by itself")
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _connect(path: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    while True:
        try:
            connection.connect(path)
        except BlockingIOError:
            time.sleep(0.001)
        else:
            return connection


def _ready() -> None:
    print("ready", flush=True)


def _hold() -> NoReturn:
    while True:
        time.sleep(60)


def flood(path: str, root: str) -> NoReturn:
    """Ask as fast as the socket takes it, and read as fast, 256 at a time on four connections."""
    connections = [_connect(path) for _ in range(4)]
    frames = b"".join(encode_request(number, "Ping") for number in range(256))
    _ready()
    while True:
        for connection in connections:
            connection.sendall(frames)
        for one in connections:
            one.recv(1 << 20)


def unread(path: str, root: str) -> NoReturn:
    """Ask for large contexts on twenty connections and read nothing."""
    connections = [_connect(path) for _ in range(20)]
    for connection in connections:
        connection.setblocking(False)
    for number in itertools.count():
        params = {"cwd": root, "focus_paths": ["large.txt"], "max_tokens": 1_000_000, "max_bytes": 4_000_000}
        frame = encode_request(number % 2**32, "GetContext", params)
        for one in connections:
            with suppress(BlockingIOError, ConnectionError):
                one.send(frame)
        if number == 100:
            _ready()
        if number > 100:
            time.sleep(0.01)
    raise AssertionError


def half_frames(path: str, root: str) -> NoReturn:
    """Send nearly all of the largest frame on sixteen connections, never its end, again and again."""
    head = msgpack.packb([0, 1, "Ping"])[:1].replace(b"\x93", b"\x94") + msgpack.packb(0) + msgpack.packb(1)
    head += msgpack.packb("Ping") + b"\x91\x81" + msgpack.packb("prompt")
    body = head + b"\xdb" + HALF.to_bytes(4, "big") + bytes(HALF - 4096)
    told = False
    while True:
        connections = [_connect(path) for _ in range(16)]
        for one in connections:
            with suppress(ConnectionError):
                one.sendall(body)
        if not told:
            _ready()
            told = True
        time.sleep(0.5)
        for connection in connections:
            connection.close()


def connections(path: str, root: str) -> NoReturn:
    """Open a thousand connections, ask once on each, and keep them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < CONNECTIONS + 64:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, CONNECTIONS + 64), hard))
    kept = [_connect(path) for _ in range(CONNECTIONS)]
    for one in kept:
        with suppress(ConnectionError):  # of more than it has descriptors for the daemon ends the oldest
            one.sendall(encode_request(1, "Ping"))
    _ready()
    _hold()


def pipelined_queries(path: str, root: str) -> NoReturn:
    """Ask 40 questions at once on each of a thousand connections, and again as soon as all are answered."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, CONNECTIONS + 64)), hard))
    asked = [
        {"cwd": root, "query": f"where does login number {number} open a session"} for number in range(40)
    ]
    frames = b"".join(encode_request(number, "Query", params) for number, params in enumerate(asked))
    selector = selectors.DefaultSelector()
    for number in range(CONNECTIONS):
        one = _connect(path)
        one.sendall(frames)
        one.setblocking(False)
        selector.register(one, selectors.EVENT_READ, [Decoder(), 0])
        if number == CONNECTIONS // 10:
            _ready()  # the others come while somebody else asks
    while True:
        for key, _ in selector.select():
            one, state = cast("socket.socket", key.fileobj), key.data
            state[0].feed(one.recv(1 << 20))
            while state[0].next_message() is not None:
                state[1] += 1
            if state[1] == len(asked):
                state[1] = 0
                with suppress(BlockingIOError):  # it fits, since the daemon has read all that was sent before
                    one.sendall(frames)


def subscriptions(path: str, root: str) -> NoReturn:
    """Subscribe to everything on a hundred connections, read nothing, and make events."""
    kept = [_connect(path) for _ in range(100)]
    for one in kept:
        one.sendall(encode_request(1, "Subscribe", {"topics": ["scope.created", "scope.changed"]}))
    with _connect(path) as own:
        _ready()
        for number in itertools.count():
            params = {
                "cwd": root,
                "focus_paths": [f"shop/{number % 1000}.py"],
                "session_id": f"t{number % 50}",
            }
            own.sendall(encode_request(number % 2**32, "GetContext", params))
            own.recv(1 << 20)
    raise AssertionError


def large_requests(path: str, root: str) -> NoReturn:
    """Send prompts of 12 MB on sixteen connections, as fast as they are taken."""
    frame = encode_notification("GetContext", {"cwd": root, "prompt": "word " * 2_400_000})
    connections = [_connect(path) for _ in range(16)]
    _ready()
    while True:
        for number, connection in enumerate(connections):
            try:
                connection.sendall(frame)
            except ConnectionError:
                connections[number] = _connect(path)


KINDS: Mapping[str, Misbehaviour] = {
    "large replies that are never read": unread,
    "half frames": half_frames,
    "a flood of requests": flood,
    "1,000 connections": connections,
    "1,000 connections of 40 queries": pipelined_queries,
    "subscriptions that are never read": subscriptions,
    "large requests": large_requests,
}


if __name__ == "__main__":
    os.nice(5)  # what is measured is the daemon, not whose turn it is on the processor
    KINDS[sys.argv[1]](*sys.argv[2:4])
