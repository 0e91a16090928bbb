"""Promise 9: a newer state folder is left alone, an older one is brought up, kills on the way or not."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path

from foveal.daemon.core.state_folder import STATE_VERSION, Migration, bring_up, check_version
from foveal.daemon.core.system import System
from foveal.daemon.project.roots import project_folder
from foveal.ipc.errors import DaemonUnavailable

from ..damaging import files_below
from ..filled import fill, project_files
from ..home import PROJECT, Home, home
from ..promise import Ground, Promise, Test, Trial

PROOF = "tests/faults/test_versions.py"
NEWER = "a newer folder, filled, met by a daemon"
KILLED = "a migration killed at each sync"
FIRST = "the layout of the first release"
SYNCS_MAX = 40
START_S = 20.0

UNTOUCHED = frozenset({"start.lock", "foveal.log"})
"""What a client opens to start a daemon, and where that says why it ended."""


class Killed(BaseException):
    """Ends a migration as a kill does: nothing may catch it to tidy up."""


class KillingDisk(System):
    """A disk on which the process is killed at the sync of a given number."""

    def __init__(self, syncs: int) -> None:
        self._left = syncs

    def fsync(self, descriptor: int) -> None:
        """Force to the disk, unless this is the last step."""
        if self._left == 0:
            raise Killed
        self._left -= 1
        super().fsync(descriptor)


def meet_newer(ground: Ground) -> Iterator[Trial]:
    """Mark a used folder as a newer program's, let a client start a daemon, and compare every byte."""
    with home(ground.folder / "h", files={**PROJECT, **project_files()}) as user:
        fill(user, embedded=False)
        user.kill_all()
        for number in range(ground.count):
            mark = {"state_version": STATE_VERSION + 1 + number, **({"more": True} if number % 2 else {})}
            (user.state / "version.json").write_text(json.dumps(mark))
            before = _content(user.state)
            lost = ""
            try:
                user.client(START_S).close()
                lost = "a daemon served it"
            except DaemonUnavailable as error:
                if "newer foveal" not in str(error):
                    lost = f"the reason isn't told: {error}"
            changed = [name for name, data in _content(user.state).items() if before.get(name) != data]
            yield Trial(f"version {mark}", lost or ", ".join(changed))


def kill_migrations(ground: Ground) -> Iterator[Trial]:
    """Kill a migration of two steps once or several times at random syncs, then let it end."""
    chance = random.Random(ground.seed)
    steps: Mapping[int, Migration] = {1: _rename_trust, 2: _mark_sessions}
    for number in range(ground.count):
        folder = ground.folder / str(number)
        files = {f"sessions/s{one}/meta.json": f"session {one}" for one in range(chance.randrange(1, 6))}
        files |= {
            "trusted.json": "trust",
            "projects/p/experiences.jsonl": "{}\n",
            "projects/p/index.sqlite": "x",
        }
        for name, text in {**files, "version.json": '{"state_version": 1}'}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        kills = [chance.randrange(SYNCS_MAX) for _ in range(chance.randrange(1, 4))]
        for syncs in kills:
            try:
                bring_up(str(folder), KillingDisk(syncs), 3, steps)
            except Killed:
                continue
        bring_up(str(folder), System(), 3, steps)
        yield Trial(f"killed at the syncs {kills}", _unlike(folder, files))


def open_first(ground: Ground) -> Iterator[Trial]:
    """Serve a folder as the first release left it: decisions and scopes are there, the index is made anew."""
    for number in range(ground.count):
        with home(ground.folder / str(number)) as user:
            _write_first(user)
            decisions = user.call("ListExperiences", cwd=str(user.project))["experiences"]
            context = user.call("GetContext", cwd=str(user.project), focus_paths=["shop/auth.py"])
            (project,) = user.call("Status", cwd=str(user.project))["projects"]
            lost = []
            if [decision["decision"] for decision in decisions] != ["old decision"]:
                lost.append("the decision is lost")
            if "def login" not in context["context"]:
                lost.append("no context was built")
            if any("index.sqlite" in said for said in project["degraded"]):
                lost.append(f"an update is told as damage: {project['degraded']}")
            yield Trial("the first layout", "; ".join(lost))


def _write_first(user: Home) -> None:
    """Write what the first release had: no sessions, items or requests, an index of another schema, and
    experiences without what came later."""
    folder = Path(project_folder(str(user.state), str(user.project)))
    folder.mkdir(mode=0o700, parents=True)
    user.state.chmod(0o700)
    (user.state / "version.json").write_text('{"state_version": 1}\n')
    (folder / "project.json").write_text(json.dumps({"root": str(user.project)}))
    provenance = {"source": "client", "reference": ""}
    line = {"id": "x_204022edc76dd5e2", "timestamp": "2026-01-22T15:11:26.094Z", "agent_id": "a",
            "session_id": "s", "decision": "old decision", "provenance": provenance}  # fmt: skip
    (folder / "experiences.jsonl").write_text(json.dumps(line) + "\n")
    database = sqlite3.connect(folder / "index.sqlite")
    database.executescript("CREATE TABLE meta (key TEXT, value); PRAGMA user_version = 1;")
    database.close()


def _rename_trust(folder: str, system: System) -> None:
    old, new = Path(folder, "trusted.json"), Path(folder, "trust.json")
    if old.exists():
        system.write_atomic(str(new), old.read_bytes().upper())
        old.unlink()


def _mark_sessions(folder: str, system: System) -> None:
    for path in Path(folder, "sessions").glob("*/meta.json"):
        if not path.read_text().endswith("!"):
            system.write_atomic(str(path), path.read_bytes() + b"!")


def _unlike(folder: Path, files: Mapping[str, str]) -> str:
    """Return what isn't as the migration leaves it, or isn't in the backup."""
    mark = check_version(str(folder), System(), 3)
    if mark is None or (mark.version, mark.migrating_from) != (3, 0):
        return f"the mark is {mark}"
    for name, text in files.items():
        now = {"trusted.json": ("trust.json", text.upper())}.get(name, (name, text))
        ending = "!" if name.startswith("sessions") else ""
        if (folder / now[0]).read_text() != now[1] + ending:
            return f"{now[0]} is {(folder / now[0]).read_text()!r}"
        if "index" not in name and (folder / "backups/v1" / name).read_text() != text:
            return f"{name} is not in the backup"
    return ""


def _content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in files_below(folder)
        if path.name not in UNTOUCHED
    }


PROMISE = Promise(
    9,
    "A newer state folder is left untouched, an older one is migrated",
    (
        Test(NEWER, meet_newer, 20, PROOF),
        Test(KILLED, kill_migrations, 1_000, PROOF),
        Test(FIRST, open_first, 5, PROOF, 2),
    ),
)
