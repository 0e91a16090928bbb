"""Response times of other clients beside one that misbehaves: python -m benchmarks.faults.beside."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from foveal.ipc import paths
from foveal.ipc.client import Client

from .home import DEADLINE_S, PROJECT, Home, home
from .misbehaving import KINDS, misbehaving

CALLS = 2_000
FIRSTS = 50
"""First contexts that new clients ask for, a connection and a session each."""
FILES = {**PROJECT, "large.txt": "".join(f"line {n} of a log\n" for n in range(30_000))}
"""With a file whose context is large."""


@dataclass(frozen=True, slots=True)
class Fared:
    """Milliseconds of calls, the memory of the daemon in bytes after them, and what failed, in words."""

    p50: float
    p99: float
    worst: float
    rss: int
    failed: str = ""


@contextmanager
def served(folder: Path) -> Iterator[tuple[Home, str]]:
    """Give a daemon that knows its project, and its socket."""
    with home(folder, files=FILES) as user:
        user.open_ready()
        yield user, paths.find_socket(None, user.environ).path


def fare(user: Home, path: str, calls: int) -> Fared:
    """Ask for a context that is known, again and again on one connection, and take the times."""
    params = {"cwd": str(user.project), "focus_paths": ["shop/auth.py"], "session_id": "other"}
    times: list[float] = []
    failed = ""
    most = 0
    process = psutil.Process(user.pid)
    with Client.connect(path, DEADLINE_S) as client:
        for number in range(calls + 5):
            started = time.perf_counter()
            try:
                reply = client.call("GetContext", params, DEADLINE_S)
            except Exception as error:  # noqa: BLE001 - it is what this is about
                failed = f"call {number}: {error!r}"
                break
            if number >= 5:
                times.append((time.perf_counter() - started) * 1000)
            if "def login" not in reply["context"]:
                failed = f"call {number} got another context"
            if number % 50 == 0:
                most = max(most, process.memory_info().rss)
    times.sort()
    if not times:
        return Fared(0, 0, 0, most, failed)
    return Fared(statistics.median(times), times[int(len(times) * 0.99)], times[-1], most, failed)


def first_contexts(user: Home, path: str, count: int) -> list[float]:
    """Connect and ask for a context of a new session, again and again; return the milliseconds, sorted."""
    times = []
    for number in range(count):
        params = {
            "cwd": str(user.project),
            "session_id": f"first-{time.time_ns()}",
            "prompt": f"login {number}",
        }
        started = time.perf_counter()
        with Client.connect(path, DEADLINE_S) as client:
            client.call("GetContext", params, DEADLINE_S)
        times.append((time.perf_counter() - started) * 1000)
    return sorted(times)


def main() -> None:
    """Print the times of others at rest and beside each kind of misbehaviour."""
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else CALLS
    kinds = sys.argv[2:] or list(KINDS)
    with tempfile.TemporaryDirectory(prefix="fv-") as folder, served(Path(folder)) as (user, path):
        rest = fare(user, path, calls)
        print("| beside | P50 ms | P99 ms | P99 / at rest | first context P50, P99 ms | daemon, MB |")
        print("|---|---|---|---|---|---|")
        alone = _ends(first_contexts(user, path, FIRSTS))
        print(f"| nobody | {rest.p50:.2f} | {rest.p99:.2f} | 1.0 | {alone} | {rest.rss / 1e6:.0f} |")
        for kind in kinds:
            with misbehaving(kind, path, str(user.project)):
                firsts = first_contexts(user, path, FIRSTS)
                one = fare(user, path, calls)
            ratio = one.p99 / rest.p99 if rest.p99 else 0
            print(
                f"| {kind} | {one.p50:.2f} | {one.p99:.2f} | {ratio:.1f} | {_ends(firsts)} |"
                f" {one.rss / 1e6:.0f} | {one.failed}",
                flush=True,
            )


def _ends(times: list[float]) -> str:
    return f"{statistics.median(times):.0f}, {times[int(len(times) * 0.99)]:.0f}"


if __name__ == "__main__":
    main()
