"""The daemon under measure: a user's folders of its own, its life, how far it is, and its memory."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from foveal.ipc.client import Client, ensure_daemon

WAIT_S = 3_600.0
POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Opening:
    """Seconds since OpenProject was sent: until all names were known, all files read (with their
    definitions), all links made, and all contents embedded (None where that wasn't waited for)."""

    names: float
    read: float
    linked: float
    embedded: float | None
    files: int
    contents: int


def environment(folder: Path, settings: str = "") -> dict[str, str]:
    """Make folders of a user of their own below `folder`, with a config.toml of `settings`."""
    for name in ("run", "home", "config"):
        (folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / "config" / "config.toml").write_text(settings, encoding="utf-8")
    left_out = ("FOVEAL_", "XDG_", "PYTHONDONTWRITEBYTECODE")  # installed programs have their bytecode
    kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    return kept | {
        "HOME": str(folder / "home"),
        "XDG_RUNTIME_DIR": str(folder / "run"),
        "FOVEAL_STATE_DIR": str(folder / "state"),
        "FOVEAL_CONFIG_DIR": str(folder / "config"),
    }


@contextmanager
def running(environ: Mapping[str, str], command: Sequence[str] | None = None) -> Iterator[Client]:
    """Run the daemon of an environment, and wait for its end. `command` starts another installation's."""
    with ensure_daemon(None, environ, WAIT_S, command) as client:
        process = psutil.Process(client.call("Ping")["pid"])
        try:
            yield client
        finally:
            client.call("Shutdown")
            process.wait(WAIT_S)


def open_project(client: Client, root: Path, *, embedded: bool = False) -> Opening:
    """Open a project and wait until it is known, with `embedded` until nothing waits to be embedded."""
    seen: dict[str, float] = {}
    started = time.perf_counter()
    client.call("OpenProject", {"path": str(root)}, WAIT_S)

    def look() -> bool:
        one = project(client, root)
        now = time.perf_counter() - started
        if one["state"] != "scanning":
            seen.setdefault("names", now)
        if one["state"] == "ready" or (one["state"] == "indexing" and not one["files_pending"]):
            seen.setdefault("read", now)
        if one["state"] == "degraded" or one["embedding"] == "failed":
            raise RuntimeError(f"{root} can't be indexed: {one['degraded']}")
        if one["state"] == "ready" and not one["files_unlinked"]:
            seen.setdefault("linked", now)
        if "linked" in seen and is_embedded(one):
            seen.setdefault("embedded", now)
        return ("embedded" if embedded else "linked") in seen

    wait_until(look, f"{root} to be indexed")
    one = project(client, root)
    return Opening(
        seen["names"],
        seen["read"],
        seen["linked"],
        seen.get("embedded") if embedded else None,
        one["files"],
        one["embedded"] + one["pending"],
    )


def warm_up(client: Client, root: Path) -> None:
    """Ask something, and wait until the embedding model is loaded, if embedding is on."""
    client.call("Query", {"cwd": str(root), "query": "what is this about?"}, WAIT_S)

    def is_loaded() -> bool:
        embedder = client.call("Status", {}, WAIT_S)["embedder"]
        return embedder is None or bool(embedder["loaded"])

    wait_until(is_loaded, "the embedding model")


def is_embedded(one: Mapping[str, Any]) -> bool:
    """Whether nothing of a project, as Status tells it, waits to be embedded."""
    return one["embedding"] == "off" or (one["embedding"] == "done" and not one["pending"])


def is_ready(client: Client, root: Path) -> bool:
    """Whether an open project is wholly known and compared with the disk."""
    one = project(client, root)
    return bool(one["state"] == "ready" and not one["files_unlinked"])


def project(client: Client, root: Path) -> dict[str, Any]:
    """Return an open project as Status tells it."""
    projects = client.call("Status", {}, WAIT_S)["projects"]
    found: dict[str, Any] = next(one for one in projects if one["root"] == str(root))
    return found


def wait_until(holds: Callable[[], bool], what: str, limit_s: float = WAIT_S, poll_s: float = POLL_S) -> None:
    """Wait for something. Raises `RuntimeError` when it takes longer than `limit_s`."""
    limit = time.monotonic() + limit_s
    while not holds():
        if time.monotonic() > limit:
            raise RuntimeError(f"waited {limit_s:.0f} s for {what}")
        time.sleep(poll_s)


def processes(client: Client) -> dict[str, psutil.Process]:
    """Return the processes of a daemon that run, by what they are."""
    status = client.call("Status", {}, WAIT_S)
    pids = {
        "daemon": status["pid"],
        "indexer": status["indexer_pid"],
        "embedder": (status["embedder"] or {}).get("pid"),
    }
    return {name: psutil.Process(pid) for name, pid in pids.items() if pid}


def daemon_mb(client: Client) -> float:
    """Return the resident memory of the daemon's own process in megabytes."""
    return float(client.call("Status", {}, WAIT_S)["rss_bytes"]) / 1e6


def all_mb(client: Client) -> float:
    """Return the memory of all processes of a daemon in megabytes, what they share counted once."""
    return sum(process.memory_full_info().pss for process in processes(client).values()) / 1e6


def busy_s(client: Client) -> float:
    """Return the seconds of processors' time that the processes of a daemon have taken."""
    times = [process.cpu_times() for process in processes(client).values()]
    return float(sum(each.user + each.system for each in times))
