"""Owns the measures of the daemon's contexts: creation, rendering, hot answers, freshness, memory.

A real daemon on a copy of a real code base; the client is this process, over the socket.
"""

from __future__ import annotations

import itertools
import os
import socket
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from foveal.ipc.client import Client, ensure_daemon
from foveal.ipc.protocol import Decoder, encode_request

from . import corpus
from .statistics import Measure

WAIT_S = 300.0


def run(source: Path, folder: Path, *, quick: bool) -> list[Measure]:
    """Measure everything on a copy of `source` in `folder`; returns the lines of the table."""
    root = corpus.copy(source, folder / "project")
    environ = _environment(folder)
    scale = 10 if quick else 1
    measures: list[Measure] = []
    with _daemon(environ) as client:
        measures += _first_index(client, root)
        files = _python_files(root)
        measures += _hot(client, root, files, 20_000 // scale)
        measures += _scopes(client, root, files, 400 // scale)
        measures += _rendering(client, root, files, 200 // scale)
        measures += _freshness(client, root, files, 100 // scale)
        measures += _while_indexing(environ, client, root, files)
        measures += _memory(client)
    measures += _warm_start(environ, root, files, 10 // min(scale, 3))
    return measures


def _first_index(client: Client, root: Path) -> list[Measure]:
    names = Measure("first index: names of all files", "s")
    contents = Measure("first index: all definitions and imports", "s")
    client.call("Subscribe", {"topics": ["index.progress"]}, WAIT_S)
    started = time.perf_counter()
    client.call("OpenProject", {"path": str(root)}, WAIT_S)
    for event in client.events(WAIT_S):
        state = event["data"]["state"]
        if state != "scanning" and not names.samples:
            names.samples.append(time.perf_counter() - started)
            names.note = f"{event['data']['files']:,} files"
        if state == "ready":
            contents.samples.append(time.perf_counter() - started)
            break
    client.call("Subscribe", {"topics": []}, WAIT_S)
    return [names, contents]


def _hot(client: Client, root: Path, files: list[str], count: int) -> list[Measure]:
    params = _thirty_kilobytes(client, root, files)
    reply = client.call("GetContext", params, WAIT_S)
    shown = sum(1 for one in reply["slices"] if one.get("path"))
    ping = Measure("Ping over the socket (baseline)").time(lambda: client.call("Ping"), count)
    hot = Measure("hot GetContext", target=0.2, note=f"{reply['bytes'] / 1000:.0f} KB, {shown} files shown")
    hot.time(lambda: client.call("GetContext", params), count)
    assert client.call("GetContext", params)["cached"]
    tail = Measure("hot GetContext, tail", target=1.0, which="p99", samples=hot.samples)
    return [ping, hot, tail, _pipelined(client, params, count)]


def _pipelined(client: Client, params: dict[str, Any], count: int) -> Measure:
    """Measure a second connection that keeps 64 requests in flight."""
    path = client._socket.getpeername()  # type: ignore[union-attr]  # the one thing that the client doesn't offer
    frame = encode_request(1, "GetContext", params)
    decoder = Decoder()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(path)
        sent = received = 0
        started = time.perf_counter()
        while received < count:
            while sent < min(count, received + 64):
                connection.sendall(frame)
                sent += 1
            decoder.feed(connection.recv(1 << 20))
            while decoder.next_message() is not None:
                received += 1
        rate = count / (time.perf_counter() - started)
    return Measure("hot GetContext, pipelined", "a second", [rate])


def _scopes(client: Client, root: Path, files: list[str], count: int) -> list[Measure]:
    chosen = itertools.cycle(files)
    scope = Measure("scope creation, warm project", target=5.0)
    scope.time(lambda: client.call("GetContext", {"cwd": str(root), "focus_paths": [next(chosen)]}), count)
    return [scope]


def _rendering(client: Client, root: Path, files: list[str], count: int) -> list[Measure]:
    numbers = itertools.count(100_000)
    params = {"cwd": str(root), "focus_paths": files[:40], "max_tokens": 40_000}

    def render() -> None:
        # Another limit each time, so that nothing that is kept can answer.
        reply = client.call("GetContext", {**params, "max_bytes": next(numbers)})
        assert not reply["cached"]
        assert reply["bytes"] > 80_000

    return [Measure("build and render a 100 KB context from 40 files").time(render, count)]


def _freshness(client: Client, root: Path, files: list[str], count: int) -> list[Measure]:
    path = files[0]
    params = {"cwd": str(root), "focus_paths": [path]}
    client.call("GetContext", params, WAIT_S)
    shown = Measure("save to visible, fresh = shown", target=200.0)
    watched = Measure("save to visible, fresh = no (the watcher alone)", target=200.0)
    tree = Measure("GetContext with fresh = tree, nothing changed")
    target = root / path
    text = target.read_text()
    for number in range(count):
        for measure, fresh in ((shown, "shown"), (watched, "no")):
            mark = f"# mark {fresh} {number}"
            target.write_text(f"{mark}\n{text}")
            started = time.perf_counter()
            while mark not in client.call("GetContext", {**params, "fresh": fresh}, WAIT_S)["context"]:
                if time.perf_counter() - started > 10:
                    raise RuntimeError(f"{mark} never became visible")
            measure.samples.append((time.perf_counter() - started) * 1000)
    target.write_text(text)
    client.call("GetContext", {**params, "fresh": "tree"}, WAIT_S)
    tree.time(lambda: client.call("GetContext", {**params, "fresh": "tree"}, WAIT_S), count)
    return [shown, watched, tree]


def _while_indexing(environ: dict[str, str], client: Client, root: Path, files: list[str]) -> list[Measure]:
    params = _thirty_kilobytes(client, root, files)
    hot = Measure("hot GetContext while a full index runs", target=5.0, which="p99")
    with ensure_daemon(None, environ, WAIT_S) as watcher:
        watcher.call("Subscribe", {"topics": ["index.progress"]}, WAIT_S)
        client.call("ReindexProject", {"path": str(root), "full": True}, WAIT_S)
        started = time.perf_counter()
        built = 0
        while True:
            moment = time.perf_counter()
            built += not client.call("GetContext", params, WAIT_S)["cached"]
            hot.samples.append((time.perf_counter() - moment) * 1000)
            if len(hot.samples) % 100 == 0:
                state = client.call("Status", {}, WAIT_S)["projects"][0]["state"]
                if state == "ready" and time.perf_counter() - started > 0.5:
                    break
    hot.note = f"{time.perf_counter() - started:.1f} s, {built} of them built anew"
    return [hot]


def _memory(client: Client) -> list[Measure]:
    status = client.call("Status", {}, WAIT_S)
    daemon = Measure("memory of the daemon", "MB", [status["rss_bytes"] / 1e6])
    indexer = Measure(
        "memory of the indexer", "MB", [psutil.Process(status["indexer_pid"]).memory_info().rss / 1e6]
    )
    scope = Measure(
        "memory counted for a scope", "MB", [status["scopes_bytes"] / 1e6 / max(status["scopes"], 1)]
    )
    scope.target, scope.note = 10.0, f"{status['scopes']} scopes"
    disk = Measure("index on the disk", "MB", [status["projects"][0]["index_bytes"] / 1e6])
    return [daemon, indexer, scope, disk]


def _warm_start(environ: dict[str, str], root: Path, files: list[str], count: int) -> list[Measure]:
    start = Measure("daemon start to its first answer, index on the disk", target=400.0)
    cold = Measure("scope creation, tree from the disk", target=100.0)
    for number in range(count):
        started = time.perf_counter()
        with _daemon(environ) as client:
            up = time.perf_counter()
            client.call("GetContext", {"cwd": str(root), "focus_paths": [files[number + 50]]}, WAIT_S)
            now = time.perf_counter()
            start.samples.append((now - started) * 1000)
            cold.samples.append((now - up) * 1000)
    return [cold, start]


def _thirty_kilobytes(client: Client, root: Path, files: list[str]) -> dict[str, Any]:
    """Return a request for about 30 KB of 20 files: some in focus, the others what they import."""
    for count in range(1, 20):
        params = {
            "cwd": str(root),
            "focus_paths": files[:count],
            "max_tokens": 9_600,
            "reserve_tokens": 2_000,
        }
        reply = client.call("GetContext", params, WAIT_S)
        if sum(1 for one in reply["slices"] if one.get("path")) >= 20:
            break
    return params


def _python_files(root: Path) -> list[str]:
    """Return source files of some size, in an order that spreads over the folders."""
    found = [path for path in root.rglob("*.py") if 1_000 < path.stat().st_size < 20_000]
    found.sort(key=lambda path: (_hash_of(path.name), str(path)))
    return [str(path.relative_to(root)) for path in found]


def _hash_of(name: str) -> int:
    """Return a number that is the same in every run, unlike `hash`."""
    return zlib.crc32(name.encode())


def _environment(folder: Path) -> dict[str, str]:
    run_folder = folder / "run"
    run_folder.mkdir(mode=0o700)
    (folder / "home").mkdir()
    left_out = ("FOVEAL_", "XDG_", "PYTHONDONTWRITEBYTECODE")  # installed programs have their bytecode
    kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    return kept | {
        "HOME": str(folder / "home"),
        "XDG_RUNTIME_DIR": str(run_folder),
        "FOVEAL_STATE_DIR": str(folder / "state"),
        "FOVEAL_CONFIG_DIR": str(folder / "config"),
    }


@contextmanager
def _daemon(environ: dict[str, str]) -> Iterator[Client]:
    with ensure_daemon(None, environ, WAIT_S) as client:
        process = psutil.Process(client.call("Ping")["pid"])
        try:
            yield client
        finally:
            client.call("Shutdown")
            process.wait(WAIT_S)


__all__ = ["run"]

if __name__ == "__main__":
    sys.exit("run it as: python -m benchmarks")
