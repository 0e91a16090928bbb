"""Every change in a watched folder is delivered or announced as lost, and closing leaves nothing behind."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from foveal.daemon.project.watcher import WatchBatch, Watcher, WatchSettings

GENEROUS_S = 20.0
"""Reached only by a test that fails."""

MARK = "settled-"
NUMBERS = itertools.count()


class Collector:
    """Takes batches and waits for what they are to hold."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.batches: list[WatchBatch] = []

    def __call__(self, batch: WatchBatch) -> None:
        with self.changed:
            self.batches.append(batch)
            self.changed.notify_all()

    @property
    def paths(self) -> set[str]:
        return {path for batch in self.batches for path in batch.paths if MARK not in path}

    def wait_for(self, condition: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(condition, GENEROUS_S)


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for something outside of the process's own locks."""
    deadline = time.monotonic() + GENEROUS_S
    while not condition():
        assert time.monotonic() < deadline
        os.sched_yield()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "project"
    for folder in ("", "a", "b", "cookies"):
        (root.parent / "cookies" if folder == "cookies" else root / folder).mkdir(exist_ok=True)
    return root


@pytest.fixture
def collector() -> Collector:
    return Collector()


@pytest.fixture
def start(root: Path, collector: Collector) -> Iterator[Callable[..., Watcher]]:
    watchers = []

    def start(*folders: str, **settings: object) -> Watcher:
        watcher = Watcher(
            [str(root / folder) if folder else str(root) for folder in folders],
            collector,
            cookie_folder=str(root.parent / "cookies"),
            settings=WatchSettings(**settings),  # type: ignore[arg-type]  # each test names fields that exist
        )
        watchers.append(watcher)
        return watcher

    yield start
    for watcher in watchers:
        watcher.close()


def settle(watcher: Watcher, collector: Collector) -> None:
    """Return when everything until now was delivered: marks made now have arrived from all folders."""
    wait_until(lambda: not any(stream.retiring for stream in tuple(watcher._streams)))
    marks = {f"{folder}/{MARK}{next(NUMBERS)}" for folder in watcher.folders}
    for mark in marks:
        Path(mark).touch()
    collector.wait_for(lambda: marks <= {path for batch in collector.batches for path in batch.paths})
    for mark in marks:
        os.unlink(mark)


def test_new_folders_are_added_and_streams_merged(
    root: Path, collector: Collector, start: Callable[..., Watcher]
) -> None:
    watcher = start("", max_streams=3)
    for number in range(12):
        folder = root / f"n{number}"
        folder.mkdir()
        watcher.add([str(folder), str(root)])
        (folder / "file").write_text("x")
    settle(watcher, collector)
    assert {f"{root}/n{number}/file" for number in range(12)} <= collector.paths
    wait_until(lambda: watcher.streams <= 3)
    assert not any(batch.overflow for batch in collector.batches)
    assert watcher.mode == "native"


def test_nothing_is_lost_while_streams_are_replaced(
    root: Path, collector: Collector, start: Callable[..., Watcher]
) -> None:
    watcher = start("", "a", "b")
    done = threading.Event()
    written = []

    def write() -> None:
        for number in range(3_000):
            path = root / "a" / f"f{number}"
            path.write_text("x")
            written.append(str(path))
            if done.is_set():
                return

    writer = threading.Thread(target=write)
    writer.start()
    for _ in range(8):
        watcher.replace([str(root), f"{root}/a"])
    done.set()
    writer.join()
    settle(watcher, collector)
    assert set(written) <= collector.paths
    assert watcher.folders == {str(root), f"{root}/a"}
    (root / "b/unwatched").write_text("x")
    settle(watcher, collector)
    wait_until(lambda: watcher.streams == 1)
    assert f"{root}/b/unwatched" not in collector.paths


def test_replaced_folders_are_named(root: Path, collector: Collector, start: Callable[..., Watcher]) -> None:
    (root / "a/deep").mkdir()
    watcher = start("", "a", "a/deep", "b")
    (root / "a").rename(root / "c")
    (root / "a").mkdir()
    lost = {f"{root}/a", f"{root}/a/deep"}
    collector.wait_for(lambda: lost == {one for batch in collector.batches for one in batch.lost_folders})
    assert watcher.folders == {str(root), f"{root}/b"}
    watcher.add([f"{root}/a"])
    (root / "a/new").write_text("x")
    settle(watcher, collector)
    assert f"{root}/a/new" in collector.paths


def test_a_name_that_cant_be_passed_on_is_an_overflow(
    root: Path, collector: Collector, start: Callable[..., Watcher]
) -> None:
    watcher = start("", max_failures=2)
    for failures in (1, 2):
        (root / os.fsdecode(b"odd\xff%d" % failures)).write_text("x")
        collector.wait_for(partial(has_overflows, collector, failures))
        assert watcher.mode == "native"
        (root / f"after{failures}").write_text("x")
        collector.wait_for(partial(has_path, collector, f"{root}/after{failures}"))
    (root / os.fsdecode(b"odd\xff")).write_text("x")
    collector.wait_for(lambda: collector.batches[-1].overflow and watcher.mode == "polling")
    assert "failed 3 times" in watcher.reason
    watcher.replace([str(root)])
    assert watcher.mode == "native"


def has_overflows(collector: Collector, count: int) -> bool:
    return sum(batch.overflow for batch in collector.batches) == count


def has_path(collector: Collector, path: str) -> bool:
    return path in collector.paths


def mode_of(watcher: Watcher) -> str:
    """Return the mode through a call, since mypy takes a property for unchanged after an assert."""
    return watcher.mode


def test_the_root_goes_and_comes_back(
    root: Path, collector: Collector, start: Callable[..., Watcher]
) -> None:
    watcher = start("", "a")
    shutil.rmtree(root)
    collector.wait_for(lambda: watcher.mode == "off" and bool(collector.batches))
    assert watcher.folders == frozenset()
    watcher.add([str(root)])
    assert mode_of(watcher) == "off"
    root.mkdir()
    watcher.add([str(root)])
    assert mode_of(watcher) == "native"
    (root / "new").write_text("x")
    settle(watcher, collector)
    assert f"{root}/new" in collector.paths


def test_folders_that_are_missing_are_left_out(root: Path, start: Callable[..., Watcher]) -> None:
    assert start("nowhere").mode == "off"
    watcher = start("nowhere", "a")
    assert watcher.folders == {f"{root}/a"}


def test_links_are_not_followed(root: Path, collector: Collector, start: Callable[..., Watcher]) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (root / "link").symlink_to(outside)
    watcher = start("", "a")
    (outside / "file").write_text("x")
    (root / "file").write_text("x")
    settle(watcher, collector)
    assert collector.paths == {f"{root}/file"}


SCARCE = """
import os, resource, sys, time
from foveal.daemon.project.watcher import Watcher
import watchfiles  # as in a process that watches another project already
kind, root, cookies = sys.argv[1:]
if kind == "watches":
    open("/proc/sys/user/max_inotify_watches", "w").write("4")
else:
    highest = max(map(int, os.listdir("/proc/self/fd")))
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest, highest))
watcher = Watcher([root], print, cookie_folder=cookies)
first = watcher.mode
watcher.add([f"{root}/{number}" for number in range(9)])
second = watcher.mode
reason = watcher.reason
deadline = time.monotonic() + 30
while kind == "watches" and watcher.mode != "native" and time.monotonic() < deadline:
    watcher.replace([root])  # the kernel gives old watches back in its own time
print(first, second, watcher.mode, reason, sep="|")
watcher.close()
"""


@pytest.mark.parametrize(
    ("kind", "modes", "reason"),
    [("watches", "native|polling|native|", "limit"), ("files", "polling|polling|polling|", "open files")],
)
def test_running_out_leads_to_polling(root: Path, kind: str, modes: str, reason: str) -> None:
    for number in range(9):
        (root / str(number)).mkdir()
    command = [sys.executable, "-c", SCARCE, kind, str(root), str(root.parent / "cookies")]
    if kind == "watches":
        # A user namespace has limits of its own, so that nobody else runs out.
        probe = ["unshare", "-Ur", "sh", "-c", "echo 4 > /proc/sys/user/max_inotify_watches"]
        if (
            shutil.which("unshare") is None
            or subprocess.run(probe, capture_output=True, check=False).returncode
        ):
            pytest.skip("user namespaces aren't allowed here")
        command = ["unshare", "-Ur", *command]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.startswith(modes)
    assert reason in done.stdout


def descriptors() -> set[str]:
    """Return what this process has open, apart from the folder that is being listed here."""
    links = set()
    for number in os.listdir("/proc/self/fd"):
        try:
            links.add(f"{number} {os.readlink(f'/proc/self/fd/{number}')}")
        except FileNotFoundError:
            continue
    return links


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts descriptors in /proc")
def test_close_leaves_nothing_behind(root: Path, collector: Collector, start: Callable[..., Watcher]) -> None:
    threads, files = set(os.listdir("/proc/self/task")), descriptors()
    watcher = start("")
    watcher.add([f"{root}/a"])
    watcher.add([f"{root}/b"])
    (root / "a/x").write_text("x")
    started = time.monotonic()
    watcher.close()
    assert time.monotonic() - started < GENEROUS_S
    assert not [thread for thread in threading.enumerate() if thread.name == "foveal-watch"]
    assert (watcher.mode, watcher.reason) == ("off", "closed")
    # The threads inside watchfiles end on their own a moment later.
    wait_until(lambda: set(os.listdir("/proc/self/task")) <= threads)
    assert descriptors() <= files
    watcher.add([str(root)])
    watcher.replace([str(root)])
    watcher.close()
    assert watcher.streams == 0


def test_no_callback_after_close(root: Path, collector: Collector, start: Callable[..., Watcher]) -> None:
    witness = start("a")
    for _ in range(5):
        closed = Collector()
        watcher = Watcher([f"{root}/a"], closed, cookie_folder=str(root.parent / "cookies"))
        for number in range(50):
            (root / f"a/f{number}").write_text("x")
        watcher.close()
        count = len(closed.batches)
        (root / "a/late").write_text("x")
        settle(witness, collector)
        assert len(closed.batches) == count
    assert f"{root}/a/late" in collector.paths


def test_the_cookie_folder_is_needed(root: Path, collector: Collector, start: Callable[..., Watcher]) -> None:
    with pytest.raises(NotADirectoryError):
        Watcher([str(root)], collector, cookie_folder=str(root / "nowhere"))
    watcher = start("")
    (root.parent / "cookies").rmdir()
    watcher.add([f"{root}/a"])
    assert watcher.mode == "polling"
