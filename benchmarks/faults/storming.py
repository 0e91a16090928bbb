"""A storm of changes to a project, at random, and the claim that its index is then what a first indexing
makes of the files: as a machine whose steps hypothesis chooses, and makes fewer when one fails."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from foveal.daemon.index.project_index import SWEEP_REST_MAX_S
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from .indexed import IndexedProject, differences, first_indexing

FOLDERS = ("", "a", "a/b", "a/b/c", "d", "D", "nest/x/y")
NAMES = ("m.py", "M.py", "n.py", "o.ts", "p.md", "__init__.py")
WORDS = tuple(f"word{letter}" for letter in "pqrst")
IGNORED = ("", "d/\n", "*.md\n", "m.py\n", "a/b/\n!a/b/c/\n", "/a\n")
PATHS = tuple(f"{folder}/{name}".lstrip("/") for folder in FOLDERS for name in NAMES)
OLD_NS = 1_700_000_000 * 10**9
ROUNDS = 20
"""A tree that rests is known after a few comparisons; after so many it never will be."""

GIT = ("git", "-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false")

folders = st.sampled_from(FOLDERS[1:])
paths = st.sampled_from(PATHS)
words = st.sampled_from(WORDS)


def text_of(path: str, word: str, other: str, imported: str) -> str:
    """Return a source whose size is the same whatever the words are."""
    module = imported.rpartition(".")[0].replace("/", ".")
    if path.endswith(".py"):
        return f"from {module} import {other}\n\n\ndef {word}() -> None:\n    {other}()\n"
    if path.endswith(".ts"):
        return f"import {{ {other} }} from './{module}'\nexport function {word}() {{ {other}() }}\n"
    return f"# {word}\n\nSays {other}.\n"


class Storm(RuleBasedStateMachine):
    """A project in a folder of its own, changed at random while its index follows, is deaf, or closed."""

    steps = 0
    """Of all machines, for who counts."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory(prefix="fv-", ignore_cleanup_errors=True)
        base = Path(self._folder.name).resolve()
        self.root = base / "p"
        self.root.mkdir()
        self._truths = 0
        self._base = base
        self._git("init", "-q", "-b", "main", "--template=")
        self._write("a/m.py", text_of("a/m.py", WORDS[0], WORDS[1], "d/n.py"))
        self._write("d/n.py", text_of("d/n.py", WORDS[1], WORDS[2], "a/m.py"))
        self.project = IndexedProject(self.root, base / "i")
        self.project.open()
        self.project.settle()

    def teardown(self) -> None:
        """Remove the project."""
        self.project.close()
        self._folder.cleanup()

    # What is done to the files

    @rule(path=paths, word=words, other=words, imported=paths)
    def write(self, path: str, word: str, other: str, imported: str) -> None:
        """Write a file, and the folders above it."""
        self._write(path, text_of(path, word, other, imported))

    @rule(path=paths, written=st.permutations(WORDS))
    def write_unseen(self, path: str, written: list[str]) -> None:
        """Write a file twice in place, of the same size and with its old time; it is read in between."""
        for word in written[:2]:
            self._write(path, text_of(path, word, "wordz", "a/m.py"))
            with suppress(OSError):
                os.utime(self.root / path, ns=(OLD_NS, OLD_NS))
            if word == written[0]:
                self.project.indexer.refresh([path])

    @rule(path=paths, to=paths)
    def rename(self, path: str, to: str) -> None:
        """Rename a file, over another one or not."""
        with suppress(OSError):
            (self.root / to).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).rename(self.root / to)

    @rule(path=paths)
    def rename_case(self, path: str) -> None:
        """Rename a file so that only the case of a letter differs."""
        target = (self.root / path).with_name(Path(path).name.swapcase().replace(".PY", ".py"))
        with suppress(OSError):
            (self.root / path).rename(target)

    @rule(folder=folders, to=folders)
    def rename_folder(self, folder: str, to: str) -> None:
        """Rename a folder with all below it."""
        with suppress(OSError):
            (self.root / to).parent.mkdir(parents=True, exist_ok=True)
            (self.root / folder).rename(self.root / to)

    @rule(folder=folders)
    def remove_folder(self, folder: str) -> None:
        """Remove a folder with all below it."""
        shutil.rmtree(self.root / folder, ignore_errors=True)

    @rule(path=paths)
    def remove(self, path: str) -> None:
        """Remove a file."""
        with suppress(OSError):
            (self.root / path).unlink()

    @rule(path=paths, to=st.sampled_from((*PATHS, *FOLDERS[1:], "..", "nowhere")))
    def link(self, path: str, to: str) -> None:
        """Put a symlink in the place of a file."""
        self._clear(path)
        with suppress(OSError):
            (self.root / path).symlink_to(self.root / to)

    @rule(path=paths, mode=st.sampled_from((0o644, 0o755, 0o600)))
    def chmod(self, path: str, mode: int) -> None:
        """Change a file's mode."""
        if (self.root / path).is_file() and not (self.root / path).is_symlink():
            (self.root / path).chmod(mode)

    @rule(folder=st.sampled_from(FOLDERS), text=st.sampled_from(IGNORED))
    def ignore(self, folder: str, text: str) -> None:
        """Write rules of what is ignored."""
        self._write(f"{folder}/.gitignore".lstrip("/"), text)

    @rule(path=paths, word=words)
    def to_folder(self, path: str, word: str) -> None:
        """Put a folder with a file into the place of a file."""
        self._clear(path)
        self._write(f"{path}/inner.py", text_of("inner.py", word, word, "a/m.py"))

    @rule(folder=folders)
    def to_file(self, folder: str) -> None:
        """Put a file into the place of a folder."""
        self._clear(folder)
        self._write(folder, "no folder any more\n")

    @rule(branch=st.sampled_from(("main", "other")))
    def switch(self, branch: str) -> None:
        """Commit all there is and switch to a branch, which may have other files."""
        self._git("add", "-A")
        self._git("commit", "-q", "-m", "m", "--allow-empty")
        made = subprocess.run(
            [*GIT, "rev-parse", "-q", "--verify", branch], cwd=self.root, capture_output=True, check=False
        )
        self._git("checkout", "-q", *([] if made.returncode == 0 else ["-b"]), branch)

    # What the indexer meets

    @rule()
    def work(self) -> None:
        """Let the indexer do one thing."""
        self.project.work()

    @rule()
    def go_deaf(self) -> None:
        """Lose what the watcher tells from now on."""
        self.project.deaf = True

    @precondition(lambda self: self.project.deaf)
    @rule()
    def hear(self) -> None:
        """Hear the watcher again; what it told meanwhile is lost."""
        self.project.deaf = False

    @rule(path=paths)
    def refresh(self, path: str) -> None:
        """Ask for one file, as an answer does that shows it."""
        self.project.indexer.refresh([path])

    @rule(settled=st.booleans())
    def restart(self, settled: bool) -> None:
        """End the indexer and start another, which is at once in the middle of its work or at its end."""
        self.project.open()
        if settled:
            self.check()

    @rule()
    def sweep(self) -> None:
        """Let the time pass after which the tree is compared with the disk without being asked."""
        self.project.settle()
        self.project.system.skipped_s += SWEEP_REST_MAX_S + 1  # a long comparison rests for longer
        self.check()

    @rule()
    def sync(self) -> None:
        """Ask for all that is on the disk now: once it is said to be there it must be."""
        for _ in range(ROUNDS):
            if self.project.indexer.sync().complete:
                return self._compare()
            self.project.settle()
        raise AssertionError(f"not complete after {ROUNDS} comparisons of a tree that rests")

    @invariant()
    def counted(self) -> None:
        """Count a step: this is asked after each."""
        Storm.steps += 1

    def check(self) -> None:
        """Let the indexer finish and hold its index against a first indexing."""
        self.project.settle()
        self._compare()

    def _compare(self) -> None:
        self._truths += 1
        truth = first_indexing(self.root, self._base / f"t{self._truths}", (*WORDS, "wordz"))
        wrong = differences(self.project.image((*WORDS, "wordz")), truth)
        told = self.project.told()
        wrong += [f"{path} was told wrong" for path in sorted(truth.keys() ^ told.keys())]
        shutil.rmtree(self._base / f"t{self._truths}")
        assert not wrong, "\n".join(wrong)

    def _write(self, path: str, text: str) -> None:
        target = self.root / path
        with suppress(OSError):  # a file lies where a folder would have to be, or the reverse
            target.parent.mkdir(parents=True, exist_ok=True)
            # In place, never through a link.
            descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o644)
            try:
                os.pwrite(descriptor, text.encode(), 0)
                os.ftruncate(descriptor, len(text.encode()))
            finally:
                os.close(descriptor)

    def _clear(self, path: str) -> None:
        target = self.root / path
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        else:
            with suppress(OSError):
                target.unlink()

    def _git(self, *arguments: str) -> None:
        # A repository that a storm has made odd may refuse; the tree is what it is then.
        subprocess.run([*GIT, *arguments], cwd=self.root, capture_output=True, check=False)
