"""The index is what the files say, whatever happened meanwhile, and each change is announced in order."""

from __future__ import annotations

import errno
import os
import random
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from foveal.daemon.index import indexer as indexing
from foveal.daemon.index import reading
from foveal.daemon.index.lexical_reader import LexicalReader
from foveal.daemon.index.messages import EDITS_MAX, ProjectProgress, Refreshed, TreeDelta
from foveal.daemon.index.store import FILE_NAME, Activity, Reader
from foveal.daemon.project.parse import parse_source
from foveal.daemon.project.tree import ParsedFile
from foveal.daemon.project.watcher import Batch, Watcher, WatchSettings

from tests.conftest import git, write_files
from tests.indexer_cases import GENEROUS_S, OLD_NS, Bench, Disk, open_bench, put


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    with open_bench(tmp_path, monkeypatch) as opened:
        yield opened


@pytest.fixture
def parses(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Return the contents that were parsed."""
    parsed: list[bytes] = []
    real = parse_source

    def parse(data: bytes, language: str) -> ParsedFile:
        parsed.append(data)
        return real(data, language)

    monkeypatch.setattr(reading, "parse_source", parse)
    return parsed


def state(folder: Path) -> dict[str, Any]:
    """Return all that an index says of the files, but for what two writings of the same file differ in."""
    with closing(Reader(str(folder))) as reader:
        return {
            path: (
                (record.digest, record.language, record.skipped, record.lines, record.symbols),
                reader.symbols(path),
                sorted((one.imported.line, one.target, one.missing) for one in reader.imports(path)),
            )
            for path, record in reader.load_files().items()
        }


def check_true(bench: Bench) -> None:
    """Check that the index is what a first indexing makes of the files, and that it is what was announced."""
    tell = bench.tell
    fresh = Bench(bench.root, bench.folder.parent / f"fresh-{bench.indexer.generation}")
    fresh.open()
    fresh.settle()
    fresh.close()
    bench.tell = tell
    assert state(bench.folder) == state(fresh.folder)
    with bench.reader() as reader:
        assert reader.load_files() == dict(bench.tree.files)


def imports(bench: Bench, path: str) -> list[tuple[str, bool]]:
    with bench.reader() as reader:
        return [(one.target, one.missing) for one in reader.imports(path) if one.imported.required]


def symbols(bench: Bench, path: str) -> list[str]:
    with bench.reader() as reader:
        return [symbol.name for symbol in reader.symbols(path)]


def activity(bench: Bench) -> dict[str, Activity]:
    with bench.reader() as reader:
        return {one.path: one for one in reader.activity(1_000)}


def skipped(bench: Bench, path: str) -> str:
    return bench.tree.files[path].skipped


# The first time, and again


def test_names_are_known_before_contents(bench: Bench) -> None:
    put(bench.root, {"a.py": "def f(): ...\n", "sub/b.py": "import a\n", "logo.png": b"\x89PNG\0"})
    bench.open()
    bench.settle()
    assert bench.states == ["scanning", "indexing", "ready"]
    named = [record.path for delta in bench.deltas for record in delta.upserted if not record.parsed]
    first_read = next(i for i, delta in enumerate(bench.deltas) if any(r.parsed for r in delta.upserted))
    before = {record.path for delta in bench.deltas[:first_read] for record in delta.upserted}
    assert before == {"a.py", "sub/b.py", "logo.png"} == set(named)
    assert symbols(bench, "a.py") == ["f"]
    assert skipped(bench, "logo.png") == "binary"
    assert (bench.progress.total, bench.progress.pending, bench.progress.watch) == (3, 0, "native")
    check_true(bench)


def test_all_hashes_are_known_before_any_file_is_parsed_where_there_are_many(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "LOOK_FROM", 5)
    files = {f"f{n}.py": f"def f{n}(): ...\n" for n in range(6)}
    put(bench.root, {**files, "logo.png": b"\x89PNG\0", ".env": "KEY=1\n", "tool": "#!/bin/sh\n"})
    bench.open()
    bench.until(lambda: not bench.tree.unhashed and len(bench.tree.files) == 9)
    assert bench.tree.pending == 7
    assert not any(record.parsed for record in bench.tree.files.values())
    assert (skipped(bench, "logo.png"), skipped(bench, ".env")) == ("binary", "secret")
    assert bench.tree.files["tool"].language == "bash"
    looked_at = {path: record.hashed for path, record in bench.tree.files.items() if record.hashed}
    bench.settle()
    assert {path: bench.tree.files[path].digest for path in looked_at} == looked_at
    assert not any(record.hashed for record in bench.tree.files.values())
    check_true(bench)


def test_what_was_looked_at_by_a_process_that_was_killed_is_read_by_the_next(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "LOOK_FROM", 5)
    put(bench.root, {f"f{n}.py": f"def f{n}(): ...\n" for n in range(6)})
    bench.open()
    bench.until(lambda: len(bench.tree.files) == 6 and not bench.tree.unhashed)
    put(bench.root, {"f1.py": "def other(): ...\n"})
    bench.open()
    assert (bench.tree.pending, bench.tree.unhashed) == (6, 0)
    bench.settle()
    assert symbols(bench, "f1.py") == ["other"]
    check_true(bench)


def test_what_is_known_answers_while_many_files_are_read_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "LOOK_FROM", 5)
    put(bench.root, {f"f{n}.py": f"def f{n}(): ...\n" for n in range(6)})
    bench.open()
    bench.settle()
    bench.indexer.reindex(full=True)
    while bench.work():
        assert bench.tree.pending == 0


def test_a_warm_start_reads_only_what_changed(bench: Bench, parses: list[bytes]) -> None:
    put(bench.root, {f"f{n}.py": f"def f{n}(): ...\n" for n in range(20)})
    bench.open()
    bench.settle()
    assert bench.files_read() == [f"f{n}.py" for n in sorted(range(20), key=str)]
    bench.open()
    bench.settle()
    assert (bench.files_read(), bench.deltas) == ([], [])
    assert bench.states == ["scanning", "indexing", "ready"]
    bench.close()
    put(bench.root, {"f3.py": "def changed(): ...\n", "new.py": ""})
    (bench.root / "f4.py").unlink()
    parses.clear()
    bench.open()
    bench.settle()
    assert bench.files_read() == ["f3.py", "new.py"]
    assert sorted(parses) == [b"", b"def changed(): ...\n"]
    assert {path for delta in bench.deltas for path in delta.removed} == {"f4.py"}
    check_true(bench)


def test_a_file_that_was_only_touched_keeps_its_definitions(bench: Bench, parses: list[bytes]) -> None:
    put(bench.root, {"a.py": "import b\n\ndef f(): ...\n", "b.py": ""})
    bench.open()
    bench.settle()
    parses.clear()
    os.utime(bench.root / "a.py", ns=(OLD_NS + 1, OLD_NS + 1))
    bench.until(lambda: bench.tree.files["a.py"].stamp.mtime_ns == OLD_NS + 1 and not bench.tree.pending)
    assert parses == []
    assert (symbols(bench, "a.py"), imports(bench, "a.py")) == (["f"], [("b.py", False)])
    check_true(bench)


def test_another_parser_reads_all_again_and_goes_on_answering(
    bench: Bench, parses: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    files: dict[str, str | bytes] = {f"f{n}.py": f"def f{n}(): ...\n" for n in range(6)}
    put(bench.root, files)
    write_files(bench.root, {"touched.py": "def g(): ...\n"})
    bench.open()
    bench.settle()
    bench.close()
    parses.clear()
    os.utime(bench.root / "touched.py")
    monkeypatch.setattr(indexing, "CONTENT_VERSION", "another")
    monkeypatch.setattr(indexing, "STEP_FILES", 2)
    bench.open()
    while len(parses) < 3:  # and then the process is killed
        assert symbols(bench, "f5.py") == ["f5"]
        assert bench.work()
    bench.open()
    parses.clear()
    bench.settle()
    expected = [text.encode() for text in files.values() if isinstance(text, str)]
    assert sorted(parses) == sorted([*expected, b"def g(): ...\n"])
    parses.clear()
    bench.open()
    bench.settle()
    assert [data for data in parses if data != b"def g(): ...\n"] == []


def test_another_parser_reads_what_was_touched_meanwhile(
    bench: Bench, parses: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(bench.root, {"a.py": "def f(): ...\n"})
    bench.open()
    bench.settle()
    bench.close()
    parses.clear()
    os.utime(bench.root / "a.py", ns=(OLD_NS + 1, OLD_NS + 1))
    monkeypatch.setattr(indexing, "CONTENT_VERSION", "another")
    bench.open()
    bench.settle()
    assert parses == [b"def f(): ...\n"]


def test_files_of_secrets_are_not_read_unless_they_may_be_shown(bench: Bench) -> None:
    put(bench.root, {".env": "CANARY=1\n", "conf/credentials.json": "{}\n", "a.py": "def f(): ...\n"})
    bench.open()
    bench.settle()
    assert bench.files_read() == ["a.py"]
    assert (skipped(bench, ".env"), skipped(bench, "a.py")) == ("secret", "")
    with bench.reader() as reader:
        assert reader.chunks.of_paths([".env", "conf/credentials.json"]) == []
    for shown, read in (((".env",), [".env", "a.py"]), ((), ["a.py"])):
        bench.close()
        bench.open(show_files=shown)
        bench.settle()
        assert sorted(bench.files_read()) == read, "what was kept with other settings is read again"
        with bench.reader() as reader:
            assert [chunk.path for chunk in reader.chunks.of_paths([".env"])] == list(shown)


def test_reindex_in_full_reads_all_again(bench: Bench, parses: list[bytes]) -> None:
    put(bench.root, {"a.py": "def f(): ...\n", "b.py": "", "c.bin": b"\0", "locked.py": "x = 1\n"})
    bench.disk.refused[f"{bench.root}/locked.py"] = PermissionError(errno.EACCES, "refused")
    bench.open()
    bench.settle()
    assert skipped(bench, "locked.py") == "unreadable"
    bench.files_read()
    bench.disk.refused.clear()
    bench.indexer.reindex(full=False)
    bench.settle()
    assert bench.files_read() == []
    bench.indexer.reindex(full=True)
    assert bench.state == "scanning"
    bench.settle()
    assert bench.files_read() == ["a.py", "b.py", "c.bin", "locked.py"]
    assert bench.state == "ready"
    check_true(bench)


@pytest.mark.parametrize("steps", range(1, 14))
def test_closed_at_any_step_it_ends_the_same(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    monkeypatch.setattr(indexing, "STEP_FILES", 1)
    put(bench.root, {f"p{n}/m.py": f"import p{(n + 1) % 7}.m\n\ndef f{n}(): ...\n" for n in range(7)})
    bench.open()
    for _ in range(steps):
        bench.work()
    bench.close()
    put(bench.root, {"p0/m.py": "def changed(): ...\n"})
    shutil.rmtree(bench.root / "p6")
    bench.open()
    bench.settle()
    assert bench.state == "ready"
    check_true(bench)


# Imports


def test_imports_follow_files_that_come_and_go(bench: Bench) -> None:
    put(bench.root, {"pkg/__init__.py": "", "pkg/a.py": "from .late import x\n"})
    bench.open()
    bench.settle()
    assert imports(bench, "pkg/a.py") == [("", True)]

    def check(change: Callable[[], object], target: tuple[str, bool]) -> None:
        bench.events.clear()
        change()
        bench.until(lambda: imports(bench, "pkg/a.py") == [target])
        assert any(delta.links_changed for delta in bench.deltas)

    check(lambda: (bench.root / "pkg/late.py").write_text("x = 1\n"), ("pkg/late.py", False))
    check((bench.root / "pkg/late.py").unlink, ("", True))
    check(lambda: write_files(bench.root, {"pkg/late/__init__.py": ""}), ("pkg/late/__init__.py", False))
    check(lambda: (bench.root / "pkg/late").rename(bench.root / "away"), ("", True))
    bench.events.clear()
    write_files(bench.root, {"unrelated.py": ""})
    bench.until(lambda: "unrelated.py" in bench.tree.files)
    assert not any(delta.links_changed for delta in bench.deltas)
    bench.settle()
    check_true(bench)


def test_imports_follow_a_tsconfig(bench: Bench) -> None:
    put(
        bench.root,
        {"src/a.ts": 'import { b } from "@/b";\nimport { c } from "./c";\n', "src/b.ts": "", "src/c.ts": ""},
    )
    bench.open()
    bench.settle()
    here = ("src/c.ts", False)
    assert imports(bench, "src/a.ts") == [("", False), here]

    def check(text: str | None, expected: list[tuple[str, bool]]) -> None:
        config = bench.root / "tsconfig.json"
        if text is None:
            config.unlink()
        else:
            config.write_text(text)
        bench.until(lambda: imports(bench, "src/a.ts") == expected)
        bench.settle()
        assert bench.state == "ready"

    paths = '{"compilerOptions": {"paths": {"@/*": ["./%s/*"]}}}'
    check(paths % "src", [("src/b.ts", False), here])
    check(paths % "lib", [("", True), here])
    # The file appears only now, at a place that nothing pointed to when the import was read.
    write_files(bench.root, {"lib/b.ts": ""})
    bench.until(lambda: imports(bench, "src/a.ts") == [("lib/b.ts", False), here])
    check('{"compilerOptions": {"paths": ', [("", False), here])
    check(paths % "src", [("src/b.ts", False), here])
    check(None, [("", False), here])
    check_true(bench)


# Changes on the disk


def test_folders_and_files_take_each_others_place(bench: Bench) -> None:
    put(bench.root, {"a/b/c.py": "", "a/d.py": "", "node": "text\n", "keep.py": "def k(): ...\n"})
    bench.open()
    bench.settle()

    def check(change: Callable[[], object], expected: set[str]) -> None:
        change()
        bench.until(lambda: set(bench.tree.files) == expected and not bench.tree.pending)
        check_true(bench)

    check(lambda: shutil.rmtree(bench.root / "a"), {"node", "keep.py"})
    (bench.root / "node").unlink()
    check(
        lambda: write_files(bench.root, {"node/x.py": "", "node/y/z.py": ""}),
        {"node/x.py", "node/y/z.py", "keep.py"},
    )
    shutil.rmtree(bench.root / "node")
    check(lambda: (bench.root / "node").write_text("again\n"), {"node", "keep.py"})
    check(lambda: (bench.root / "keep.py").rename(bench.root / "Keep.py"), {"node", "Keep.py"})
    check(lambda: (bench.root / "node").replace(bench.root / "Keep.py"), {"Keep.py"})


def test_a_branch_switch(bench: Bench) -> None:
    write_files(bench.root, {f"d{n % 10}/f{n}.py": f"def old_{n}(): ...\n" for n in range(300)})
    git(bench.root, "init", "-q", "-b", "main")
    git(bench.root, "add", "-A")
    git(bench.root, "commit", "-q", "-m", "old")
    git(bench.root, "checkout", "-q", "-b", "other")
    shutil.rmtree(bench.root / "d0")
    write_files(bench.root, {f"d{n % 10}/f{n}.py": f"def new_{n}(): ...\n" for n in range(300) if n % 10})
    write_files(bench.root, {"e/f.py": "import d1.f1\n"})
    git(bench.root, "add", "-A")
    git(bench.root, "commit", "-q", "-m", "new")
    git(bench.root, "checkout", "-q", "main")
    bench.open()
    bench.settle()
    assert len(bench.tree.files) == 300
    git(bench.root, "checkout", "-q", "other")
    assert bench.sync().complete
    assert len(bench.tree.files) == 271
    assert symbols(bench, "d1/f1.py") == ["new_1"]
    bench.settle()
    git(bench.root, "checkout", "-q", "main")
    bench.until(lambda: len(bench.tree.files) == 300 and not bench.tree.pending)
    bench.until(lambda: symbols(bench, "d9/f299.py") == ["old_299"])
    assert bench.sync().complete
    bench.settle()
    check_true(bench)


def test_random_changes_lead_to_the_same_index(bench: Bench) -> None:
    chance = random.Random(7)
    names = [
        f"{folder}{name}" for folder in ("", "a/", "a/b/", "c/") for name in ("m.py", "n.py", "o.ts", "p.md")
    ]

    def content(name: str) -> str:
        other = chance.choice(names).removesuffix(".py").replace("/", ".")
        return (
            f"import {other}\n\ndef f{chance.randrange(3)}(): ...\n"
            if name.endswith(".py")
            else f"# {other}\n"
        )

    def change() -> None:
        name = chance.choice(names)
        path = bench.root / name
        match chance.randrange(7):
            case 0 | 1 | 2:
                write_files(bench.root, {name: content(name)})
            case 3 if path.exists():
                path.unlink()
            case 4 if path.exists():
                path.rename(bench.root / f"moved{chance.randrange(3)}.py")
            case 5:
                shutil.rmtree(bench.root / chance.choice(["a", "a/b", "c"]), ignore_errors=True)
            case 6:
                (bench.root / ".gitignore").write_text(chance.choice(["", "c/\n", "*.md\n", "m.py\n"]))

    bench.open()
    for _ in range(12):
        for _ in range(chance.randrange(1, 8)):
            change()
            if chance.random() < 0.5:
                bench.work()
        if chance.random() < 0.3:
            bench.indexer.refresh([chance.choice(names)])
        bench.settle()
        assert bench.sync().complete
        check_true(bench)


# Files that can't be read as they were listed


def test_a_file_that_vanishes_between_listing_and_reading(bench: Bench) -> None:
    put(bench.root, {"a.py": "x = 1\n", "b.py": "def f(): ...\n", "sub/c.py": ""})
    bench.disk.before_read[f"{bench.root}/a.py"] = (bench.root / "a.py").unlink
    bench.disk.before_read[f"{bench.root}/sub/c.py"] = lambda: shutil.rmtree(bench.root / "sub")
    bench.open()
    bench.settle()
    assert bench.state == "ready"
    assert bench.sync().complete
    assert set(bench.tree.files) == {"b.py"}
    check_true(bench)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.EMFILE])
def test_a_file_that_cant_be_read_is_skipped_until_it_can(bench: Bench, number: int) -> None:
    put(bench.root, {"a.py": "def f(): ...\n"})
    bench.open()
    bench.settle()
    path = f"{bench.root}/a.py"
    bench.disk.refused[path] = OSError(number, os.strerror(number), path)
    bench.indexer.reindex(full=True)
    bench.settle()
    assert (skipped(bench, "a.py"), symbols(bench, "a.py")) == ("unreadable", [])
    assert not bench.tree.pending
    bench.disk.refused.clear()
    os.utime(path)  # the same content, which must not count as known
    assert bench.sync().complete
    assert (skipped(bench, "a.py"), symbols(bench, "a.py")) == ("", ["f"])
    check_true(bench)


def test_a_file_that_grows_above_the_limit_while_it_is_read(bench: Bench) -> None:
    put(bench.root, {"a.py": "def f(): ...\n"})
    bench.disk.before_read[f"{bench.root}/a.py"] = lambda: (bench.root / "a.py").write_text(
        "x = 1\n" * 10_000
    )
    bench.open()
    bench.settle()
    assert (skipped(bench, "a.py"), symbols(bench, "a.py")) == ("too_large", [])
    put(bench.root, {"a.py": "def f(): ...\n"})
    assert bench.sync().complete
    assert (skipped(bench, "a.py"), symbols(bench, "a.py")) == ("", ["f"])
    check_true(bench)


def test_a_text_that_becomes_binary_and_text_again(bench: Bench) -> None:
    put(bench.root, {"a.py": "def f(): ...\n"})
    bench.open()
    bench.settle()
    for content, expected in ((b"\0", ("binary", [])), (b"def f(): ...\n", ("", ["f"]))):
        (bench.root / "a.py").write_bytes(content)
        assert bench.sync().complete
        assert (skipped(bench, "a.py"), symbols(bench, "a.py")) == expected
        check_true(bench)


def test_a_change_within_a_tick_of_the_clock_is_found(bench: Bench) -> None:
    bench.deaf = True
    path = bench.root / "a.py"
    path.write_text("def old(): ...\n")
    now = bench.disk.time_ns() + 10**9  # as if it had been written just when it is read
    os.utime(path, ns=(now, now))
    stamped = os.stat(path)

    class Still(Disk):
        def time_ns(self) -> int:
            return now

        def lstat(self, other: str) -> os.stat_result:
            return stamped if other == str(path) else super().lstat(other)

    bench.disk = Still()
    bench.open()
    bench.settle()
    assert bench.tree.files["a.py"].racy
    path.write_text("def new(): ...\n")
    assert bench.sync().complete
    assert symbols(bench, "a.py") == ["new"]


def test_refresh_reads_what_it_is_asked_for_and_nothing_else(bench: Bench) -> None:
    put(bench.root, {"a.py": "def f(): ...\n", "b.py": "def g(): ...\n"})
    bench.open()
    while not bench.tree.files:
        bench.work()
    reply = bench.indexer.refresh(["a.py", "a.py", "../outside.py", "nowhere.py", ""])
    assert reply == Refreshed(bench.indexer.generation, complete=True)
    assert bench.files_read() == ["a.py"]
    assert symbols(bench, "a.py") == ["f"]
    bench.settle()
    check_true(bench)


# History


def test_the_history_of_git_is_counted(bench: Bench) -> None:
    git(bench.root, "init", "-q", "-b", "main")
    for number in range(3):
        write_files(
            bench.root, {"hot.py": f"x = {number}\n", f"once{number}.py": "", "gone.py": f"{number}\n"}
        )
        git(bench.root, "add", "-A")
        git(bench.root, "commit", "-q", "-m", f"{number}")
    (bench.root / "gone.py").unlink()
    bench.open()
    bench.settle()
    counts = {path: one.commits for path, one in activity(bench).items()}
    assert counts == {"hot.py": 3, "once0.py": 1, "once1.py": 1, "once2.py": 1}


def test_edits_are_counted(bench: Bench) -> None:
    put(bench.root, {"a.py": "", "b.py": ""})
    bench.open()
    bench.settle()
    assert activity(bench) == {}
    for number in (1, 2):
        (bench.root / "a.py").write_text("x = 1\n" * number)
        bench.until(lambda number=number: activity(bench).get("a.py", Activity("", 0, 0, 0)).edits >= number)  # type: ignore[misc]  # a default binds it
    assert set(activity(bench)) == {"a.py"}
    assert activity(bench)["a.py"].edited_ns > OLD_NS
    write_files(bench.root, {f"gen{n}.py": "" for n in range(EDITS_MAX + 1)})
    bench.tell(Batch(frozenset(f"{bench.root}/gen{n}.py" for n in range(EDITS_MAX + 1))))
    bench.until(lambda: f"gen{EDITS_MAX}.py" in bench.tree.files)
    assert "gen0.py" not in activity(bench)


def test_touched_paths_are_named_when_they_are_known(bench: Bench) -> None:
    put(bench.root, {".gitignore": "*.log\n"})
    bench.open()
    bench.settle()
    write_files(bench.root, {"new.py": "", "x.log": ""})
    touched: set[str] = set()

    def named() -> bool:
        for delta in bench.deltas:
            touched.update(delta.touched)
            assert "new.py" not in delta.touched or "new.py" in bench.tree.files
        return {"new.py", "x.log"} <= touched

    bench.until(named)
    assert set(bench.tree.files) == {".gitignore", "new.py"}


# Events that are lost, and a root that is


def test_the_sweep_finds_what_no_event_told(bench: Bench) -> None:
    put(bench.root, {"a.py": "", "b.py": "", "sub/c.py": ""})
    bench.deaf = True
    bench.open(sweep_interval_s=60)
    bench.settle()
    write_files(bench.root, {"a.py": "def f(): ...\n", "new/d.py": "import a\n"})
    shutil.rmtree(bench.root / "sub")
    bench.skip(59)
    assert "new/d.py" not in bench.tree.files
    bench.skip(2)
    assert set(bench.tree.files) == {"a.py", "b.py", "new/d.py"}
    check_true(bench)
    assert 0 < (bench.indexer.patience() or 0) <= 60


def test_polling_misses_nothing_and_says_so(bench: Bench) -> None:
    bench.watch_settings = WatchSettings(native=False)
    put(bench.root, {"a.py": "", "sub/b.py": ""})
    bench.open(poll_interval_ms=500, sweep_interval_s=86_400)
    bench.settle()
    assert (bench.state, bench.progress.watch) == ("ready", "polling")
    assert "native events are switched off" in bench.progress.degraded
    for number in range(3):
        write_files(bench.root, {f"sub/deep{number}/c.py": "", "a.py": f"def f{number}(): ...\n"})
        bench.skip(0.6)
        assert symbols(bench, "a.py") == [f"f{number}"]
    assert set(bench.tree.files) == {"a.py", "sub/b.py", *(f"sub/deep{n}/c.py" for n in range(3))}
    (bench.root / "sub/b.py").unlink()
    assert bench.sync().complete
    assert "sub/b.py" not in bench.tree.files
    check_true(bench)


def test_many_files_are_told_as_unread_only_after_the_project_is_not_ready(bench: Bench) -> None:
    put(bench.root, {"a.py": ""})
    bench.deaf = True
    bench.open()
    bench.settle()
    bench.events.clear()
    files = {f"f{n}.py": "x = 1\n" for n in range(30)}
    write_files(bench.root, files)
    bench.tell(Batch(frozenset(str(bench.root / name) for name in files)))
    bench.settle()
    first, second = bench.events[:2]
    assert isinstance(first, ProjectProgress)
    assert (first.state, first.pending) == ("indexing", 30)
    assert isinstance(second, TreeDelta)
    assert len(second.upserted) == 30
    assert bench.states == ["indexing", "ready"]


def test_an_overflow_is_announced_and_swept(bench: Bench) -> None:
    put(bench.root, {"a.py": "", "sub/b.py": ""})
    bench.deaf = True
    bench.open()
    bench.settle()
    shutil.rmtree(bench.root / "sub")
    write_files(bench.root, {"sub/b.py": "def f(): ...\n", "new/c.py": ""})
    while f"{bench.root}/sub" not in bench.lost.get(timeout=GENEROUS_S).lost_folders:
        pass
    bench.deaf = False
    bench.tell(Batch(frozenset(), overflow=True))
    bench.until(lambda: any(delta.resync for delta in bench.deltas))
    bench.settle()
    assert symbols(bench, "sub/b.py") == ["f"]
    check_true(bench)
    # Nobody heard that `sub` is another folder now: it has to be watched again.
    (bench.root / "sub/b.py").write_text("def later(): ...\n")
    bench.until(lambda: symbols(bench, "sub/b.py") == ["later"])


def test_a_batch_of_many_paths_is_a_resync(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "TOUCHED_MAX", 5)
    bench.deaf = True
    bench.open()
    bench.settle()
    write_files(bench.root, {f"f{n}.py": "" for n in range(8)})
    bench.tell(Batch(frozenset(f"{bench.root}/f{n}.py" for n in range(6))))
    bench.settle()
    assert bench.deltas[0].resync
    assert len(bench.tree.files) == 8


@pytest.mark.parametrize("cookie", [False, True])
def test_sync_brings_in_all_that_is_on_the_disk(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, cookie: bool
) -> None:
    if cookie:
        monkeypatch.setattr(indexing, "COOKIE_FILES", 0)
    put(bench.root, {"a.py": ""})
    bench.open()
    assert not bench.sync().complete, "the names aren't known yet"
    bench.settle()
    for number in range(5):
        write_files(bench.root, {f"n{number}/x{n}/f.py": "def f(): ...\n" for n in range(10)})
        (bench.root / "a.py").write_text(f"def a{number}(): ...\n")
        assert bench.sync() == Refreshed(bench.indexer.generation, complete=True)
        assert len(bench.tree.files) == 1 + 10 * (number + 1)
        assert symbols(bench, "a.py") == [f"a{number}"]
        assert not bench.tree.pending
    bench.settle()
    check_true(bench)


def test_sync_says_when_it_could_not_read_all(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "SYNC_FILES", 3)
    bench.deaf = True
    bench.open()
    bench.settle()
    write_files(bench.root, {f"f{n}.py": "" for n in range(5)})
    assert not bench.sync().complete
    assert bench.tree.pending == 2


def test_sync_reads_what_the_watcher_saw_before(bench: Bench) -> None:
    bench.deaf = True
    bench.open()
    bench.settle()
    files = {f"f{n}.py": f"def walrus_{n}(): ...\n" for n in range(100)}
    write_files(bench.root, files)
    bench.tell(Batch(frozenset(str(bench.root / name) for name in files)))
    assert bench.work()
    assert bench.tree.pending == 100, "so many are left for later"
    assert bench.sync().complete
    assert bench.tree.pending == 0
    assert len(lexical_files(bench, "walrus")) == 100


def test_words_are_found_as_soon_as_a_change_is_known(bench: Bench) -> None:
    put(bench.root, {"a.py": "def alpha(): ...\n", "b.py": "def alpha(): ...\n"})
    bench.open()
    bench.settle()
    assert lexical_files(bench, "alpha") == {"a.py", "b.py"}
    bench.deaf = True
    write_files(bench.root, {"a.py": "def beta(): ...\n", "c.py": "def beta(): ...\n"})
    bench.indexer.refresh(["a.py"], words=True)
    assert (lexical_files(bench, "alpha"), lexical_files(bench, "beta")) == ({"b.py"}, {"a.py"})
    (bench.root / "b.py").unlink()
    bench.sync()
    assert (lexical_files(bench, "alpha"), lexical_files(bench, "beta")) == (set(), {"a.py", "c.py"})


def test_a_lexical_index_that_somebody_found_damaged_is_filled_again(bench: Bench) -> None:
    put(bench.root, {"a.py": "def alpha(): ...\n"})
    bench.open()
    bench.settle()
    shutil.rmtree(bench.folder / "lexical")
    bench.files_read()
    bench.indexer.rebuild_lexical()
    bench.settle()
    assert lexical_files(bench, "alpha") == {"a.py"}
    assert bench.files_read() == [], "from the store"
    assert (bench.state, bench.progress.degraded) == ("ready", ())


def test_a_lexical_index_that_can_not_be_written_is_said_and_made_up_for(bench: Bench) -> None:
    put(bench.root, {"a.py": "def alpha(): ...\n"})
    bench.folder.mkdir()
    (bench.folder / "lexical").write_bytes(b"in the way")
    bench.open()
    bench.settle()
    assert bench.state == "ready", "all else is there"
    assert any("lexical index can't be written" in reason for reason in bench.progress.degraded)
    (bench.folder / "lexical").unlink()
    bench.skip(61)
    assert lexical_files(bench, "alpha") == {"a.py"}
    assert bench.progress.degraded == ()


def lexical_files(bench: Bench, term: str) -> set[str]:
    """Return the files in which a term is found."""
    hits = LexicalReader(str(bench.folder / "lexical")).search({term: 1.0}, 1_000)
    with bench.reader() as reader:
        return set(reader.chunks.paths({hit.file_id for hit in hits}).values())


@pytest.mark.parametrize("cookie", [False, True])
def test_a_root_that_goes_and_comes_back(bench: Bench, monkeypatch: pytest.MonkeyPatch, cookie: bool) -> None:
    if cookie:
        monkeypatch.setattr(indexing, "COOKIE_FILES", 0)
    put(bench.root, {"a.py": "def f(): ...\n", "sub/b.py": ""})
    bench.open(poll_interval_ms=500)
    bench.settle()
    away = bench.root.parent / "away"
    bench.root.rename(away)
    bench.until(lambda: bench.state == "degraded")
    assert f"{bench.root} is gone" in bench.progress.degraded[0]
    assert symbols(bench, "a.py") == ["f"], "what is known goes on answering"
    assert set(bench.tree.files) == {"a.py", "sub/b.py"}
    assert not bench.sync().complete
    bench.skip(0.6)
    assert bench.state == "degraded"
    put(away, {"new.py": ""})
    (away / "sub/b.py").unlink()
    away.rename(bench.root)
    bench.skip(0.6)
    assert (bench.state, bench.progress.watch, bench.progress.degraded) == ("ready", "native", ())
    check_true(bench)
    write_files(bench.root, {"sub/watched.py": ""})
    bench.until(lambda: "sub/watched.py" in bench.tree.files)


def test_a_root_that_is_gone_while_a_cookie_is_awaited(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "COOKIE_FILES", 0)
    put(bench.root, {"a.py": ""})
    bench.open()
    bench.settle()
    bench.deaf = True  # so that the news comes with the cookie
    shutil.rmtree(bench.root)
    bench.tell(Batch(frozenset({str(bench.root)})))
    monkeypatch.setattr(Watcher, "wait_cookie", lambda *_: True)
    assert not bench.sync().complete
    assert bench.state == "degraded"


def test_a_root_that_is_not_there_at_all(bench: Bench) -> None:
    bench.root.rmdir()
    bench.open(poll_interval_ms=500)
    bench.settle()
    assert bench.state == "degraded"
    bench.root.mkdir()
    put(bench.root, {"a.py": ""})
    bench.skip(0.6)
    assert bench.state == "ready"
    check_true(bench)


# A damaged index


def damage(path: Path, how: str) -> None:
    data = bytearray(path.read_bytes())
    if how == "empty":
        data.clear()
    elif how == "truncated":
        del data[len(data) // 2 :]
    elif how == "garbage":
        data = bytearray(os.urandom(len(data)))
    else:
        offset = int(how)
        data[offset : offset + 64] = bytes(byte ^ 0xFF for byte in data[offset : offset + 64])
    path.write_bytes(data)


@pytest.mark.parametrize("how", ["empty", "truncated", "garbage", "0", "16", "100", "4096", "8192", "12288"])
def test_a_damaged_index_is_set_aside_and_built_anew(bench: Bench, how: str) -> None:
    put(bench.root, {f"f{n}.py": f"import f{n + 1}\n\ndef f{n}(): ...\n" for n in range(60)})
    bench.open()
    bench.settle()
    generation = bench.indexer.generation
    bench.close()
    for suffix in ("-wal", "-shm"):
        Path(f"{bench.folder / FILE_NAME}{suffix}").unlink(missing_ok=True)
    damage(bench.folder / FILE_NAME, how)
    bench.open()
    bench.settle()
    assert bench.state == "ready"
    check_true(bench)
    aside = [name for name in os.listdir(bench.folder) if "damaged" in name]
    if how != "empty":
        assert aside, "it is kept"
        assert aside[0].partition("-wal")[0] in bench.progress.degraded[0]
        assert bench.indexer.generation > generation


def test_an_index_that_is_no_file_is_set_aside(bench: Bench) -> None:
    put(bench.root, {"a.py": ""})
    (bench.folder / FILE_NAME).mkdir(parents=True)
    bench.open()
    bench.settle()
    assert set(bench.tree.files) == {"a.py"}
    assert FILE_NAME in bench.progress.degraded[0]


# What comes from several threads


def test_writers_and_events_at_once(bench: Bench) -> None:
    bench.open()
    bench.settle()
    ended = threading.Barrier(5)

    def write(writer: int) -> None:
        for number in range(40):
            write_files(bench.root, {f"w{writer}/d{number % 5}/f.py": f"def f{number}(): ...\n"})
            if number % 10 == 9:
                shutil.rmtree(bench.root / f"w{writer}/d{number % 5}")
        ended.wait(GENEROUS_S)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    while ended.n_waiting < 4:
        bench.work()
    ended.wait(GENEROUS_S)
    for thread in threads:
        thread.join()
    bench.settle()
    assert bench.sync().complete
    check_true(bench)
