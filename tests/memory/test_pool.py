"""The pool: what it acknowledged survives a crash, damage is kept and skipped, and it finds what matters."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import random
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from foveal.daemon.core.errors import StateError
from foveal.daemon.core.system import System
from foveal.daemon.memory.experience import MAX_FILES, MAX_TEXT_BYTES
from foveal.daemon.memory.lines import MAX_LINE_BYTES
from foveal.daemon.memory.pool import Pool
from foveal.daemon.memory.pool_filters import ExperienceListing
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pool_cases import Clock, decisions, draft, open_pool, path_in
from tests.properties import examples


def quarantine(folder: Path) -> list[dict[str, object]]:
    path = folder / "experiences.jsonl.quarantine"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


# --- Keeping ---


def test_a_batch_is_one_write_and_on_the_disk_before_it_is_acknowledged(tmp_path: Path) -> None:
    log: list[str] = []

    class Recording(Clock):
        def fsync(self, descriptor: int) -> None:
            is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
            log.append("fsync folder" if is_folder else f"fsync {os.fstat(descriptor).st_size}")
            super().fsync(descriptor)

    def write(descriptor: int, data: bytes) -> int:
        log.append("write")
        assert fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_APPEND
        with pytest.raises(BlockingIOError), open(path_in(tmp_path), "rb") as other:
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.write(descriptor, data)

    pool = Pool(path_in(tmp_path), Recording(), write=write)
    pool.graft([draft("a"), draft("b"), draft("c")])
    size = Path(path_in(tmp_path)).stat().st_size
    assert log == ["write", f"fsync {size}", "fsync folder"]
    log.clear()
    pool.graft([draft("a")])
    assert log == [f"fsync {size}"], "a duplicate is acknowledged, so it must be durable too"


@pytest.mark.parametrize("wrote", [0, 60])
def test_a_failed_write_leaves_the_file_as_it_was(tmp_path: Path, wrote: int) -> None:
    code, left = errno.ENOSPC, [wrote]

    def write(descriptor: int, data: bytes) -> int:
        if not left:
            return os.write(descriptor, data)
        part = left.pop()
        if part:
            left.append(0)
            return os.write(descriptor, data[:part])
        raise OSError(code, os.strerror(code))

    open_pool(tmp_path).graft([draft("first")])
    before = Path(path_in(tmp_path)).read_bytes()
    pool = Pool(path_in(tmp_path), Clock(), write=write)
    generation = pool.generation
    with pytest.raises(StateError, match=os.strerror(code)) as caught:
        pool.graft([draft("second", rationale="r" * 200)])
    assert path_in(tmp_path) in str(caught.value)
    assert Path(path_in(tmp_path)).read_bytes() == before
    assert decisions(pool) == ["first"]
    assert pool.generation == generation
    assert pool.graft([draft("second")]).grafted == 1
    assert decisions(open_pool(tmp_path)) == ["second", "first"]
    assert quarantine(tmp_path) == []


# --- Several writers ---

WRITER = """
import sys
from foveal.daemon.memory.experience import Draft
from foveal.daemon.memory.pool import SkippedDraft, Pool
from foveal.daemon.core.system import System
path, name, count, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
pool = Pool(path, System())
print("ready", flush=True)
sys.stdin.readline()
for number in range(count):
    result = pool.graft([Draft(f"{name} {number}", name, "s", "r" * size)])
    print(result.ids[0], flush=True)
"""


def start_writer(folder: Path, name: str, count: int, size: int) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, path_in(folder), name, str(count), str(size)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


@contextmanager
def ended(*processes: subprocess.Popen[str]) -> Iterator[None]:
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def test_two_processes_never_interleave(tmp_path: Path) -> None:
    reader = open_pool(tmp_path)
    writers = [start_writer(tmp_path, name, 40, 3_000) for name in ("one", "two")]
    with ended(*writers):
        for process in writers:
            go(process)
        acknowledged = [process.communicate(timeout=60)[0].split() for process in writers]
    assert [len(ids) for ids in acknowledged] == [40, 40]
    lines = [json.loads(line) for line in Path(path_in(tmp_path)).read_bytes().splitlines()]
    assert sorted(line["id"] for line in lines) == sorted(acknowledged[0] + acknowledged[1])
    for name in ("one", "two"):
        assert [line["decision"] for line in lines if line["agent_id"] == name] == [
            f"{name} {number}" for number in range(40)
        ]
    generation = reader.generation
    assert reader.refresh() is True
    assert reader.generation > generation
    assert reader.list()[1] == 80
    assert reader.refresh() is False
    assert quarantine(tmp_path) == []


def test_a_killed_writer_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    """Killed without a warning at some point of writing large lines, again and again on one file."""
    chance = random.Random(7)
    acknowledged: list[str] = []
    for turn in range(4):
        process = start_writer(tmp_path, f"turn {turn}", 10_000, 60_000)
        with ended(process):
            assert process.stdout is not None
            go(process)
            acknowledged += [process.stdout.readline().strip() for _ in range(chance.randrange(1, 12))]
            process.send_signal(signal.SIGKILL)
            # What had left the process before the signal was acknowledged too; the last line may be torn.
            acknowledged += [line.strip() for line in process.stdout if line.endswith("\n")]
        pool = open_pool(tmp_path)
        found = {experience.id for experience in pool.list()[0]}
        assert found.issuperset(acknowledged)
        assert pool.statistics().bad_lines == 0
        assert pool.statistics().problem == ""
    assert len(acknowledged) == len(set(acknowledged)) >= 4


def test_threads_share_a_pool(tmp_path: Path) -> None:
    pool = open_pool(tmp_path, System())

    def run(name: str) -> None:
        for number in range(40):
            pool.graft([draft(f"{name} {number}", files_touched=("a.py",))])
            pool.relevant(["a.py"], [], ["number"])
            pool.list(ExperienceListing(query=name))

    threads = [threading.Thread(target=run, args=(name,)) for name in ("one", "two", "three")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert pool.list()[1] == open_pool(tmp_path).list()[1] == 120


def test_a_changed_replaced_or_deleted_file_is_read_anew(tmp_path: Path) -> None:
    path = Path(path_in(tmp_path))
    pool = open_pool(tmp_path)
    pool.graft([draft("alpha"), draft("beta")])
    text = path.read_text()

    def check(expected: list[str]) -> None:
        generation = pool.generation
        assert pool.refresh() is True
        assert pool.generation > generation
        assert sorted(decisions(pool)) == expected
        assert pool.refresh() is False

    path.write_text(text.replace("alpha", "gamma"))  # in place, of the same size
    os.utime(path, ns=(1, 1))
    check(["beta", "gamma"])
    path.write_text(text.replace("alpha", "a longer one"))
    check(["a longer one", "beta"])
    path.write_text(text.splitlines(keepends=True)[0])
    check(["alpha"])
    (tmp_path / "new").write_text(text + text.replace("alpha", "delta").replace('"id":"x_', '"id":"x_1'))
    os.replace(tmp_path / "new", path)
    check(["alpha", "beta", "beta", "delta"])
    path.unlink()
    check([])
    assert pool.graft([draft("alpha")]).grafted == 1


# --- Damage ---


def test_a_line_torn_anywhere_is_moved_to_quarantine(tmp_path: Path) -> None:
    pool = open_pool(tmp_path)
    pool.graft([draft("first")])
    whole = Path(path_in(tmp_path)).read_bytes()
    pool.graft([draft("sécond", rationale="täglich")])
    both = Path(path_in(tmp_path)).read_bytes()
    for cut in (len(whole) + 1, len(whole) + 40, len(both) - 2, len(both) - 1):
        folder = tmp_path / str(cut)
        folder.mkdir()
        path = Path(path_in(folder))
        path.write_bytes(both[:cut])
        pool = open_pool(folder)
        if cut == len(both) - len("\n"):
            # Nothing but the line break was lost.
            assert path.read_bytes() == both
            assert decisions(pool) == ["sécond", "first"]
            continue
        assert path.read_bytes() == both[:cut] + b"\n"
        assert decisions(pool) == ["first"]
        assert pool.statistics().repaired_tails == 1
        [kept] = quarantine(folder)
        assert kept["line"] == 2
        assert kept["offset"] == len(whole)
        assert str(kept["reason"]).startswith("not JSON")
        assert str(kept["text"]).encode("utf-8", "surrogateescape") == both[len(whole) : cut] + b"\n"
        pool.graft([draft("third")])
        assert sorted(decisions(open_pool(folder))) == ["first", "third"]
        assert len(quarantine(folder)) == 1


LINE = '{"id":"x_1","timestamp":"2025-01-01T00:00:00Z","agent_id":"a","session_id":"s","decision":"d"}'


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"garbage", "not JSON"),
        (LINE.replace('"d"', "5").encode(), "decision must be a string"),
        (b'{"decision":"' + b"d" * MAX_LINE_BYTES * 2 + b'"}', "longer than 1048576 bytes"),
    ],
)
def test_a_bad_line_is_skipped_counted_and_copied_once(tmp_path: Path, line: bytes, reason: str) -> None:
    open_pool(tmp_path).graft([draft("first")])
    path = Path(path_in(tmp_path))
    path.write_bytes(path.read_bytes() + line + b"\n" + line + b"\n")
    open_pool(tmp_path).graft([draft("second")])
    content = path.read_bytes()
    pool = open_pool(tmp_path)
    assert sorted(decisions(pool)) == ["first", "second"]
    assert pool.statistics().bad_lines == 2
    assert pool.statistics().problem == ""
    assert content.count(line) == 2, "the pool's own file keeps what can't be read"
    [kept] = quarantine(tmp_path)
    assert kept["line"] == 2
    assert str(kept["reason"]).startswith(reason)
    assert kept["size"] == len(line) + 1


def test_a_line_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    path = Path(path_in(tmp_path))
    path.write_text(
        f'{{"type":"vote","of":"x_1"}}\n\n{LINE[:-1]},"type":"experience","mood":"good"}}\n{LINE}\n',
        encoding="utf-8",
    )
    content = path.read_bytes()
    pool = open_pool(tmp_path)
    assert decisions(pool) == ["d"]
    statistics = pool.statistics()
    assert (statistics.unknown_lines, statistics.repeated_lines, statistics.bad_lines) == (1, 1, 0)
    pool.graft([draft("new")])
    assert path.read_bytes().startswith(content)
    assert quarantine(tmp_path) == []


def test_damage_that_cannot_be_repaired_yet_harms_no_reader(tmp_path: Path) -> None:
    open_pool(tmp_path).graft([draft("first")])
    path = Path(path_in(tmp_path))
    path.write_bytes(path.read_bytes() + b"garbage\ntorn")
    content = path.read_bytes()
    blocker = tmp_path / "experiences.jsonl.quarantine"
    blocker.mkdir()
    pool = open_pool(tmp_path)
    assert decisions(pool) == ["first"]
    assert "experiences.jsonl.quarantine" in pool.statistics().problem
    with pytest.raises(StateError, match="quarantine"):
        pool.graft([draft("second")])
    assert path.read_bytes() == content + b"\n"
    blocker.rmdir()
    pool.refresh()
    assert pool.statistics().problem == ""
    assert [kept["text"] for kept in quarantine(tmp_path)] == ["garbage\n", "torn\n"]
    assert pool.graft([draft("second")]).grafted == 1


@settings(max_examples=examples(60))
@given(
    st.lists(st.one_of(st.binary(max_size=40), st.sampled_from([LINE.encode(), b"\n", b"{}"])), max_size=6)
)
def test_no_content_keeps_the_pool_from_opening(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes]
) -> None:
    folder = tmp_path_factory.mktemp("pool")
    path = Path(path_in(folder))
    path.write_bytes(b"".join(parts))
    pool = open_pool(folder)
    assert pool.graft([draft("new")]).grafted == 1
    again = open_pool(folder)
    assert "new" in decisions(again)
    assert again.list() == pool.list()
    assert path.read_bytes().endswith(b"\n")


# --- Checking drafts ---


def test_a_decision_is_kept_once_per_agent_and_session(tmp_path: Path) -> None:
    pool = open_pool(tmp_path)
    first = pool.graft([draft("Use  WAL\n"), draft(" Use WAL", rationale="other"), draft("use wal")])
    assert (first.grafted, first.duplicates) == (2, 1)
    assert [one.rationale for one in pool.list()[0]] == ["", ""], "the first one is kept"
    again = open_pool(tmp_path).graft(
        [draft("Use WAL"), draft("Use WAL", agent="coder"), draft("Use WAL", session="s2")]
    )
    assert (again.grafted, again.duplicates) == (2, 1)
    assert len(again.ids) == 2


def test_the_largest_draft_fits_a_line(tmp_path: Path) -> None:
    pool = open_pool(tmp_path)
    worst = '"' * MAX_TEXT_BYTES
    files = tuple('"' * 1_000 + str(number) for number in range(MAX_FILES + 5))
    result = pool.graft([draft(worst, rationale=worst, error=worst, files_touched=files)])
    assert result.grafted == 1
    assert "of its files" in result.warnings[0][1]
    assert Path(path_in(tmp_path)).stat().st_size < MAX_LINE_BYTES
    assert open_pool(tmp_path).list() == pool.list()


# --- Finding ---


def dated(folder: Path, *times: str) -> None:
    """Write a file with an experience for each time."""
    lines = [
        {"id": f"x_{number}", "timestamp": time, "agent_id": "a", "session_id": "s", "decision": f"D{number}"}
        for number, time in enumerate(times)
    ]
    Path(path_in(folder)).write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_experience_dated_by_a_wrong_clock_stays_in_its_place(tmp_path: Path) -> None:
    dated(tmp_path, "2024-01-01T00:00:00.000Z", "2036-01-01T00:00:00.000Z", "2024-06-01T00:00:00.000Z")
    before = Path(path_in(tmp_path)).read_bytes()
    pool = open_pool(tmp_path)
    pool.graft([draft("Today's")])
    assert decisions(pool) == ["Today's", "D2", "D1", "D0"]
    assert Path(path_in(tmp_path)).read_bytes().startswith(before), "the time that was given stays"
    assert decisions(open_pool(tmp_path)) == decisions(pool)
