"""Promise 5: what the machine denies for a while is told in Status, and all is as it was afterwards."""

from __future__ import annotations

import errno
import os
import random
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from foveal.ipc.errors import DaemonUnavailable, RpcError

from .. import jumping_clock
from ..home import PROJECT, Home, home, wait_until
from ..promise import Ground, NotHere, Promise, Test, Trial

FULL = "the disk is full for a while"
READ_ONLY = "the state folder is read-only for a while"
CLOCK = "the clock jumps"

CONFIG = "[embedding]\nenabled = false\n[scan]\npoll_interval_ms = 200\nsweep_interval_s = 2\n"
"""What waits for the next look at the tree, a minute later by default, is not to hold up the trials."""

DISK = "24m"
"""The size of the disk that runs full: some times what a small project takes."""
RECOVERY_S = 20.0
"""The indexer waits 10 s before it is started again, the writers 2."""


@dataclass
class Life:
    """What a user did, and what of it was acknowledged."""

    user: Home
    number: int = 0
    stored: list[str] = field(default_factory=list)

    def ask(self) -> str:
        """Ask for a context and a decision to be kept; returns what was wrong with the answers, not that
        something could not be kept."""
        self.number += 1
        root = str(self.user.project)
        focus = {"focus_paths": ["shop/sessions.py"], "prompt": f"question {self.number}"}
        try:
            context = self.user.call("GetContext", cwd=root, **focus)["context"]
        except RpcError as error:
            return f"no context: {error}"
        decision = f"decision {self.number}"
        given = {"decision": decision, "agent_id": "a", "session_id": "s"}
        try:
            if self.user.call("GraftExperience", cwd=root, experience=given)["grafted"]:
                self.stored.append(decision)
        except RpcError as error:
            if not str(error):
                return "an error without words"
        return "" if "class Session" in context else "the context lacks its focus"

    def lost(self) -> str:
        """Return what was acknowledged and isn't there any more."""
        found = self.user.call("ListExperiences", cwd=str(self.user.project), limit=1_000)["experiences"]
        there = {one["decision"] for one in found}
        gone = [one for one in self.stored if one not in there]
        return f"{len(gone)} acknowledged decisions are gone: {gone[:3]}" if gone else ""

    def told(self) -> list[str]:
        """Return what Status says is wrong, with the daemon and with the project."""
        status = self.user.call("Status", cwd=str(self.user.project))
        return [
            *status["degraded"],
            *(said for project in status["projects"] for said in project["degraded"]),
        ]

    def works_again(self) -> bool:
        """Whether nothing is wrong any more, and a file that was just written is known."""
        try:
            status = self.user.call("Status", cwd=str(self.user.project))
        except RpcError:
            return False
        (project,) = status["projects"] or [{"degraded": ["not open"], "state": ""}]
        return not status["degraded"] and not project["degraded"] and project["state"] == "ready"

    def knows_edits(self) -> str:
        """Write a file and look for what is in it."""
        self.number += 1
        (self.user.project / f"new{self.number}.py").write_text(f"def fresh_{self.number}():\n    pass\n")
        root = str(self.user.project)
        focus = [f"new{self.number}.py"]
        reply = self.user.call("GetContext", cwd=root, focus_paths=focus, fresh="tree")
        if f"def fresh_{self.number}" not in reply["context"]:
            return "a file that was just written isn't known"
        found = self.user.call("FindSymbols", cwd=root, query=f"fresh_{self.number}")["symbols"]
        return "" if found else "a definition that was just written isn't known"


def through(life: Life, said: Sequence[str], begin: Callable[[], None], end: Callable[[], None]) -> str:
    """Live through a time in which something is denied; returns what went wrong."""
    pid = life.user.pid
    begin()
    try:
        lost = life.ask() or life.ask()
        told = " ".join(life.told())
        if not any(word in told for word in said):
            lost = lost or f"Status doesn't say so: {told!r}"
    finally:
        end()
    if not wait_until(life.works_again, RECOVERY_S, 0.1):
        lost = lost or f"it didn't recover: {life.told()}"
    lost = lost or life.ask() or life.knows_edits() or life.lost()
    return lost or ("" if life.user.pid == pid else "the daemon ended")


def fill_disk(ground: Ground) -> Iterator[Trial]:
    """Fill the disk of the state folder to a random byte, live on, and make room again; at last stop it and
    kill it while it is full, and look for what was acknowledged."""
    chance = random.Random(ground.seed)
    with ExitStack() as stack:
        user = stack.enter_context(home(ground.folder / "h", config=CONFIG))
        user.state.mkdir(mode=0o700)
        stack.enter_context(_mounted("-t", "tmpfs", "-o", f"size={DISK},mode=0700", "tmpfs", str(user.state)))
        stack.callback(user.kill_all)
        user.open_ready()
        life, filler = Life(user), user.state / "filler"
        for number in range(ground.count):
            left = chance.choice((0, 0, 4096, 40_960))

            def fill(left: int = left) -> None:
                _fill(filler, left)

            lost = through(life, ("full",), fill, filler.unlink)
            if not lost and number % 5 == 0:
                _fill(filler, 0)
                life.ask()
                (user.kill_all if number % 2 else user.end)()
                if "Traceback" in user.log().rpartition("shutting down")[2]:
                    lost = f"it ended with a traceback: {user.log()[-500:]}"
                filler.unlink()
                lost = lost or life.lost() or life.ask()
                wait_until(life.works_again, RECOVERY_S, 0.1)
            yield Trial(f"full to {left} bytes, time {number}", lost)


def make_read_only(ground: Ground) -> Iterator[Trial]:
    """Mount the state folder over itself to read only, live on, and take that away again."""
    with home(ground.folder / "h", config=CONFIG) as user:
        user.open_ready()
        life, state = Life(user), str(user.state)

        def begin() -> None:
            _mount("--bind", state, state)
            _mount("-o", "remount,ro,bind", state)

        def end() -> None:
            _mount("-o", "remount,rw,bind", state)
            subprocess.run(["umount", "--lazy", state], check=True)  # files are open on it

        for number in range(ground.count):
            lost = through(life, ("read-only",), begin, end)
            if not lost and number % 5 == 4:
                lost = _start_refused(user, begin, end)
            yield Trial(f"read-only, time {number}", lost)


def _start_refused(user: Home, begin: Callable[[], None], end: Callable[[], None]) -> str:
    """Try to start a daemon on a folder that can't be written: the reason is told, and later it starts."""
    user.end()
    begin()
    try:
        user.client().close()
        return "a daemon was started that can keep nothing"
    except DaemonUnavailable as error:
        said = "Read-only" in str(error) and "FOVEAL_STATE_DIR" in str(error)
        lost = "" if said else f"the reason isn't told: {error}"
    finally:
        end()
    user.open_ready()
    return lost


def jump(ground: Ground) -> Iterator[Trial]:
    """Let the clock jump by seconds to decades, there and back: answers come, and nothing is lost.

    Records of requests are not looked at: they age by the clock.
    """
    chance = random.Random(ground.seed)
    clock = ground.folder / "clock"
    jumping_clock.set_clock(clock, 0)
    with home(
        ground.folder / "h", config=CONFIG, files=PROJECT, **{jumping_clock.VARIABLE: str(clock)}
    ) as user:
        user.command = jumping_clock.COMMAND
        user.open_ready()
        life = Life(user)
        root = str(user.project)
        user.call("CreateSession", cwd=root, session_id="kept")
        for number in range(ground.count):
            seconds = chance.choice((-1, 1)) * 10 ** chance.uniform(0, 9)
            jumping_clock.set_clock(clock, seconds)
            lost = life.ask() or life.knows_edits()
            kept = user.call("UpdateSession", session_id="kept", name=f"name {number}")
            user.call("ListSessions", cwd=root)
            if number % 5 == 4:
                user.kill_all()
                user.open_ready()
            jumping_clock.set_clock(clock, 0)
            lost = lost or life.ask() or life.lost()
            if user.call("GetSession", session_id="kept")["name"] != kept["name"]:
                lost = lost or "a change of a session is lost"
            yield Trial(f"the clock jumps by {seconds:,.0f} s", lost)


@contextmanager
def _mounted(*arguments: str) -> Iterator[None]:
    _mount(*arguments)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", arguments[-1]], check=True)


def _mount(*arguments: str) -> None:
    if os.geteuid() != 0:
        raise NotHere("only root may mount a disk that can be filled or made read-only")
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotHere(f"nothing can be mounted here: {done.stderr.strip()}")


def _fill(path: Path, left: int) -> None:
    """Write a file until the disk is full, and give so many bytes back."""
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(65_536))
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
        size = file.tell()
        try:
            while True:
                size += file.write(bytes(4096)) or 0
        except OSError:
            file.truncate(max(0, size - left))


PROMISE = Promise(
    5,
    "It keeps working when the machine denies something",
    (
        Test(FULL, fill_disk, 60, 5),
        Test(READ_ONLY, make_read_only, 60, 5),
        Test(CLOCK, jump, 200),
    ),
)
