"""The pinned trees: writes each repository's files at its pinned revision into a work folder."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .repositories import Repository, clone_of, git_command, read_repositories
from .source_files import language_of

_SUBMODULE = "160000"
"""The mode of an entry that names a commit of another repository; it has no content here."""


def main() -> int:
    """Write the trees of all repositories, or of those that are named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.retrieval.checkout", description=__doc__)
    parser.add_argument("clones", type=Path, help="folder with a full clone of each repository")
    parser.add_argument("trees", type=Path, help="folder for the trees, one folder each")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="these repositories")
    arguments = parser.parse_args()
    chosen = [each for each in read_repositories() if not arguments.only or each.name in arguments.only]
    for tree in check_out(arguments.clones, arguments.trees, chosen):
        print(tree, file=sys.stderr)
    return 0


def check_out(clones: Path, trees: Path, repositories: Iterable[Repository]) -> list[Path]:
    """Return the folder of each repository's tree, written if it isn't there.

    A tree is whole or absent: it gets its name when its last file was written. No clone is changed.
    Raises `FileNotFoundError` without a clone, `subprocess.CalledProcessError` when git fails.
    """
    trees.mkdir(parents=True, exist_ok=True)
    return [_tree(clones, trees.resolve(), repository) for repository in repositories]


def _tree(clones: Path, trees: Path, repository: Repository) -> Path:
    """Write the files from git's objects: an archive would leave out what is marked export-ignore."""
    target = trees / repository.name
    marker = trees / f".{repository.name}.revision"
    if target.is_dir() and marker.is_file() and marker.read_text(encoding="ascii") == repository.revision:
        return target
    clone = clone_of(clones, repository).resolve()
    with tempfile.TemporaryDirectory(dir=trees) as temporary:
        files = Path(temporary) / "files"
        git = _Git(clone, os.environ | {"GIT_INDEX_FILE": str(Path(temporary) / "index")})
        git.run("read-tree", repository.revision)
        absent = _absent_files(git, repository)
        git.run("update-index", "--force-remove", "-z", "--stdin", stdin="\0".join(absent))
        git.run("checkout-index", "--all", f"--prefix={files}/")
        if target.exists():
            shutil.rmtree(target)
        files.rename(target)
    marker.write_text(repository.revision, encoding="ascii")
    return target


def _absent_files(git: _Git, repository: Repository) -> list[str]:
    """Return the files whose content the clone lacks, as copies without large files do; say so.

    Raises `ValueError` if one of them is a source file: the tree would not be the one that is pinned.
    """
    entries = [entry for entry in git.run("ls-files", "--stage", "-z").split("\0") if entry]
    staged = [(entry.partition("\t")[2], entry.split()[1]) for entry in entries if entry[:6] != _SUBMODULE]
    answers = git.run("cat-file", "--batch-check", stdin="".join(f"{blob}\n" for _, blob in staged))
    lines = answers.splitlines()
    absent = [path for (path, _), line in zip(staged, lines, strict=True) if line.endswith(" missing")]
    sources = [path for path in absent if language_of(path)]
    if sources:
        raise ValueError(f"{repository.name}: the clone lacks source files, among them {sources[0]}")
    for path in absent:
        print(f"{repository.name}: not in the clone, left out: {path}", file=sys.stderr)
    return absent


@dataclass(frozen=True, slots=True)
class _Git:
    """Git on one clone, with an index file of its own."""

    clone: Path
    environment: dict[str, str]

    def run(self, *arguments: str, stdin: str = "") -> str:
        done = subprocess.run(
            git_command(self.clone, *arguments),
            input=os.fsencode(stdin),
            stdout=subprocess.PIPE,
            check=True,
            env=self.environment,
            cwd=os.path.dirname(self.environment["GIT_INDEX_FILE"]),
        )
        return os.fsdecode(done.stdout)


if __name__ == "__main__":
    sys.exit(main())
