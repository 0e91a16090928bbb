"""Measures what a team saves: a project embedded on one machine, opened on another beside the same Redis."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from foveal.ipc.client import Client

from .bench import Bench
from .own_daemon import environment, is_embedded, open_project, project, running, wait_until
from .statistics import Measure

FASTER = 30.0
"""How many times faster taking embeddings is to be than making them."""

TOGETHER = 3_000
"""Files of the project."""


def run(bench: Bench) -> list[Measure]:
    """Measure the seconds from linked to embedded, on the machine that embeds and on the one that takes."""
    root = bench.part(bench.count(TOGETHER, 120))
    with _redis(bench.new_folder("r")) as url:
        settings = f'[embedding]\nshared = "{url}"\n'
        made, first = _open(bench.new_folder("a"), settings, root, until_written=True)
        taken, second = _open(bench.new_folder("b"), settings, root)
    if second["missing"] or second["written"] or second["found"] != first["written"]:
        raise RuntimeError(f"not all was taken from the store: {second}")
    base = Measure("embedding a project", "s", [made])
    ours = Measure("taking its embeddings from the team's store", "s", [taken], baseline=base)
    ours.note = (
        f"{second['found']:,} contents, {second['received_bytes'] / 1e6:.1f} MB received, none embedded"
    )
    times = Measure(
        "times faster than embedding", "x", [made / taken], target=FASTER, least=True, judged=not bench.quick
    )
    return [base, ours, times]


def _open(
    home: Path, settings: str, root: Path, *, until_written: bool = False
) -> tuple[float, dict[str, Any]]:
    """Open a project that is linked already, then with embedding; returns seconds and what was shared."""
    # Linked first, so that only the embeddings are timed.
    with running(environment(home, "[embedding]\nenabled = false\n")) as client:
        open_project(client, root)
    with running(environment(home, settings)) as client:
        started = time.perf_counter()
        open_project(client, root, embedded=True)
        wait_until(lambda: is_embedded(project(client, root)), f"{root} to be embedded")
        seconds = time.perf_counter() - started
        if until_written:
            wait_until(lambda: not _shared(client)["waiting"], "all to be written")
        return seconds, _shared(client)


def _shared(client: Client) -> dict[str, Any]:
    found: dict[str, Any] = client.call("Status")["embedder"]["shared"]
    return found


@contextmanager
def _redis(folder: Path) -> Iterator[str]:
    """Run a Redis server on a free port of the loopback."""
    program = shutil.which("redis-server")
    if program is None:
        raise RuntimeError("redis-server isn't installed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:

        def answers() -> bool:
            with socket.socket() as probe:
                return not probe.connect_ex(("127.0.0.1", port))

        wait_until(answers, "redis-server to answer")
        yield f"redis://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()
