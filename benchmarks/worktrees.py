"""Measures what a further work tree of a repository costs, and compares its index with one made from nothing.

$ python -m benchmarks.worktrees ~/src/celery ~/src/eslint      # clones with their history

Of each repository five work trees are made at different commits, each with edits that aren't committed. Their
indexes are compared row by row, without ids, when they are ready, and again after a checkout and a rebase.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from foveal.ipc.client import Client

from .own_daemon import WAIT_S, busy_s, environment, is_ready, open_project, running, wait_until

DISTANCES = (0, 0, 5, 20, 60)
"""Number of first-parent commits by which each work tree is behind the one that is indexed first."""

EDITS = 20
"""Number of files that are changed in each work tree."""

SEED = 11

_FILE = "(SELECT path FROM files WHERE id = {})"
_DEFINITION = (
    "(SELECT f.path || '#' || d.name FROM definitions d JOIN files f ON f.id = d.file_id WHERE d.id = {})"
)

ROWS = {
    "files": "SELECT path, digest, language, skipped, lines, symbols, size FROM files",
    "definitions": f"SELECT {_FILE.format('file_id')}, ordinal, name, base, kind, start_line, end_line,"
    " signature, doc, depth FROM definitions",
    "imports": f"SELECT {_FILE.format('file_id')}, module, name, line, required, target, missing,"
    " (SELECT group_concat(key, ' ') FROM (SELECT key FROM import_keys WHERE import_id = i.id ORDER BY key))"
    " FROM imports i",
    "chunks": f"SELECT {_FILE.format('file_id')}, start_line, end_line, symbol, kind, names, digest, embed"
    " FROM chunks",
    "texts": f"SELECT {_FILE.format('file_id')}, chunks FROM texts",
    "facts": f"SELECT {_FILE.format('file_id')}, said, shown, interface, refs FROM facts",
    "links": f"SELECT {_FILE.format('file_id')}, line, ordinal, kind,"
    " (SELECT n.name FROM names n WHERE n.id = l.name),"
    f" {_DEFINITION.format('scope')}, {_DEFINITION.format('target')}, state FROM links l",
    "consulted": f"SELECT {_FILE.format('file_id')}, (SELECT path FROM places WHERE id = place)"
    " FROM consulted",
    "unlinked": f"SELECT {_FILE.format('file_id')} FROM unlinked",
    "unlexed": f"SELECT DISTINCT {_FILE.format('file_id')} FROM unlexed",
}
"""The content of an index by table, without ids and without what says when it was read."""


def rows_of(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return the rows of the index in a project's folder, by table, sorted."""
    with closing(sqlite3.connect(f"file:{folder / 'index.sqlite'}?mode=ro", uri=True)) as database:
        return {table: sorted(database.execute(query), key=repr) for table, query in ROWS.items()}


def differences(ours: Path, fresh: Path) -> list[str]:
    """Return which tables of two indexes differ, each with its number of rows and a row as an example."""
    found = []
    mine, wanted = rows_of(ours), rows_of(fresh)
    for table in ROWS:
        more, less = set(mine[table]) - set(wanted[table]), set(wanted[table]) - set(mine[table])
        if more or less or len(mine[table]) != len(wanted[table]):
            example = repr(next(iter(more or less), "a row twice"))[:300]
            found.append(f"{table}: {len(more)} rows too many, {len(less)} missing, such as {example}")
    return found


def own_bytes(folder: Path) -> int:
    """Return the bytes on the disk of a folder's files that no other folder shares."""
    files = (file.lstat() for file in folder.rglob("*") if file.is_file())
    return sum(status.st_blocks * 512 for status in files if status.st_nlink == 1)


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; the exit status is 1 if an index differs from one made from nothing."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repositories", nargs="+", type=Path)
    parser.add_argument("--trees", type=int, default=len(DISTANCES), help="work trees of each")
    options = parser.parse_args(arguments)
    wrong = 0
    for repository in options.repositories:
        with tempfile.TemporaryDirectory(prefix="foveal-trees-") as folder:
            wrong += _measure(repository, Path(folder), options.trees)
    return 1 if wrong else 0


def _measure(repository: Path, folder: Path, trees: int) -> int:
    """Measure the work trees of one repository; return the number of indexes that differ."""
    main_root = folder / repository.name.removesuffix(".git")
    _git(folder, "clone", "--quiet", "--local", str(repository.resolve()), str(main_root))
    wrong = 0
    with running(environment(folder / "own", "[embedding]\nenabled = false\n")) as client:
        before = busy_s(client)
        opening = open_project(client, main_root)
        taken = busy_s(client) - before
        size = own_bytes(_folder(folder / "own", main_root)) / 1e6
        print(f"{repository.name}: {opening.files:,} files, load {os.getloadavg()[0]:.1f}; from nothing:"
              f" {opening.linked:.1f} s ({taken:.1f} s of processors), {size:.1f} MB")  # fmt: skip
        for number, distance in enumerate(DISTANCES[:trees]):
            root = folder / f"tree{number}"
            _git(main_root, "worktree", "add", "--quiet", "--detach", str(root), f"HEAD~{distance}")
            chooser = random.Random(SEED + number)
            _edit(root, chooser)
            before = busy_s(client)
            opening = open_project(client, root)
            taken = busy_s(client) - before
            print(
                f"  HEAD~{distance} and {EDITS} edits: ready and linked in {opening.linked:.1f} s"
                f" ({taken:.1f} s of processors)"
            )
            for what in ("opened", "checked out", "rebased"):
                if what != "opened":
                    _move(root, what, chooser)
                    _settle(client, root)
                wrong += _compare(folder, root, what)
                print(f"    {own_bytes(_folder(folder / 'own', root)) / 1e6:.1f} MB beside the first")
    return wrong


def _compare(folder: Path, root: Path, what: str) -> int:
    """Print how the index of a work tree differs from one made from nothing; return whether it does."""
    state = folder / "fresh"
    with running(environment(state, "[embedding]\nenabled = false\n")) as client:
        open_project(client, root)
    found = differences(_folder(folder / "own", root), _folder(state, root))
    shutil.rmtree(state)
    print(f"    {what}: {'; '.join(found) or 'equal'}", flush=True)
    return bool(found)


def _settle(client: Client, root: Path) -> None:
    started = time.monotonic()
    client.call("Query", {"cwd": str(root), "query": "what changed", "fresh": "tree"}, WAIT_S)
    wait_until(lambda: is_ready(client, root), f"{root} to be indexed")
    print(f"    {time.monotonic() - started:.1f} s until it is ready again")


def _folder(home: Path, root: Path) -> Path:
    (found,) = (home / "state" / "projects").glob(f"{root.name}-*")
    return found


def _edit(root: Path, chooser: random.Random) -> None:
    """Change files of a work tree: new code in most, two removed, two moved."""
    paths = list(_sources(root))
    for number, path in enumerate(chooser.sample(paths, min(EDITS, len(paths)))):
        if number < 2:
            path.unlink()
        elif number < 4:
            path.rename(path.with_name(f"moved_{path.name}"))
        elif number % 2:
            path.write_bytes(path.read_bytes().replace(b"get", b"fetch", 3))
        else:
            path.write_bytes(path.read_bytes() + f"\n\nedited_{number} = {number}\n".encode())


def _move(root: Path, what: str, chooser: random.Random) -> None:
    """Commit what was edited and go elsewhere: to an older commit, or onto one."""
    _git(root, "add", "--all")
    _git(root, "commit", "--quiet", "--message", what)
    if what == "checked out":
        _git(root, "checkout", "--quiet", "HEAD~8")
        _edit(root, chooser)
    else:
        try:
            _git(root, "rebase", "--quiet", "--strategy-option", "theirs", "--onto", "HEAD~12", "HEAD~1")
        except (
            subprocess.CalledProcessError
        ):  # a removed file was changed there: its conflict stays in the tree
            print("    the rebase stopped at a conflict")


def _sources(root: Path) -> Iterator[Path]:
    for path in sorted(root.rglob("*")):
        if path.suffix in {".py", ".js", ".ts", ".go", ".rs", ".c", ".cpp"} and path.is_file():
            yield path


def _git(folder: Path, *arguments: str) -> None:
    own = ("-c", "user.name=bench", "-c", "user.email=bench@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *own, *arguments], check=True)


if __name__ == "__main__":
    sys.exit(main())
