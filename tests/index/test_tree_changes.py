"""Whatever changes in a tree reaches the index, with and without the watcher's word."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from foveal.daemon.index import indexed_files as import_targets
from foveal.daemon.index import tree_changes
from foveal.daemon.index.messages import EDITS_MAX
from foveal.daemon.index.tree_changes import PENDING_PATHS, ProjectWatch
from foveal.daemon.project import scan
from foveal.daemon.project.records import WatchBatch

from tests.conftest import git, write_files
from tests.indexer_cases import (
    GENEROUS_S,
    OLD_NS,
    Bench,
    Disk,
    activity,
    check_true,
    imports,
    symbols,
)


def test_folders_and_files_take_each_others_place(bench: Bench) -> None:
    bench.start({"a/b/c.py": "", "a/d.py": "", "node": "text\n", "keep.py": "def k(): ...\n"})

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
    bench.start()
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
    bench.start()
    assert bench.tree.files["a.py"].racy
    path.write_text("def new(): ...\n")
    assert bench.sync().complete
    assert symbols(bench, "a.py") == ["new"]


def test_edits_are_counted(bench: Bench) -> None:
    bench.start({"a.py": "", "b.py": ""})
    assert activity(bench) == {}
    for number in (1, 2):
        (bench.root / "a.py").write_text("x = 1\n" * number)

        def counted(number: int = number) -> bool:
            return "a.py" in activity(bench) and activity(bench)["a.py"].edits >= number

        bench.until(counted)
    assert set(activity(bench)) == {"a.py"}
    assert activity(bench)["a.py"].edited_ns > OLD_NS
    write_files(bench.root, {f"gen{n}.py": "" for n in range(EDITS_MAX + 1)})
    bench.tell(WatchBatch(frozenset(f"{bench.root}/gen{n}.py" for n in range(EDITS_MAX + 1))))
    bench.until(lambda: f"gen{EDITS_MAX}.py" in bench.tree.files)
    assert "gen0.py" not in activity(bench)


def test_touched_paths_are_named_when_they_are_known(bench: Bench) -> None:
    bench.start({".gitignore": "*.log\n"})
    write_files(bench.root, {"new.py": "", "x.log": ""})
    touched: set[str] = set()

    def named() -> bool:
        for delta in bench.deltas:
            touched.update(delta.touched)
            assert "new.py" not in delta.touched or "new.py" in bench.tree.files
        return {"new.py", "x.log"} <= touched

    bench.until(named)
    assert set(bench.tree.files) == {".gitignore", "new.py"}


def test_an_overflow_is_announced_and_swept(bench: Bench) -> None:
    bench.start({"a.py": "", "sub/b.py": ""}, deaf=True)
    shutil.rmtree(bench.root / "sub")
    write_files(bench.root, {"sub/b.py": "def f(): ...\n", "new/c.py": ""})
    while f"{bench.root}/sub" not in bench.lost.get(timeout=GENEROUS_S).lost_folders:
        pass
    bench.deaf = False
    bench.tell(WatchBatch(frozenset(), overflow=True))
    bench.until(lambda: any(delta.resync for delta in bench.deltas))
    bench.settle()
    assert symbols(bench, "sub/b.py") == ["f"]
    check_true(bench)
    # Nobody heard that `sub` is another folder now: it has to be watched again.
    (bench.root / "sub/b.py").write_text("def later(): ...\n")
    bench.until(lambda: symbols(bench, "sub/b.py") == ["later"])


def test_what_comes_into_a_new_folder_before_its_watch_is_found(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.start(deaf=True)
    watch = bench.indexer._index.changes._watch
    add = watch.add

    def add_late(folders: list[str]) -> None:
        if str(bench.root / "new") in folders:
            write_files(bench.root, {"new/second.py": ""})
        add(folders)

    monkeypatch.setattr(watch, "add", add_late)
    write_files(bench.root, {"new/first.py": ""})
    bench.tell(WatchBatch(frozenset({str(bench.root / "new")})))
    bench.settle()
    assert set(bench.tree.files) == {"new/first.py", "new/second.py"}


def test_a_batch_of_many_paths_is_a_resync(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_changes, "TOUCHED_MAX", 5)
    bench.start(deaf=True)
    write_files(bench.root, {f"f{n}.py": "" for n in range(8)})
    bench.tell(WatchBatch(frozenset(f"{bench.root}/f{n}.py" for n in range(6))))
    bench.settle()
    assert bench.deltas[0].resync
    assert len(bench.tree.files) == 8


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have trees of a few files taken for large ones."""
    monkeypatch.setattr(tree_changes, "SWEPT_NOW", 5)
    monkeypatch.setattr(scan, "LISTED_NOW", 5)
    monkeypatch.setattr(scan, "SLICE_ENTRIES", 3)


@pytest.mark.usefixtures("large")
def test_a_large_tree_is_true_after_all_its_steps(bench: Bench) -> None:
    git(bench.root, "init", "-q")
    bench.start({f"d{n % 7}/f{n}.py": f"def f{n}(): ...\n" for n in range(40)})
    assert len(bench.tree.files) == 40
    shutil.rmtree(bench.root / "d1")
    (bench.root / "d2/f2.py").rename(bench.root / "d3/moved.py")
    write_files(bench.root, {f"new/e{n % 3}/g{n}.py": "def g(): ...\n" for n in range(20)})
    bench.until(lambda: "new/e2/g2.py" in bench.tree.files and "d1/f1.py" not in bench.tree.files)
    bench.settle()
    assert bench.sync().complete
    check_true(bench)
    # Rules that change have all of it listed anew, in steps, and what comes meanwhile isn't lost.
    write_files(bench.root, {".gitignore": "new/e1/\n"})
    while not bench.indexer._changes.is_listing:
        if not bench.work():
            bench.tell(WatchBatch(frozenset({f"{bench.root}/.gitignore"})))
    write_files(bench.root, {"d3/meanwhile.py": "def late(): ...\n"})
    bench.indexer.refresh(["d3/f3.py"])
    assert not bench.sync().complete, "nothing is proven while it is listed"
    bench.until(lambda: "d3/meanwhile.py" in bench.tree.files and "new/e1/g1.py" not in bench.tree.files)
    bench.settle()
    assert bench.sync().complete
    check_true(bench)


@pytest.mark.usefixtures("large")
def test_an_overflow_of_a_large_tree_is_swept_in_steps(bench: Bench) -> None:
    bench.start({f"d{n % 7}/f{n}.py": "" for n in range(40)}, deaf=True)
    shutil.rmtree(bench.root / "d1")
    (bench.root / "d2/f2.py").write_text("def changed(): ...\n")
    bench.tell(WatchBatch(frozenset(), overflow=True))
    bench.work()
    assert bench.state != "ready", "it isn't while a sweep is due"
    assert "d1/f1.py" in bench.tree.files
    bench.settle()
    assert bench.state == "ready"
    assert symbols(bench, "d2/f2.py") == ["changed"]
    check_true(bench)


# What a watcher sees reaches the indexer's thread in order, and nothing does after the end.


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[ProjectWatch]:
    with closing(ProjectWatch(str(tmp_path), lambda: None)) as one:
        yield one


def test_before_it_begins_there_is_no_watch(watch: ProjectWatch, tmp_path: Path) -> None:
    watch.add([str(tmp_path)])
    watch.replace([str(tmp_path)])
    assert (watch.active, watch.mode, watch.native, watch.problem) == (False, "off", False, "")
    assert watch.next_batch() is None


def test_batches_that_wait_become_one(watch: ProjectWatch) -> None:
    for number in (1, 2, 1):
        watch._hear(WatchBatch(frozenset({f"/p/{number}"}), lost_folders=frozenset({f"/l/{number}"})))
    paths, lost = frozenset({"/p/1", "/p/2"}), frozenset({"/l/1", "/l/2"})
    assert watch.next_batch() == WatchBatch(paths, lost_folders=lost)
    assert watch.next_batch() is None
    watch._hear(WatchBatch(frozenset({"/p/1"})))
    watch._hear(WatchBatch(frozenset(), overflow=True))
    assert watch.next_batch() == WatchBatch(frozenset(), overflow=True)


def test_changes_without_end_take_no_memory_without_end(watch: ProjectWatch) -> None:
    for number in range(3 * PENDING_PATHS):
        watch._hear(WatchBatch(frozenset({f"/p/{number}"})))
    assert len(watch._paths) <= PENDING_PATHS
    assert watch.next_batch() == WatchBatch(frozenset(), overflow=True)
    assert watch.next_batch() is None


# Imports lead where they would if the project were read anew, whatever came or went.


def test_imports_follow_files_that_come_and_go(bench: Bench) -> None:
    bench.start({"pkg/__init__.py": "", "pkg/a.py": "from .late import x\n"})
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
    bench.start(
        {"src/a.ts": 'import { b } from "@/b";\nimport { c } from "./c";\n', "src/b.ts": "", "src/c.ts": ""}
    )
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


def test_many_names_at_once_lead_imports_as_few_do(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_targets, "RETRY_MAX", 3)
    bench.start({f"a{n}.py": f"import lib.b{n}\n" for n in range(3)}, deaf=True)
    write_files(bench.root, {f"lib/b{n}.py": "" for n in range(5)})
    assert bench.sync().complete
    assert [imports(bench, f"a{n}.py") for n in range(3)] == [[(f"lib/b{n}.py", False)] for n in range(3)]
    check_true(bench)
    shutil.rmtree(bench.root / "lib")
    assert bench.sync().complete
    assert {target for n in range(3) for target, _ in imports(bench, f"a{n}.py")} == {""}
    check_true(bench)
