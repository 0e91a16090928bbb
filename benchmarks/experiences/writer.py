"""The process that is killed: it changes a pool, says what was acknowledged, and ends at a given step.

A step is a call of the system that opens, locks, renames, removes or cuts a file, writes or makes durable;
at the last one the process kills itself, in the middle of a write after a part of it. Before each change it
prints what it is about to do, and after it what was acknowledged, as lines of JSON.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys

from foveal.daemon.core.errors import NotFound
from foveal.daemon.core.system import System
from foveal.daemon.memory.experience import Draft
from foveal.daemon.memory.pool import Pool
from foveal.daemon.memory.pool_filters import Criteria

ROTATE_BYTES = 12_000
"""Small, so that files are set aside every few changes."""
STEPS = frozenset({"open", "os.rename", "os.remove", "os.truncate", "fcntl.flock"})
PRUNED_OUTCOME = "success"


class Steps:
    """Counts steps, and kills the process at the last one."""

    def __init__(self, last: int) -> None:
        self._left = last
        self.counting = False

    def step(self) -> bool:
        """Count one; true if it is the last."""
        self._left -= self.counting
        return self.counting and self._left <= 0

    def audit(self, event: str, arguments: object) -> None:
        """Count what the interpreter is about to do."""
        if event in STEPS and self.step():
            os.kill(os.getpid(), signal.SIGKILL)

    def write(self, descriptor: int, data: bytes) -> int:
        """Write, or at the last step only a part."""
        if self.step():
            os.write(descriptor, data[: random.randrange(len(data) + 1)])
            os.kill(os.getpid(), signal.SIGKILL)
        return os.write(descriptor, data)


class Disk(System):
    """The system, whose syncs are steps."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps

    def fsync(self, descriptor: int) -> None:
        """Force to the disk, unless this is the last step."""
        if self._steps.step():
            os.kill(os.getpid(), signal.SIGKILL)
        super().fsync(descriptor)


def say(**fields: object) -> None:
    """Tell at once, past any buffer."""
    os.write(1, json.dumps(fields).encode() + b"\n")


class Writer:
    """Changes a pool at random, by a seed. It edits only what it grafted itself."""

    def __init__(self, pool: Pool, name: str, chance: random.Random) -> None:
        self._pool = pool
        self._name = name
        self._chance = chance
        self._own: list[str] = []
        self._number = 0

    def change(self) -> None:
        """Make one change, told before and after."""
        kind = self._chance.choices(("graft", "update", "delete", "restore", "prune"), (60, 18, 10, 6, 6))[0]
        if kind == "graft" or not self._own:
            self._graft()
        elif kind == "prune":
            self._prune()
        else:
            self._edit(kind, self._chance.choice(self._own))

    def _graft(self) -> None:
        drafts = []
        for _ in range(self._chance.randrange(1, 4)):
            self._number += 1
            outcome = self._chance.choice(("", "", PRUNED_OUTCOME, "failure"))
            text = f"{self._name} {self._number}"
            drafts.append(Draft(text, self._name, "s", "why " * self._chance.randrange(100), (), outcome))
        result = self._pool.graft(drafts)
        for experience_id, draft in zip(result.ids, drafts, strict=True):
            self._own.append(experience_id)
            say(done="graft", id=experience_id, decision=draft.decision, outcome=draft.outcome)

    def _edit(self, kind: str, experience_id: str) -> None:
        self._number += 1
        decision = f"{self._name} {self._number}"
        say(doing=kind, id=experience_id, decision=decision)
        try:
            if kind == "update":
                self._pool.update(experience_id, {"decision": decision})
            elif kind == "delete":
                self._pool.delete(experience_id)
            else:
                self._pool.restore(experience_id)
        except NotFound:
            say(done="nothing", id=experience_id)  # it was pruned by the other, or is deleted
        else:
            say(done=kind, id=experience_id, decision=decision)

    def _prune(self) -> None:
        criteria = self._chance.choice((Criteria(deleted=True), Criteria(outcomes={PRUNED_OUTCOME})))
        say(doing="prune")
        result = self._pool.prune(criteria, lambda path: True, dry_run=False)
        say(done="prune", ids=[one.id for one in result.pruned])


def main() -> None:
    """Change the pool at a path until the given step, with a name and a seed."""
    path, name, seed, last = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    steps = Steps(last)
    sys.addaudithook(steps.audit)
    random.seed(seed)
    say(done="begin")
    steps.counting = True
    pool = Pool(path, Disk(steps), write=steps.write, rotate_bytes=ROTATE_BYTES)
    writer = Writer(pool, name, random.Random(seed))
    while True:
        writer.change()


if __name__ == "__main__":
    main()
