"""After any change a sweep knows what a new scan would, and trouble on the disk ends none."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from foveal.daemon.core.system import System
from foveal.daemon.project import lister, rules, scan
from foveal.daemon.project.lister import RootGone
from foveal.daemon.project.rules import ScanSettings
from foveal.daemon.project.scan import ListingNeeded, ScanChanges

from tests.scan_cases import applied, apply_to, full, git, make, scanned, scanner_of

pytestmark = pytest.mark.usefixtures("user")

# -- what belongs to the tree


# -- trouble on the disk


class Faulty(System):
    """Refuses or hides paths, and runs something at a chosen moment."""

    def __init__(self) -> None:
        self.refused: set[str] = set()
        self.before_lstat: dict[str, Callable[[], object]] = {}

    def lstat(self, path: str) -> os.stat_result:
        action = self.before_lstat.pop(path, None)
        if action is not None:
            action()
        if any(path.startswith(f"{folder}/") for folder in self.refused):
            raise PermissionError(13, "Permission denied", path)
        return super().lstat(path)

    @contextmanager
    def scandir(self, path: str) -> Iterator[Iterator[os.DirEntry[str]]]:
        if any(f"{path}/".startswith(f"{folder}/") for folder in self.refused):
            raise PermissionError(13, "Permission denied", path)
        with super().scandir(path) as entries:
            yield entries


def test_unreadable_folders(root: Path) -> None:
    make(root, "a.py", "locked/b.py", "locked/deep/c.py")
    system = Faulty()
    system.refused.add(f"{root}/locked")
    scanner, known = scanned(root, system=system)
    assert set(known) == {"a.py"}
    assert scanner.skipped_folders == {"locked": "unreadable"}
    system.refused.clear()
    (root / "locked").chmod(0o700)
    known = applied(known, scanner.sweep(known))
    assert set(known) == {"a.py", "locked/b.py", "locked/deep/c.py"}
    system.refused.add(f"{root}/locked")
    (root / "locked").chmod(0o755)
    known = applied(known, scanner.sweep(known))
    assert set(known) == {"a.py"}
    assert scanner.skipped_folders == {"locked": "unreadable"}


def test_a_root_that_cant_be_listed_is_gone(root: Path) -> None:
    system = Faulty()
    system.refused.add(str(root))
    with pytest.raises(RootGone, match="permissions"):
        full(scanner_of(root, system=system))


def test_the_root_goes_and_comes_back(root: Path) -> None:
    make(root, "a.py", "sub/b.py")
    scanner, known = scanned(root)
    shutil.rmtree(root)
    for call in (
        lambda: scanner.sweep(known),
        lambda: scanner.examine([str(root)], known),
        lambda: full(scanner),
    ):
        with pytest.raises(RootGone, match="is gone"):
            call()
    root.write_text("a file now")
    with pytest.raises(RootGone):
        scanner.sweep(known)
    root.unlink()
    make(root, "c.py")
    known = applied(known, scanner.sweep(known))
    assert set(known) == {"c.py"}


def test_case_only_rename_on_a_file_system_without_case(root: Path) -> None:
    class Caseless(System):
        def lstat(self, path: str) -> os.stat_result:
            folder, name = os.path.split(path)
            names = {entry.lower(): entry for entry in os.listdir(folder)}
            return super().lstat(os.path.join(folder, names.get(name.lower(), name)))

    make(root, "Readme.md", "b.py")
    scanner = scanner_of(root, system=Caseless())
    for call in (
        scanner.sweep,
        lambda known: scanner.examine([f"{root}/Readme.md", f"{root}/README.md"], known),
    ):
        (root / "README.md").rename(root / "Readme.md") if (root / "README.md").exists() else None
        known = full(scanner)
        (root / "Readme.md").rename(root / "README.md")
        assert set(applied(known, call(known))) == {"README.md", "b.py"}


# -- changes


class Later(System):
    """A clock one minute ahead, so that no time stamp counts as too recent to be trusted."""

    def time_ns(self) -> int:
        return super().time_ns() + 60 * 10**9


def tick(probe: Path) -> None:
    """Return when the file system's clock has moved on, so that what changes now gets another time stamp."""
    probe.touch()
    before = probe.stat().st_mtime_ns
    while probe.stat().st_mtime_ns == before:
        probe.write_text("")


def test_examine_finds_a_folder_replaced_while_it_compares(root: Path) -> None:
    """The folder is replaced after it was compared with the one that is known, and before it is listed."""

    class Replacing(System):
        stats: int | None = None

        def lstat(self, path: str) -> os.stat_result:
            if path == f"{root}/n" and self.stats is not None:
                self.stats += 1
                if self.stats == 2:
                    (root / "n").rename(root / "away")
                    make(root, "n/new/c.py")
            return super().lstat(path)

    make(root, "n/old/a.py")
    system = Replacing()
    scanner, known = scanned(root, system=system)
    system.stats = 0
    known = applied(known, scanner.examine([f"{root}/n"], known))
    assert system.stats > 2
    known = applied(known, scanner.examine([f"{root}/n", f"{root}/away"], known))
    assert known == full(scanner_of(root))


def test_a_folder_that_changes_twice_within_a_tick_of_the_clock(root: Path) -> None:
    class Ticking(System):
        """A file system whose clock stands still."""

        tick = 10**18

        def time_ns(self) -> int:
            return self.tick

        def lstat(self, path: str) -> os.stat_result:
            status = super().lstat(path)
            times = {"st_mtime_ns": self.tick, "st_ctime_ns": self.tick}
            fields = {name: getattr(status, name) for name in dir(status) if name.startswith("st_")}
            return cast("os.stat_result", SimpleNamespace(**(fields | times)))

    make(root, "a.py")
    scanner, known = scanned(root, system=Ticking())
    make(root, "b.py")
    assert [record.path for record in scanner.sweep(known).upserted] == ["b.py"]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("{root}/.gitignore", "*.log\n"),
        ("{root}/sub/.gitignore", "b.log\n"),
        ("{root}/.fovealignore", "*.log\n"),
        ("{root}/.git/info/exclude", "*.log\n"),
        ("{user}/.config/git/ignore", "*.log\n"),
        ("{user}/excludes", "*.log\n"),
    ],
)
@pytest.mark.parametrize("mode", ["sweep", "examine"])
def test_a_change_of_rules_lists_everything_again(
    root: Path, user: Path, file: str, text: str, mode: str
) -> None:
    git(root, "init", "-q")
    make(root, "a.py", "sub/b.log")
    (user / ".gitconfig").write_text("[core]\nexcludesFile = ~/excludes\n" if "excludes" in file[7:] else "")
    path = Path(file.format(root=root, user=user))
    path.parent.mkdir(parents=True, exist_ok=True)
    scanner, known = scanned(root)
    for content in (text, "", text, None):
        path.unlink() if content is None else path.write_text(content)
        changes = scanner.sweep(known) if mode == "sweep" else scanner.examine([str(path)], known)
        assert changes.ignored_changed
        known = applied(known, changes)
        assert ("sub/b.log" in known) is (content != text)
        assert known == full(scanner_of(root))


def test_the_index_decides_on_folders_people_use_too(root: Path) -> None:
    git(root, "init", "-q")
    make(root, "a.py", "vendor/b.py", "c.log", "x/d.log")
    (root / ".gitignore").write_text("*.log\n/x/\n")
    git(root, "add", "a.py")
    scanner, known = scanned(root)
    assert set(known) == {".gitignore", "a.py"}
    git(root, "add", "-f", "vendor/b.py", "c.log", "x/d.log")
    known = applied(known, scanner.sweep(known))
    assert set(known) == {".gitignore", "a.py", "vendor/b.py", "c.log", "x/d.log"}
    git(root, "rm", "-q", "--cached", "-r", "vendor", "c.log")
    known = applied(known, scanner.sweep(known))
    assert set(known) == {".gitignore", "a.py", "x/d.log"}
    git(root, "add", ".gitignore")
    assert not scanner.sweep(known).ignored_changed


def test_a_large_tree_is_listed_in_steps_and_examined_after_them(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(root, *(f"d{number}/f{n}.py" for number in range(4) for n in range(5)))
    scanner, known = scanned(root)
    monkeypatch.setattr(scan, "LISTED_NOW", 10)
    monkeypatch.setattr(lister, "_FOLDERS_AT_ONCE", 1)
    monkeypatch.setattr(rules, "RACY_NS", 0)  # rules that were just written would have to be read again
    (root / ".gitignore").write_text("f0.py\n")
    with pytest.raises(ListingNeeded):
        scanner.sweep(known)
    with pytest.raises(ListingNeeded):
        scanner.examine([f"{root}/.gitignore"], known)
    steps = scanner.sweep_in_steps(known)
    while not scanner.is_listing:
        apply_to(known, next(steps))
    with pytest.raises(ListingNeeded):
        scanner.examine([f"{root}/d1"], known)
    rest = [apply_to(known, changes) for changes in steps]
    assert len(rest) > 2
    assert not scanner.is_listing
    assert known == full(scanner_of(root))
    # What comes later is examined as ever, up to where it is too much for one answer.
    make(root, "d0/new.py")
    assert [record.path for record in scanner.examine([f"{root}/d0"], known).upserted] == ["d0/new.py"]
    apply_to(known, ScanChanges(tuple(full(scanner_of(root)).values())))
    make(root, *(f"large/e{number}/f{n}.py" for number in range(4) for n in range(5)))
    with pytest.raises(ListingNeeded):
        scanner.examine([f"{root}/large"], known)
    assert scanner.is_listing
    for changes in scanner.sweep_in_steps(known):
        apply_to(known, changes)
    assert known == full(scanner_of(root))


# -- after any operations a sweep knows what a new scan finds


class Chaos:
    """Does random things to a tree."""

    NAMES = ("a", "b.py", "c.log", "A", "build", "vendor", "node_modules", "é")
    RULES = ("*.log\n", "a/\n", "/b.py\n", "!c.log\n", "b*\n!b.py\n", "", "A\n/a/b.py\n")

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root
        self.random = random.Random(seed)
        self.touched: list[str] = []

    def folder(self) -> str:
        folders = [folder for folder, _, _ in os.walk(self.root) if "/.git" not in folder]
        return self.random.choice(folders)

    def path(self) -> str:
        return os.path.join(self.folder(), self.random.choice(self.NAMES))

    def remove(self, path: str) -> None:
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        elif os.path.lexists(path):
            os.unlink(path)

    def step(self) -> None:
        path = self.path()
        action = self.random.randrange(30)
        self.touched.append(path)
        if action < 10 and not os.path.isdir(path) and not os.path.islink(path):
            Path(path).write_text("x" * self.random.randrange(200))
        elif action < 16 and not os.path.lexists(path):
            os.makedirs(os.path.join(path, self.random.choice(self.NAMES)))
        elif action < 20:
            self.remove(path)
        elif action < 25:
            target = self.path()
            nested = f"{target}/".startswith(f"{path}/") or f"{path}/".startswith(f"{target}/")
            if not nested and os.path.lexists(path):
                self.remove(target)
                os.rename(path, target)
                self.touched.append(target)
        elif action == 25:
            self.remove(path)
            os.symlink(self.random.choice(["a", "..", "nowhere"]), path)
        elif action == 26:
            file = os.path.join(self.folder(), self.random.choice([".gitignore", ".fovealignore"]))
            Path(file).write_text(self.random.choice(self.RULES))
            self.touched.append(file)
        elif action == 27:
            file = os.path.join(self.folder(), self.random.choice([".gitignore", ".fovealignore"]))
            self.remove(file)
            self.touched.append(file)
        elif (self.root / ".git").exists():
            self.git_step()

    def git_step(self) -> None:
        arguments = self.random.choice(
            [["add", "-A"], ["add", "-f", "."], ["rm", "-rq", "--cached", "."], ["reset", "-q"]]
        )
        subprocess.run(["git", *arguments], cwd=self.root, capture_output=True, check=False)
        self.touched.append(str(self.root / ".git/index"))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("in_git", [False, True])
@pytest.mark.parametrize("mode", ["sweep", "examine", "steps"])
def test_any_operations(
    root: Path, seed: int, in_git: bool, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if in_git:
        git(root, "init", "-q")
    if mode == "steps":
        monkeypatch.setattr(scan, "SLICE_ENTRIES", 3)
        monkeypatch.setattr(scan, "LISTED_NOW", 5)
    chaos = Chaos(root, seed)
    settings = ScanSettings(max_file_bytes=150)
    scanner, known = scanned(root, settings, Later() if seed % 2 else System())
    for _ in range(20):
        chaos.touched.clear()
        if seed % 2:
            tick(root.parent / "probe")
        for _ in range(chaos.random.randrange(1, 8)):
            chaos.step()
        if mode == "steps":
            for changes in scanner.sweep_in_steps(known):
                known = apply_to(known, changes)
        else:
            changes = scanner.sweep(known) if mode == "sweep" else scanner.examine(chaos.touched, known)
            known = applied(known, changes)
        fresh = scanner_of(root, settings)
        assert known == full(fresh)
        assert set(scanner.folders) == set(fresh.folders)
        assert scanner.skipped_folders == fresh.skipped_folders
        if in_git:
            lines = git(root, "ls-files", "-z", "-co", "--exclude-standard", "--deduplicate").split("\0")
            assert {path for path in known if not path.startswith("vendor")} <= set(lines)
