"""The code bases as the systems see them: each tree at its pin, a git repository with its history."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from foveal.daemon.languages.shared.language import language_of
from foveal.daemon.languages.shared.parse import parse_source
from foveal.daemon.languages.shared.records import Symbol

from ..retrieval.repositories import Repository, clone_of
from .judge import File


@dataclass(frozen=True)
class CodeBase:
    """One project in a folder of its own, with its file names relative to it."""

    name: str
    root: Path
    paths: frozenset[str]

    @cached_property
    def _files(self) -> dict[str, File]:
        return {}

    def file(self, path: str) -> File:
        """Return the lines and definitions of a file."""
        if path not in self._files:
            source = (self.root / path).read_bytes()
            text = source.decode("utf-8", "replace").replace("\r\n", "\n")
            self._files[path] = File(text.split("\n"), definitions(path, source))
        return self._files[path]


def definitions(path: str, source: bytes) -> Sequence[Symbol]:
    """Return the definitions of a source file, as the product's parser reads them."""
    return parse_source(source, language_of(path, source[:200])).symbols


def provide(repository: Repository, clones: Path, folder: Path) -> CodeBase:
    """Return the project in `folder`, made if it isn't there: the files of the pinned tree, committed.

    Its repository borrows the clone's objects, so that the history up to the pin is known as in a real work
    tree. Raises `FileNotFoundError` without the clone, `CalledProcessError` when git fails.
    """
    root, note = folder / repository.name, folder / f".{repository.name}.revision"
    made = (root / ".git").is_dir() and note.is_file()
    if not made or note.read_text(encoding="ascii") != repository.revision:
        clone = clone_of(clones, repository).resolve()
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        _git(root, "init", "--quiet")
        objects = _git(clone, "rev-parse", "--git-path", "objects")
        borrowed = root / ".git" / "objects" / "info" / "alternates"
        borrowed.write_text(f"{(clone / objects).resolve()}\n", encoding="utf-8")
        _git(root, "update-ref", "--no-deref", "HEAD", repository.revision)
        _git(root, "read-tree", "HEAD")
        # A clone without large files lacks some contents; all others are written.
        _git(root, "checkout-index", "--all", "--quiet", check=False)
        note.write_text(repository.revision, encoding="ascii")
    listed = _git(root, "ls-files", "-z").split("\0")
    # No folders of other repositories, nothing that the clone lacked.
    present = frozenset(path for path in listed if path and (root / path).is_file())
    return CodeBase(repository.name, root, present)


def _git(folder: Path, *arguments: str, check: bool = True) -> str:
    # The clone may belong to somebody else, who could have it start programs; these commands start none.
    settings = ("-c", "safe.directory=*", "-c", f"core.hooksPath={os.devnull}")
    command = ["git", "-C", str(folder), *settings, *arguments]
    done = subprocess.run(
        command, check=check, stdout=subprocess.PIPE, stderr=None if check else subprocess.DEVNULL
    )
    return os.fsdecode(done.stdout).strip("\n")
