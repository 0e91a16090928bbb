"""The seats of agents: a checkout for each arm of a code base, under a name that doesn't tell the arm."""

from __future__ import annotations

import json
import os
import random
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from ..needed.projects import provide
from ..own_daemon import environment
from .tasks import TaskSet

OWN_PROGRAM = Path(sys.executable).with_name("foveal")
ARMS = ("with", "without")
SEED = 33
SHELLS = ("bash", "sh", "zsh")

_SHELL = "#!/bin/sh\nexec {python} -P -m foveal.benchmarks.worth.shell {seat} {words}\n"
_FOVEAL = '#!/bin/sh\nexport {variables}\nexec {program} "$@"\n'


@dataclass(frozen=True, slots=True)
class Seat:
    """Where one arm of a code base works. `program` is the foveal of the arm that has it."""

    folder: Path
    project: str
    arm: str
    program: Path
    data: Path

    @property
    def root(self) -> Path:
        """The checkout."""
        return self.folder / self.project

    @property
    def log(self) -> Path:
        """What its agent read, a JSON object a line."""
        return self.folder / "log.jsonl"

    def answer(self, task: str) -> Path:
        """Return the file of the answer to a task."""
        return self.folder / "answers" / f"{task}.md"

    def environ(self) -> dict[str, str]:
        """Return the environment of commands: the same in both arms but for what their first folder has."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("FOVEAL_", "XDG_"))}
        left_out = str(self.folder / "shells")
        paths = [
            path
            for path in kept["PATH"].split(os.pathsep)
            if path != left_out and not (Path(path) / "foveal").exists()
        ]
        return kept | {"PATH": os.pathsep.join([str(self.folder / "bin"), *paths])}


def daemon_folder(state: Path, program: Path) -> Path:
    """Return the folder of the daemon of an installation: another version may not read this one's state."""
    digest = sha256(str(program).encode()).hexdigest()[:8]
    return state / ("daemon" if program == OWN_PROGRAM else f"daemon-{digest}")


def arrange(sets: Sequence[TaskSet], clones: Path, state: Path, program: Path, data: Path) -> list[Seat]:
    """Make the seats of code bases, both arms of each. What their agents did before stays."""
    chooser = random.Random(SEED)
    seats = []
    for each in sets:
        for letter, arm in zip("ab", chooser.sample(ARMS, len(ARMS)), strict=True):
            seat = Seat(state / f"{each.name}-{letter}", each.name, arm, program, data)
            provide(each.repository, clones, seat.folder)
            _write_programs(seat)
            seats.append(seat)
    known = {one.folder.name: one for one in [*(read_seats(state) if _file(state).exists() else []), *seats]}
    rows = {
        name: {"project": one.project, "arm": one.arm, "program": str(one.program), "data": str(one.data)}
        for name, one in known.items()
    }
    _file(state).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return seats


def read_seats(state: Path) -> list[Seat]:
    """Return the seats that were made."""
    rows: dict[str, dict[str, str]] = json.loads(_file(state).read_text(encoding="utf-8"))
    return [
        Seat(state / name, row["project"], row["arm"], Path(row["program"]), Path(row["data"]))
        for name, row in rows.items()
    ]


def _file(state: Path) -> Path:
    return state / "arms.json"


def _write_programs(seat: Seat) -> None:
    """Write `worth-sh`, shells for hosts, and foveal in the arm with it."""
    python, folder = shlex.quote(sys.executable), shlex.quote(str(seat.folder))
    scripts = {"bin/worth-sh": _SHELL.format(python=python, seat=folder, words='"$@"')}
    for name in SHELLS:
        scripts[f"shells/{name}"] = _SHELL.format(python=python, seat=folder, words=f'host {name} "$@"')
    if seat.arm == "with":
        environ = environment(daemon_folder(seat.folder.parent, seat.program))
        names = ("HOME", "XDG_RUNTIME_DIR", "FOVEAL_STATE_DIR", "FOVEAL_CONFIG_DIR")
        variables = " ".join(f"{name}={shlex.quote(environ[name])}" for name in names)
        scripts["bin/foveal"] = _FOVEAL.format(variables=variables, program=shlex.quote(str(seat.program)))
    for name, text in scripts.items():
        path = seat.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
