"""No answer is stale without saying so: writers at work, branch switches, folders that come and go."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from foveal.ipc.client import Client

from tests.conftest import DEADLINE_S, DaemonProcess, write_files

WRITERS = 8
ASKED = 40


@contextmanager
def writers(
    work: Callable[[int, int], None], release: Callable[[], object] = lambda: None
) -> Iterator[list[int]]:
    """Run `work(writer, number)` in threads, with rising numbers; yields the last number that each finished.

    `release` lets writers that wait go on, once they are to stop.
    """
    done = [0] * WRITERS
    stop = threading.Event()
    failures: list[BaseException] = []

    def write(writer: int) -> None:
        try:
            while not stop.is_set():
                work(writer, done[writer] + 1)
                done[writer] += 1
        except BaseException as error:  # noqa: BLE001 - for the test's own thread to find
            failures.append(error)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(WRITERS)]
    for thread in threads:
        thread.start()
    try:
        yield done
    finally:
        stop.set()
        release()
        for thread in threads:
            thread.join(DEADLINE_S)
    assert not failures


def stale_lines(context: str, pattern: str, least: list[int]) -> list[str]:
    """Return which writers' numbers are missing from a context or below what they had finished before."""
    found: dict[int, int] = {}
    for writer, number in re.findall(pattern, context):
        found[int(writer)] = max(int(number), found.get(int(writer), -1))
    return [
        f"writer {writer}: shown {found.get(writer)}, written {number}"
        for writer, number in enumerate(least)
        if found.get(writer, -1) < number
    ]


def named(reply: dict[str, Any]) -> str:
    """Return all that an answer says; a file that was moved after it was found is in `gaps`."""
    return "\n".join([*reply["gaps"], reply["context"]])


def said_so(reply: dict[str, Any]) -> bool:
    return bool(reply["degraded"]) or reply["partial"]


def test_no_shown_line_is_stale(shared_daemon: DaemonProcess, tmp_path: Path) -> None:
    root = write_files(tmp_path / "p", {f"w{n}.py": f"VALUE_{n}_OF_{0:09} = 1\n" for n in range(WRITERS)})
    shared_daemon.open_ready(root)

    def write(writer: int, number: int) -> None:
        # In place and of the same size: between two ticks of the clock no stat can tell them apart.
        descriptor = os.open(root / f"w{writer}.py", os.O_WRONLY)
        os.pwrite(descriptor, f"VALUE_{writer}_OF_{number:09} = 1\n".encode(), 0)
        os.close(descriptor)

    stale: list[str] = []
    with shared_daemon.client() as client, writers(write) as done:
        for _ in range(ASKED):
            least = list(done)
            reply = ask(client, root, focus_paths=[f"w{n}.py" for n in range(WRITERS)])
            stale += stale_lines(reply["context"], r"VALUE_(\d)_OF_(\d+)", least)
    assert not stale


def test_no_signature_of_a_dependency_is_stale(shared_daemon: DaemonProcess, tmp_path: Path) -> None:
    imports = "".join(f"import w{n}\n" for n in range(WRITERS))
    root = write_files(tmp_path / "p", {f"w{n}.py": f"def f_{n}_of_0(): ...\n" for n in range(WRITERS)})
    write_files(root, {"main.py": imports})
    shared_daemon.open_ready(root)

    def write(writer: int, number: int) -> None:
        aside = tmp_path / f"w{writer}.py"
        aside.write_text(f"def f_{writer}_of_{number}(): ...\n")
        aside.replace(root / f"w{writer}.py")

    stale: list[str] = []
    silent = 0
    with shared_daemon.client() as client, writers(write) as done:
        for _ in range(ASKED):
            least = list(done)
            reply = ask(client, root, focus_paths=["main.py"])
            if not said_so(reply):
                silent += 1
                stale += stale_lines(reply["context"], r"def f_(\d)_of_(\d+)", least)
            else:
                # A definition that could not be confirmed is left out, never shown as it was.
                shown = re.findall(r"def f_(\d)_of_(\d+)", reply["context"])
                stale += [str(pair) for pair in shown if int(pair[1]) < least[int(pair[0])]]
    assert not stale
    # With writers that never rest most answers are caught by one; once they do, the answer is whole.
    with shared_daemon.client() as client:
        reply = ask(client, root, focus_paths=["main.py"], fresh="tree")
    assert not said_so(reply), reply["degraded"]
    assert not stale_lines(reply["context"], r"def f_(\d)_of_(\d+)", done)


def test_no_file_of_the_tree_is_missed(shared_daemon: DaemonProcess, tmp_path: Path) -> None:
    root = write_files(tmp_path / "p", {f"gen/w{n}_0.py": "x = 1\n" for n in range(WRITERS)})
    shared_daemon.open_ready(root)
    allowed = threading.Semaphore(0)

    def rename(writer: int, number: int) -> None:
        allowed.acquire()
        (root / f"gen/w{writer}_{number - 1}.py").rename(root / f"gen/w{writer}_{number}.py")

    missed: list[str] = []
    answered = 0
    with shared_daemon.client() as client, writers(rename, release=lambda: allowed.release(WRITERS)) as done:
        for _ in range(ASKED):
            # So many renames fall before and into the answer; a tree that never rests is a case of its own.
            allowed.release(3 * WRITERS)
            least = list(done)
            reply = ask(client, root, focus_paths=["gen"], fresh="tree")
            if not said_so(reply):
                answered += 1
                missed += stale_lines(named(reply), r"gen/w(\d)_(\d+)\.py", least)
    assert not missed
    assert answered > ASKED / 2


def test_a_tree_that_never_rests_is_not_said_to_be_whole(
    shared_daemon: DaemonProcess, tmp_path: Path
) -> None:
    root = write_files(tmp_path / "p", {f"gen/w{n}_0.py": "x = 1\n" for n in range(WRITERS)})
    shared_daemon.open_ready(root)

    def rename(writer: int, number: int) -> None:
        (root / f"gen/w{writer}_{number - 1}.py").rename(root / f"gen/w{writer}_{number}.py")

    missed: list[str] = []
    with shared_daemon.client() as client, writers(rename) as done:
        for _ in range(ASKED // 10):  # each waits as long as it may
            least = list(done)
            reply = ask(client, root, focus_paths=["gen"], fresh="tree")
            if not said_so(reply):
                missed += stale_lines(named(reply), r"gen/w(\d)_(\d+)\.py", least)
    assert not missed


def ask(client: Client, root: Path, **params: Any) -> dict[str, Any]:
    reply: dict[str, Any] = client.call("GetContext", {"cwd": str(root), **params}, DEADLINE_S)
    return reply


@pytest.mark.parametrize("full", [False, True])
def test_a_project_that_is_reindexed_as_soon_as_it_is_opened_is_known_whole(
    shared_daemon: DaemonProcess, tmp_path: Path, full: bool
) -> None:
    names = [f"{folder}m{n}.py" for folder in ("", "a/", "a/b/", "a/b/c/", "d/e/f/") for n in range(3)]
    root = write_files(tmp_path / "p", {name: f"def f{n}(): ...\n" for n, name in enumerate(names)})
    with shared_daemon.client() as client:
        client.call("OpenProject", {"path": str(root)}, DEADLINE_S)
        reindexed = client.call("ReindexProject", {"path": str(root), "full": full}, DEADLINE_S)
        assert reindexed["state"] != "ready"
    shared_daemon.open_ready(root)
    [project] = shared_daemon.call("Status", cwd=str(root))["projects"]
    assert (project["files"], project["symbols"], project["degraded"]) == (len(names), len(names), [])
    reply = shared_daemon.call("Query", cwd=str(root), query="where is f14 defined", fresh="tree")
    assert [one["path"] for one in reply["results"]] == ["d/e/f/m2.py"]
