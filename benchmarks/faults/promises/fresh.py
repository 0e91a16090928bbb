"""Promise 3: no answer is stale without saying so, whatever storm the files went through."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
from foveal.daemon.index.store import Reader
from foveal.ipc.client import Client
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from ..generations import Generations
from ..home import DEADLINE_S, Home, home, wait_until
from ..indexed import differences, first_indexing, image_of
from ..promise import Ground, Promise, Test, Trial
from ..sequences import IMPATIENT, Sequence
from ..storming import Storm

PROOF = "tests/test_faults_fresh.py"
STORM = "random changes, the watcher dropped: the index equals a first indexing"
KILLED = "kill -9 while indexing: Status and answers tell the truth"
ASKED = "16 writers write while one asks"
ORDERS = "random orders of requests, edits and kills: what is said to be whole is"
OVERFLOW = "the daemon is stopped while files change"

STORM_STEPS, STORM_STEPS_LEAST = 40, 12
STORMS = 5
"""Of one run; hypothesis begins each run with the simplest ones."""

FILES = 160
"""Enough to be indexed for a while, and so few that all their definitions come in one answer."""

KILL_MAX_S = 0.9
WRITERS = 16
WORDS = ("walrus",)


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


def kill_indexing(ground: Ground) -> Iterator[Trial]:
    """Change all files, kill the daemon or its indexer on the way, and ask until all is indexed again."""
    chance = random.Random(ground.seed)
    with home(ground.folder, files={}) as user:
        project = Generations(user.project, FILES)
        project.write()
        user.open_ready()
        for number in range(ground.count):
            project.write()
            with user.client() as client:
                client.call("OpenProject", {"path": str(user.project)}, DEADLINE_S)
                seconds = chance.random() * KILL_MAX_S
                time.sleep(seconds)
                whom = chance.choice(("daemon", "indexer"))
                if not user.pid:
                    yield Trial(f"{number}", f"the daemon ended by itself: {user.log()[-2000:]}")
                elif whom == "daemon":
                    user.kill()
                else:
                    _kill_indexer(user)
            yield Trial(f"{number}: the {whom} after {seconds:.3f} s", _lies_until_ready(user, project))


def _kill_indexer(user: Home) -> None:
    """Kill the indexer and wait until the daemon knows.

    Before, as before the watcher heard of a write, nobody can tell that there is anything new.
    """
    with user.client() as client:
        pid = client.call("Status", {}, DEADLINE_S)["indexer_pid"]
        if pid is not None:
            psutil.Process(pid).kill()
            wait_until(lambda: client.call("Status", {}, DEADLINE_S)["indexer_pid"] != pid)


def _lies_until_ready(user: Home, project: Generations) -> str:
    """Ask until Status says ready; then the index must be what a first indexing makes."""
    deadline = time.monotonic() + DEADLINE_S
    state = ""
    with user.client() as client:
        client.call("OpenProject", {"path": str(user.project)}, DEADLINE_S)
        while state != "ready" and time.monotonic() < deadline:
            state, wrong = project.lies(client)
            if wrong:
                return wrong
    if state != "ready":
        return f"it is {state} after {DEADLINE_S} s"
    (folder,) = (user.state / "projects").iterdir()
    image = image_of(folder, WORDS)
    truth = first_indexing(user.project, user.folder / "truth", WORDS)
    shutil.rmtree(user.folder / "truth")
    return "; ".join(differences(image, truth)[:3])


def write_and_ask(ground: Ground) -> Iterator[Trial]:
    """Ask for what 16 writers write all the time, by names and by contents, in every way of freshness."""
    with home(ground.folder, files={}) as user:
        writers = [_Writer(user.project, number) for number in range(WRITERS)]
        user.open_ready()
        stop = threading.Event()
        threads = [threading.Thread(target=writer.run, args=(stop,)) for writer in writers]
        for thread in threads:
            thread.start()
        try:
            with user.client() as client:
                for number in range(ground.count):
                    yield Trial(f"answer {number}", _stale(client, user.project, writers, number % 3))
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        yield Trial(f"{sum(writer.done for writer in writers):,} writes", _end_state(user, writers), 0)


def random_orders(ground: Ground) -> Iterator[Trial]:
    """Open, reindex, close, ask, edit and kill in random orders, one project after the other."""
    with home(ground.folder, files={}) as user:
        user.command = IMPATIENT
        for number in range(ground.count):
            yield Trial(f"{number}", Sequence(user, ground.seed * 10_000 + number).run())


class _Writer:
    """Writes a file in place, again and again, and a second one under another name each time."""

    def __init__(self, root: Path, number: int) -> None:
        self.number = number
        self.done = 0
        self._folder = root / "gen"
        self._folder.mkdir(exist_ok=True)
        self._write(0)
        (self._folder / f"m{number}_0.py").write_text("x = 1\n")

    def run(self, stop: threading.Event) -> None:
        """Write until told to stop."""
        while not stop.wait(0.01):  # 16 writers without a pause leave no time to ask
            number = self.done + 1
            self._write(number)
            source = self._folder / f"m{self.number}_{self.done}.py"
            source.rename(self._folder / f"m{self.number}_{number}.py")
            self.done = number

    def _write(self, number: int) -> None:
        path = self._folder / f"w{self.number}.py"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
        os.pwrite(descriptor, f"def w_{self.number:02}_of_{number:07}(): ...\n".encode(), 0)
        os.close(descriptor)


_SHOWN = re.compile(r"w_(\d\d)_of_(\d{7})")
_NAMED = re.compile(r"m(\d+)_(\d+)\.py")


def _stale(client: Client, root: Path, writers: list[_Writer], way: int) -> str:
    """Ask in one of three ways; return what was older than what had been written when it was asked."""
    least = [writer.done for writer in writers]
    if way == 0:  # contents: shown as they are, or left out where there was no time to read them
        reply = _context(client, root, [f"gen/w{one.number}.py" for one in writers])
        found = _numbers(_SHOWN, reply["context"])
        unsure = reply["partial"] and bool(found)
    elif way == 1:  # definitions: those of changed files are read again, or left out
        answer = client.call("FindSymbols", {"cwd": str(root), "query": "w_", "limit": 500}, DEADLINE_S)
        found = _numbers(_SHOWN, " ".join(symbol["symbol"] for symbol in answer["symbols"]))
        unsure = answer["degraded"] or answer["partial"]
    else:  # names: all of them, or the answer says that it could not be sure
        reply = _context(client, root, ["gen"], fresh="tree")
        if not _is_whole(reply):
            return ""
        found, unsure = _numbers(_NAMED, _told_in(reply)), False
    wrong = [
        f"{number}: {found.get(number)} < {last}"
        for number, last in enumerate(least)
        if found.get(number, last if unsure else -1) < last
    ]
    return f"way {way}: {', '.join(wrong)}" if wrong else ""


def _context(client: Client, root: Path, focus: list[str], **params: Any) -> Any:
    asked = {"cwd": str(root), "focus_paths": focus, "max_tokens": 50_000, **params}
    return client.call("GetContext", asked, DEADLINE_S)


def _is_whole(reply: Any) -> bool:
    """Whether a context claims that nothing is missing."""
    return not reply["degraded"] and not reply["partial"]


def _told_in(reply: Any) -> str:
    """Return a context, with what it says is missing."""
    return "\n".join([*reply["gaps"], reply["context"]])


def _numbers(pattern: re.Pattern[str], text: str) -> dict[int, int]:
    found: dict[int, int] = {}
    for writer, number in pattern.findall(text):
        found[int(writer)] = max(int(number), found.get(int(writer), -1))
    return found


def _end_state(user: Home, writers: list[_Writer]) -> str:
    """Once the writers rest, an answer is whole: the first, or on a busy machine a later one."""
    with user.client() as client:
        asked = iter(lambda: _context(client, user.project, ["gen"], fresh="tree"), None)
        deadline = time.monotonic() + DEADLINE_S
        reply = next(one for one in asked if _is_whole(one) or time.monotonic() > deadline)
    found = _numbers(_NAMED, _told_in(reply)) if _is_whole(reply) else {}
    missing = [str(writer.number) for writer in writers if found.get(writer.number) != writer.done]
    return f"the last names of {', '.join(missing)} are missing" if missing else ""


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
        Test(STORM, storm, 5_000, PROOF, 60),
        Test(ORDERS, random_orders, 300, PROOF),
        Test(KILLED, kill_indexing, 200, PROOF, 5),
        Test(ASKED, write_and_ask, 1_000, PROOF, 60),
        Test(OVERFLOW, overflow, 20_000, PROOF, 2_000),
    ),
)
