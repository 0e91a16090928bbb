"""The shell of an agent in one seat, which logs every character that the agent reads.

worth-sh begin TASK           print the prompt, with what the host's hooks bring in the arm that has them
worth-sh run 'COMMAND'        run it in the checkout
worth-sh answer TASK FILE     hand in the answer
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from foveal.ipc.client import ensure_daemon

from ..host_session import HostSession, by_program
from ..own_daemon import WAIT_S, environment, open_project, warm_up
from .seats import Seat, daemon_folder, read_seats
from .tasks import WorthTask, read_task_sets

INSTRUCTION = (
    "Answer from the code of this project, in at most 300 words: name the files and definitions, and how they"
    " work together. Change nothing."
)
OFFER = (
    "foveal is on the PATH, with an index of this project: `foveal query` finds code by a question and says"
    " who calls or uses something, `foveal node` shows a definition, `foveal changes` what a diff breaks."
)
"""What a host's list of tools says in the arm with foveal; the commands stand for its MCP tools."""

RUN_S = 600.0
OUTPUT_LIMIT = 30_000
"""Characters of a command's output that an agent gets, as Claude Code cuts it; the middle is left out."""


def begin(seat: Seat, task: WorthTask) -> str:
    """Begin a task on a clean tree, and return all that the agent is given."""
    for command in (["reset", "--hard"], ["clean", "-fdx"]):
        subprocess.run(["git", "-C", seat.root, *command, "--quiet"], check=True)
    current = {"task": task.id, "session": f"{task.id}-{time.time_ns()}"}
    (seat.folder / "current.json").write_text(json.dumps(current), encoding="utf-8")
    start = context = ""
    if seat.arm == "with":
        _make_ready(seat)
        session = _session(seat)
        start = f"{OFFER}\n\n{session.start()}"
        context = session.prompt(task.prompt)
    given = {"start": start, "prompt": f"{INSTRUCTION}\n\n{task.prompt}", "context": context}
    for kind, text in given.items():
        _log(seat, kind, text)
    return "\n\n".join(text for text in given.values() if text) + "\n"


def run(seat: Seat, command: str, folder: Path, environ: dict[str, str]) -> tuple[str, int]:
    """Run a command for the agent; return what it reads, with what the hook of its host adds, and the
    status."""
    started = time.monotonic()
    try:
        done = subprocess.run(
            ["/bin/bash", "-c", command],
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=RUN_S,
            check=False,
        )
        output, status = done.stdout, done.returncode
    except subprocess.TimeoutExpired as late:
        output, status = late.stdout or b"", 124
    text = cut(output.decode("utf-8", "replace"))
    _log(seat, "run", text, command=command, status=status, seconds=round(time.monotonic() - started, 3))
    added = _session(seat).ran(command, text) if seat.arm == "with" else ""
    if added:
        _log(seat, "added", added)
    return text + (f"\n{added}\n" if added else ""), status


def answer(seat: Seat, task: str, text: str) -> None:
    """Keep the answer to a task, and end its session."""
    seat.answer(task).parent.mkdir(exist_ok=True)
    seat.answer(task).write_text(text, encoding="utf-8")
    _log(seat, "answer", text)
    if seat.arm == "with":
        _session(seat).end()


def cut(text: str) -> str:
    """Return what an agent gets of an output."""
    if len(text) <= OUTPUT_LIMIT:
        return text
    half = OUTPUT_LIMIT // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"


def main(arguments: list[str]) -> int:
    """Do what an agent asks for; the first word is the folder of its seat."""
    folder = Path(arguments[0])
    seat = next(one for one in read_seats(folder.parent) if one.folder == folder)
    match arguments[1:]:
        case ["begin", name]:
            tasks = {
                task.id: task for each in read_task_sets(seat.data, [seat.project]) for task in each.tasks
            }
            print(begin(seat, tasks[name]), end="")
        case ["run", command]:
            text, status = run(seat, command, seat.root, seat.environ())
            sys.stdout.write(text)
            return status
        case ["answer", name, file]:
            answer(seat, name, Path(file).read_text(encoding="utf-8"))
        case ["host", name, *words]:
            return _be_shell(seat, name, words)
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


def _be_shell(seat: Seat, name: str, words: list[str]) -> int:
    """Stand for a shell that a host starts: a command is run and logged, anything else is the shell's own."""
    options = [word for word in words if word.startswith("-")]
    commands = [word for word in words if not word.startswith("-")]
    environ = seat.environ()
    if not commands or not any("c" in option.lstrip("-") for option in options if option[:2] != "--"):
        os.execve(f"/bin/{name}", [name, *words], environ)
    text, status = run(seat, commands[0], Path.cwd(), environ)
    sys.stdout.write(text)
    return status


def _make_ready(seat: Seat) -> None:
    """Wait until foveal knows the checkout, as it does on a user's machine."""
    environ = environment(daemon_folder(seat.folder.parent, seat.program))
    command = [str(seat.program), "up", "--foreground"]
    with ensure_daemon(None, environ, WAIT_S, command) as client:
        open_project(client, seat.root, embedded=True)
        warm_up(client, seat.root)


def _session(seat: Seat) -> HostSession:
    environ = environment(daemon_folder(seat.folder.parent, seat.program))
    return HostSession(by_program([str(seat.program)], environ), seat.root, _current(seat)["session"])


def _current(seat: Seat) -> dict[str, str]:
    found: dict[str, str] = json.loads((seat.folder / "current.json").read_text(encoding="utf-8"))
    return found


def _log(seat: Seat, kind: str, text: str, **more: Any) -> None:
    row = {"at": round(time.time(), 3), "task": _current(seat)["task"], "kind": kind} | more | {"text": text}
    with seat.log.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
