"""Agents that are no person's: a command line, run once for each task in each seat."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence

from .seats import Seat
from .shell import answer, begin
from .tasks import TaskSet

AGENT_S = 1_800.0
"""Seconds for one task."""


def run_agents(seats: Sequence[Seat], sets: Sequence[TaskSet], command: str) -> None:
    """Have each task answered in each seat that has no answer to it yet, one arm after the other.

    `command` is a shell's command line, in which `{prompt_file}` stands for the file with the prompt. What
    it prints is the answer. Its commands go through the logging shell if it starts `$SHELL` or a shell by
    its name.
    """
    for each in sets:
        for task in each.tasks:
            for seat in seats:
                if seat.project != each.name or seat.answer(task.id).exists():
                    continue
                print(f"{seat.folder.name}: {task.id}", file=sys.stderr, flush=True)
                prompt = seat.folder / "prompt.md"
                prompt.write_text(begin(seat, task), encoding="utf-8")
                words = [word.replace("{prompt_file}", str(prompt)) for word in shlex.split(command)]
                answer(seat, task.id, _output(seat, words))


def _output(seat: Seat, words: Sequence[str]) -> str:
    shells = seat.folder / "shells"
    environ = seat.environ()
    environ |= {"SHELL": str(shells / "bash"), "PATH": os.pathsep.join([str(shells), environ["PATH"]])}
    try:
        done = subprocess.run(
            words,
            cwd=seat.root,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            timeout=AGENT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout.decode("utf-8", "replace")
