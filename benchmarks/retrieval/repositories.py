"""The list of pinned repositories: what `data/repositories.toml` says, checked."""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

LIST = Path(__file__).parent / "data" / "repositories.toml"

SPLITS = ("tune", "held_out")
"""Weights are set on the first; the second is measured once they are set, and never looked into."""

_OWNER_AND_NAME = re.compile(r"[A-Za-z0-9-]+/[A-Za-z0-9][A-Za-z0-9._-]*")
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Repository:
    """One repository, with the revision that is indexed and the last one that is mined."""

    name: str
    path: str  # owner/name, on the host where its history is public
    revision: str  # 40 hex digits: this tree is the index
    until: str  # 40 hex digits: the commits after `revision` up to this one are mined
    languages: tuple[str, ...]
    split: str


def read_repositories(path: Path = LIST) -> list[Repository]:
    """Return the repositories in the file's order; raise `ValueError` naming the entry that is wrong."""
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("repository", [])
    repositories = [_repository(entry) for entry in entries]
    names = [repository.name for repository in repositories]
    if len(set(names)) != len(names):
        raise ValueError(f"{path}: a name stands twice")
    return repositories


def clone_of(clones: Path, repository: Repository) -> Path:
    """Return the clone of a repository, bare or with a work tree: the folder `name` or `name.git`.

    Raises `FileNotFoundError`, which says what to run.
    """
    for folder in (clones / repository.name, clones / f"{repository.name}.git"):
        if (folder / ".git").exists() or (folder / "HEAD").is_file():
            return folder
    target = clones / repository.name
    raise FileNotFoundError(f"no clone: run git clone https://github.com/{repository.path} {target}")


def git_command(clone: Path, *arguments: str) -> list[str]:
    """Return the command that runs git on a clone, with nothing that its configuration could start."""
    folder = clone / ".git" if (clone / ".git").exists() else clone
    settings = ("core.fsmonitor=false", f"core.hooksPath={os.devnull}", "log.showSignature=false")
    options = [part for setting in settings for part in ("-c", setting)]
    return ["git", f"--git-dir={folder}", "--no-pager", *options, *arguments]


def _repository(entry: dict[str, object]) -> Repository:
    path, languages = entry.get("path"), entry.get("languages")
    if not isinstance(path, str) or not _OWNER_AND_NAME.fullmatch(path):
        raise ValueError(f"path must be owner/name, not {path!r}")
    revision, until = entry.get("revision"), entry.get("until")
    for commit in (revision, until):
        if not isinstance(commit, str) or not _COMMIT.fullmatch(commit):
            raise ValueError(f"{path}: revision and until must be full commit ids, not {commit!r}")
    if not isinstance(languages, list) or not languages:
        raise ValueError(f"{path}: languages must be a list of names")
    split = entry.get("split")
    if split not in SPLITS:
        raise ValueError(f"{path}: split must be one of {', '.join(SPLITS)}, not {split!r}")
    name = path.partition("/")[2]
    return Repository(
        name, path, str(revision), str(until), tuple(str(each) for each in languages), str(split)
    )
