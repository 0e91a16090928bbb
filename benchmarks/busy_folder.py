"""Measures two projects beside a folder whose files change all the time.

What their users do is timed before that folder is opened, while it is indexed, and when it is.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from foveal.ipc.client import Client

from .bench import Bench
from .own_daemon import WAIT_S, environment, is_ready, project, running, wait_until
from .statistics import Measure
from .synthetic import function_of, path_of, write_tree

FILES = 80_000
QUICK_FILES = 8_000
FOLDER_FILES = 200
CHANGES_PER_S = 200.0
PROJECT_FILES = 250
"""As many as flask has."""

ROUNDS = 60
"""Of each of what is timed, in each of the three parts."""

WITHOUT_MEANING = "[embedding]\nenabled = false\n"
VISIBLE_MAX_S = 60.0


def run(bench: Bench) -> list[Measure]:
    """Measure queries, saves, opening and closing without and beside the busy folder."""
    base = bench.new_folder("busy")
    count, rounds = bench.count(FILES, QUICK_FILES), bench.count(ROUNDS, 20)
    first, second = (write_tree(base / name, PROJECT_FILES) for name in ("first", "second"))
    busy = _busy_folder(base / "changing", count)
    with running(environment(base, WITHOUT_MEANING)) as client:
        client.call("OpenProject", {"path": str(first)}, WAIT_S)
        wait_until(lambda: is_ready(client, first), "the first project")
        _open(client, second)  # its first index is no part of what is compared
        client.call("CloseProject", {"path": str(second)}, WAIT_S)
        quiet = _part(client, first, second, rounds, "alone")
        with _changing(busy):
            opening = Measure("OpenProject of the busy folder").time(
                lambda: client.call("OpenProject", {"path": str(busy)}, WAIT_S)
            )
            young = _part(client, first, second, rounds, "beside a busy folder that is being indexed")
            _wait_known(client, busy, count)
            old = _part(client, first, second, rounds, "beside a busy folder that is known")
            known = project(client, busy)
            closing = Measure("CloseProject of the busy folder", target=1_000.0).time(
                lambda: client.call("CloseProject", {"path": str(busy)}, WAIT_S)
            )
    opening.note = f"{count:,} files, {CHANGES_PER_S:.0f} changes a second; later {known['files']:,} files"
    closing.note = f"its state was {known['state']}, {known['files_pending']:,} files unread"
    for part in (young, old):
        for measure, alone in zip(part, quiet, strict=True):
            measure.baseline = alone
    return [each for part in (quiet, young, old) for one in part for each in (one, _tail(one))] + [
        opening,
        closing,
    ]


def _tail(measure: Measure) -> Measure:
    tail = Measure(f"{measure.name}, tail", samples=measure.samples, target=3_000.0, which="p99")
    tail.baseline = measure.baseline
    return tail


def _part(client: Client, first: Path, second: Path, rounds: int, where: str) -> list[Measure]:
    """Time what users do in two projects, of which the second is opened and closed again."""
    query = Measure(f"query, {where}")
    shown = Measure(f"save to visible, {where}")
    watched = Measure(f"save to visible by the watcher, {where}")
    opened = Measure(f"open to ready, {where}")
    closed = Measure(f"close, {where}", target=1_000.0)
    path = path_of(0)
    text = (first / path).read_text(encoding="utf-8")
    for number in range(rounds):
        words = {"cwd": str(first), "query": f"where is {function_of(number % PROJECT_FILES)} defined"}
        query.time(lambda words=words: client.call("Query", words, WAIT_S))  # type: ignore[misc]  # bound now
        for measure, fresh in ((shown, "shown"), (watched, "no")):
            mark = f"# mark {fresh} {number} {time.time_ns()}"
            (first / path).write_text(f"{mark}\n{text}", encoding="utf-8")
            measure.time(lambda mark=mark, fresh=fresh: _wait_shown(client, first, path, mark, fresh))  # type: ignore[misc]  # bound now
        if number % 4 == 0:
            opened.time(lambda: _open(client, second))
            closed.time(lambda: client.call("CloseProject", {"path": str(second)}, WAIT_S))
    (first / path).write_text(text, encoding="utf-8")
    return [query, shown, watched, opened, closed]


def _wait_shown(client: Client, root: Path, path: str, mark: str, fresh: str) -> None:
    """Ask until an answer shows what was saved."""
    asked = {"cwd": str(root), "focus_paths": [path], "fresh": fresh}
    wait_until(
        lambda: mark in client.call("GetContext", asked, WAIT_S)["context"],
        f"{mark} to become visible",
        VISIBLE_MAX_S,
        0.002,
    )


def _open(client: Client, root: Path) -> None:
    client.call("OpenProject", {"path": str(root)}, WAIT_S)
    wait_until(lambda: is_ready(client, root), f"{root} to be ready", VISIBLE_MAX_S, 0.005)


def _wait_known(client: Client, root: Path, count: int) -> None:
    """Wait until all names of the busy folder are known and most of its files were read."""

    def known() -> bool:
        state = project(client, root)
        return bool(state["state"] != "scanning" and state["files_pending"] < count / 10)

    wait_until(known, f"{root} to be known", poll_s=1.0)


def _busy_folder(root: Path, count: int) -> Path:
    """Write so many small files, with a manifest that marks the folder as a project."""
    root.mkdir()
    (root / "package.json").write_text('{"name": "changing"}\n', encoding="utf-8")
    for number in range(count):
        path = root / _name(number)
        if not number % FOLDER_FILES:
            path.parent.mkdir(parents=True)
        path.write_text(_text(number), encoding="utf-8")
    return root.resolve()


def _name(number: int) -> str:
    ending = ("txt", "json", "py", "log")[number % 4]
    return f"part_{number // FOLDER_FILES}/file_{number}.{ending}"


def _text(number: int) -> str:
    return f"value_{number} = {number}\n" if number % 4 == 2 else f"{{}}{number}\n" * 3


@contextmanager
def _changing(root: Path) -> Iterator[None]:
    """Change files all the time, in a process of its own."""
    program = "import sys; from foveal.benchmarks.busy_folder import change; change(sys.argv[1])"
    source = str(Path(__file__).resolve().parents[1] / ".src")
    with subprocess.Popen(
        [sys.executable, "-c", program, str(root)], env={**os.environ, "PYTHONPATH": source}
    ) as process:
        try:
            yield
        finally:
            process.kill()


def change(root: str) -> None:
    """Write, replace, remove and make files below a folder, `CHANGES_PER_S` times a second, until killed."""
    chance = random.Random(0)
    folders = sorted(name for name in os.listdir(root) if name.startswith("part_"))
    kinds: tuple[Callable[[str], None], ...] = (_write, _write, _replace, _make, _remove)
    due = time.monotonic()
    while True:
        folder = os.path.join(root, chance.choice(folders))
        names = os.listdir(folder)
        chance.choice(kinds)(os.path.join(folder, chance.choice(names)) if names else f"{folder}/first.txt")
        due += 1 / CHANGES_PER_S
        time.sleep(max(0.0, due - time.monotonic()))


def _write(path: str) -> None:
    Path(path).write_text(f"value = {time.time_ns()}\n", encoding="utf-8")


def _replace(path: str) -> None:
    _write(f"{path}~")
    Path(f"{path}~").replace(path)


def _make(path: str) -> None:
    _write(f"{path}.{time.time_ns()}.txt")


def _remove(path: str) -> None:
    Path(path).unlink()
