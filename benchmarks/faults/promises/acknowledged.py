"""Promise 1: what was acknowledged is durable, also if the power fails."""

from __future__ import annotations

import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from ..acknowledging import History, Writer, read_values, write_servers
from ..home import DEADLINE_S, Home, home, wait_until
from ..power_cut import Disk, Loss
from ..promise import Ground, Promise, Test, Trial
from ..recording import calls_in, strace_command

CUT = "power cut: recorded system calls replayed"
WRITERS = 4


def cut_power(ground: Ground) -> Iterator[Trial]:
    """Record what a daemon does to its state folder while a client writes; then cut the power at places after
    answers, with all that was not forced to the disk lost, or some, and read what is left."""
    names = [f"writer-{number}" for number in range(WRITERS)]
    history = History()
    trace = ground.folder / "trace"
    with home(ground.folder / "h") as user:
        _record(user, trace, names, history, min(ground.count, CHANGES_MAX), ground.seed)
        calls = list(calls_in(trace))
        disk = Disk(user.state.parent, calls)
    places = [call.ended for call in calls if call.at >= history.begun and call.at <= history.ended]
    times = {call.ended: call.at for call in calls}
    chance = random.Random(ground.seed)
    for number in range(ground.count):
        place = chance.choice(places)
        loss: Loss = "all" if number % 2 else "some"
        left = Home(ground.folder / f"cut-{number}")
        disk.after_cut(place, loss, chance, left.folder)
        lost = history.wrong_at(times[place], read_values(left, names))
        lost += _broken_databases(left)
        yield Trial(f"cut after call {place}, {loss} unsynced lost", "; ".join(lost))
        shutil.rmtree(left.folder)


CHANGES_MAX = 300


def _record(user: Home, trace: Path, names: list[str], history: History, changes: int, seed: int) -> None:
    command = strace_command([sys.executable, "-m", "foveal", "up", "--foreground"], trace)
    write_servers(user.project, names, 0)
    with subprocess.Popen(command, env=user.environ, stdout=subprocess.DEVNULL) as process:
        # Not by starting one where none listens yet: that would wait for the lock of the recorded one.
        if not wait_until(user.answers):
            raise TimeoutError(f"the recorded daemon didn't start: {user.log()}")
        with user.client() as client:
            client.call("OpenProject", {"path": str(user.project)}, DEADLINE_S)
            writers = [Writer(user, name, names, history, seed + place) for place, name in enumerate(names)]
            for number in range(changes):
                writers[number % len(writers)].work(client)
        user.kill()
        process.wait(DEADLINE_S)


def _broken_databases(user: Home) -> list[str]:
    """Return which databases a cut left damaged: they may have lost the last changes, and nothing else."""
    broken = []
    for path in user.state.glob("*.sqlite"):
        database = sqlite3.connect(path)
        try:
            (found,) = database.execute("PRAGMA integrity_check(1)").fetchone()
        except sqlite3.DatabaseError as error:
            found = str(error)
        database.close()
        if found != "ok":
            broken.append(f"{path.name}: {found}")
    return broken


PROMISE = Promise(
    1,
    "What was acknowledged is durable",
    (Test(CUT, cut_power, 2000),),
)
