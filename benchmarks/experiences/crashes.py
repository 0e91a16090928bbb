"""The proof by crashes: two writers at a time are killed at random steps, and nothing is lost."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from foveal.daemon.core.system import System
from foveal.daemon.memory.pool import Pool
from foveal.daemon.memory.pool_filters import ExperienceListing

from .writer import PRUNED_OUTCOME, ROTATE_BYTES

STEPS_MAX = 400
"""Opening a pool takes some twenty steps, a change about ten."""


@dataclass(slots=True)
class Expected:
    """What the pool must say of an experience: the decisions that it may have, whether it may be gone."""

    decisions: set[str]
    prunable: bool = False
    deleted: set[bool] = field(default_factory=lambda: {False})
    may_be_gone: bool = False
    must_be_gone: bool = False


@dataclass(slots=True)
class Crashes:
    """What happened: how many writers were killed, what they had acknowledged, and what is wrong."""

    kills: int = 0
    acknowledged: Counter[str] = field(default_factory=Counter)
    repaired_tails: int = 0
    files_max: int = 0
    wrong: list[str] = field(default_factory=list)


def crash(folder: Path, kills: int, seed: int) -> Crashes:
    """Kill so many writers of one pool in a folder, two at a time, and look at the pool after each pair."""
    path = str(folder / "experiences.jsonl")
    chance = random.Random(seed)
    crashes = Crashes()
    expected: dict[str, Expected] = {}
    while crashes.kills < kills:
        names = [f"writer {crashes.kills}", f"writer {crashes.kills + 1}"]
        told = _killed(path, names, chance)
        crashes.kills += len(names)
        lines = [json.loads(line) for text in told for line in text.splitlines() if line.endswith("}")]
        pruning = any(line.get("doing") == "prune" for line in lines)
        for text in told:
            _expect(expected, map(json.loads, text.splitlines()))
        if pruning:
            _may_be_pruned(expected)
        crashes.acknowledged.update(line["done"] for line in lines if "done" in line)
        _look(path, expected, crashes)
    return crashes


def _killed(path: str, names: list[str], chance: random.Random) -> list[str]:
    """Run writers beside each other until each has killed itself; return what they told, in whole lines."""
    module = f"{__package__}.writer"
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", module, path, name, str(chance.randrange(1 << 30)),
             str(chance.randrange(1, STEPS_MAX))],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]  # fmt: skip
    told = []
    for process in processes:
        output, errors = process.communicate()
        if process.returncode != -9:
            raise RuntimeError(f"a writer ended by itself: {errors}")
        told.append(output[: output.rfind("\n") + 1])
    return told


def _expect(expected: dict[str, Expected], lines: Iterable[dict[str, Any]]) -> None:
    """Take in what one writer told, in its order."""
    for line in lines:
        kind = line.get("done", line.get("doing"))
        if "done" in line and kind == "graft":
            expected[line["id"]] = Expected({line["decision"]}, line["outcome"] == PRUNED_OUTCOME)
        elif kind == "prune":
            for experience_id in line.get("ids", ()):
                gone = expected.setdefault(experience_id, Expected(set()))
                gone.must_be_gone = True
        elif kind == "update":
            decisions = expected[line["id"]].decisions
            decisions |= {line["decision"]}
            if "done" in line:
                decisions &= {line["decision"]}
        elif kind in ("delete", "restore"):
            deleted = expected[line["id"]].deleted
            deleted |= {kind == "delete"}
            if "done" in line:
                deleted &= {kind == "delete"}


def _may_be_pruned(expected: dict[str, Expected]) -> None:
    """Let go what a pruning may have removed: by its outcome, or since it was deleted at any time."""
    for one in expected.values():
        one.may_be_gone |= one.prunable or True in one.deleted


def _look(path: str, expected: dict[str, Expected], crashes: Crashes) -> None:
    """Open the pool as a daemon would, and compare it with what was acknowledged."""
    pool = Pool(path, System(), rotate_bytes=ROTATE_BYTES)
    shown = {one.id: one for one in pool.list()[0]}
    trash = {one.id: one for one in pool.list(ExperienceListing(deleted=True))[0]}
    for experience_id, one in expected.items():
        found = shown.get(experience_id) or trash.get(experience_id)
        if found is None:
            if not (one.may_be_gone or one.must_be_gone):
                crashes.wrong.append(f"{experience_id} is lost")
        elif one.must_be_gone:
            crashes.wrong.append(f"{experience_id} was pruned and is back")
        elif found.decision not in one.decisions:
            crashes.wrong.append(f"{experience_id} says {found.decision!r}, not {one.decisions}")
        elif (experience_id in trash) not in one.deleted:
            crashes.wrong.append(f"{experience_id} should be deleted: {one.deleted}")
    statistics = pool.statistics()
    if statistics.bad_lines or statistics.problem or statistics.unknown_lines or statistics.repeated_lines:
        crashes.wrong.append(str(statistics))
    crashes.repaired_tails += statistics.repaired_tails
    crashes.files_max = max(crashes.files_max, statistics.parts)
