"""Promise 3: no answer is stale without saying so, whatever storm the files went through."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from contextlib import closing

import psutil
from foveal.daemon.index.store import Reader
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from ..generations import Generations
from ..home import DEADLINE_S, Home, home, wait_until
from ..promise import Ground, Promise, Test, Trial
from ..sequences import IMPATIENT, Sequence
from ..storming import Storm

STORM = "random changes, the watcher dropped: the index equals a first indexing"
ORDERS = "random orders of requests, edits and kills: what is said to be whole is"
OVERFLOW = "the daemon is stopped while files change"

STORM_STEPS, STORM_STEPS_LEAST = 40, 12
STORMS = 5
"""Of one run; hypothesis begins each run with the simplest ones."""


def storm(ground: Ground) -> Iterator[Trial]:
    """Run storms until there were so many steps; each is compared as often as hypothesis chose."""
    number, tried = ground.seed * 10_000, 0
    while tried < ground.count:
        before = Storm.steps
        steps = min(STORM_STEPS, max(STORM_STEPS_LEAST, (ground.count - tried) // STORMS))
        lost = _run_storms(number, steps)
        made = Storm.steps - before
        yield Trial(f"storms of seed {number}, of {steps} steps", lost, made)
        tried += made
        number += 1


def _run_storms(number: int, steps: int) -> str:
    options = settings(
        max_examples=STORMS,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    try:
        run_state_machine_as_test(seed(number)(type("Storm", (Storm,), {})), settings=options)
    except Exception as error:  # noqa: BLE001 - whatever it is, the promise is broken, and is told with its steps
        return "\n".join(_told(error))
    return ""


def _told(error: BaseException) -> Iterator[str]:
    """Say what failed and by which steps; what depends on a clock may fail in several ways."""
    yield f"{type(error).__name__}: {error}"
    yield from getattr(error, "__notes__", ())
    for exception in error.exceptions if isinstance(error, BaseExceptionGroup) else ():
        yield from _told(exception)


def random_orders(ground: Ground) -> Iterator[Trial]:
    """Open, reindex, close, ask, edit and kill in random orders, one project after the other."""
    with home(ground.folder, files={}) as user:
        user.command = IMPATIENT
        for number in range(ground.count):
            yield Trial(f"{number}", Sequence(user, ground.seed * 10_000 + number).run())


def overflow(ground: Ground) -> Iterator[Trial]:
    """Stop the daemon and all its processes, change so many files that the kernel drops events, let it go
    on: by itself, without being asked for the tree, it must come to know them all."""
    with home(ground.folder, files={"keep.py": "x = 1\n"}) as user:
        project = Generations(user.project, ground.count)
        project.write()
        user.open_ready()
        for name in ("rewritten", "thinned"):
            family = [psutil.Process(user.pid), *psutil.Process(user.pid).children(recursive=True)]
            for one in family:
                one.send_signal(signal.SIGSTOP)
            if name == "rewritten":
                project.write()
            else:
                shutil.rmtree(user.project / "d1")
                for folder in range(2, 40):
                    (user.project / f"d{folder}").rename(user.project / f"e{folder}")
            for one in reversed(family):
                one.send_signal(signal.SIGCONT)
            lost = "" if wait_until(lambda: _is_known(user), 4 * DEADLINE_S, 0.3) else _unknown(user)
            yield Trial(f"{ground.count:,} files {name} meanwhile", lost, ground.count // 2)


def _is_known(user: Home) -> bool:
    status = user.call("Status", cwd=str(user.project))["projects"][0]
    return status["state"] == "ready" and not status["degraded"] and not _unknown(user)


def _unknown(user: Home) -> str:
    """Compare the names and definitions that are known with the disk."""
    files = {str(path.relative_to(user.project)): path for path in user.project.rglob("*.py")}
    (folder,) = (user.state / "projects").iterdir()
    truth = sum(path.stat().st_size for path in files.values())

    with closing(Reader(str(folder))) as reader:
        known = reader.load_files()
    sizes = sum(record.stamp.size for record in known.values())
    unread = sum(1 for record in known.values() if not record.digest)
    if known.keys() != files.keys() or sizes != truth or unread:
        return f"{len(known)} files known of {len(files)}, {unread} unread, {sizes} bytes of {truth}"
    old = [path for path, record in known.items() if record.stamp.mtime_ns != files[path].stat().st_mtime_ns]
    return f"{len(old)} files are known as they were" if old else ""


PROMISE = Promise(
    3,
    "The answer is never stale without saying so",
    (
        Test(STORM, storm, 5_000, 60),
        Test(ORDERS, random_orders, 300),
        Test(OVERFLOW, overflow, 20_000, 2_000),
    ),
)
