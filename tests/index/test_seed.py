"""A new work tree's index is made from that of another one, and is the one that reading all would make."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from foveal.benchmarks.worktrees import differences
from foveal.daemon.core.system import System
from foveal.daemon.index import seed
from foveal.daemon.index.store import FILE_NAME, Store
from foveal.daemon.project.service import project_folder, write_record

from tests.conftest import git, write_files
from tests.indexer_cases import Bench, lexical_files, open_bench

FILES = {
    "app/__init__.py": "",
    "app/auth.py": "from app.store import Store\n\n\ndef login(store: Store) -> int:\n    return store.get()\n",
    "app/store.py": "class Store:\n    def get(self) -> int:\n        return 1\n",
    "app/unused.py": "import app.gone\n\n\ndef unused() -> None: ...\n",
    "app/vendor/__init__.py": "",
    "app/vendor/lib/__init__.py": "def helper() -> int:\n    return 2\n",
    "tests/test_auth.py": "import lib\nfrom app.auth import login\n\n\ndef test_login() -> None:\n    login(lib)\n",
    "app/vendor/json.py": "import json\n\n\ndef dumps() -> str:\n    return json.dumps(1)\n",
    "readme.md": "# App\n\nHow to log in.\n",
}


class Family:
    """A repository with two work trees and their indexes in one state folder."""

    def __init__(self, base: Path, first: Bench) -> None:
        self.base = base
        self.first = first
        git(first.root, "init", "-q", "-b", "main")
        write_files(first.root, FILES)
        git(first.root, "add", ".")
        git(first.root, "commit", "-q", "-m", "first")
        first.folder = self.folder_of(first.root)
        self.root = base / "tree"
        git(first.root, "worktree", "add", "-q", "--detach", str(self.root))
        self.second = Bench(self.root, self.folder_of(self.root))

    def folder_of(self, root: Path) -> Path:
        folder = Path(project_folder(str(self.base / "state"), str(root)))
        folder.mkdir(parents=True)
        write_record(str(root), str(folder), System())
        return folder

    def shared(self) -> list[Path]:
        """Return the files of the second lexical index that are the first one's too."""
        return [path for path in (self.second.folder / "lexical").iterdir() if path.stat().st_nlink > 1]

    def check_equal(self) -> None:
        """Check that the second index is the one that is made where no other work tree is known."""
        fresh = Bench(self.root, self.base / "fresh" / "projects" / "tree")
        shutil.rmtree(fresh.folder, ignore_errors=True)
        fresh.start()
        fresh.close()
        assert differences(self.second.folder, fresh.folder) == []
        with self.second.reader() as reader:
            assert dict(self.second.tree.files) == reader.load_files()
        assert lexical_files(self.second, "login") == lexical_files(fresh, "login") != set()


@pytest.fixture
def family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Family]:
    with open_bench(tmp_path, monkeypatch) as first:
        family = Family(tmp_path.resolve(), first)
        yield family
        family.second.close()


def test_seed_reads_only_what_differs(family: Family, parses: list[bytes]) -> None:
    write_files(family.first.root, {"notes.md": "# Only here\n", "app/store.py": "class Store: ...\n"})
    family.first.start()
    (family.root / "app/unused.py").unlink()
    (family.root / "app/vendor/__init__.py").unlink()
    write_files(family.root, {"app/gone.py": "GONE = 1\n"})
    parses.clear()
    family.second.start()
    assert sorted(parses) == [b"GONE = 1\n", FILES["app/store.py"].encode()]
    assert "notes.md" not in family.second.tree.files
    family.check_equal()


def test_seed_of_a_folder_that_was_no_package(family: Family) -> None:
    """Its files no longer import themselves by their names."""
    (family.first.root / "app/vendor/__init__.py").unlink()
    family.first.start()
    family.second.start()
    family.check_equal()


def test_seed_shares_files_that_each_index_replaces_for_itself(family: Family) -> None:
    family.first.start()
    (family.first.folder / "vectors").mkdir()
    (family.first.folder / "vectors" / "vectors-1.bin").write_bytes(b"graph")
    family.second.start()
    assert family.shared()
    assert (family.second.folder / "vectors" / "vectors-1.bin").stat().st_nlink == 2
    before = lexical_files(family.first, "login")
    write_files(family.root, {"app/auth.py": "def logout() -> None: ...\n"})
    family.second.sync()
    family.second.settle()
    assert lexical_files(family.second, "logout") == {"app/auth.py"}
    assert (lexical_files(family.first, "login"), lexical_files(family.first, "logout")) == (before, set())
    family.check_equal()


def test_seed_leaves_out_what_is_excluded_here(family: Family) -> None:
    family.first.start()
    family.second.start(exclude=("app/unused.py",), max_file_bytes=60)
    assert "app/unused.py" not in family.second.tree.files
    assert family.second.tree.files["app/auth.py"].skipped == "too_large"


@pytest.mark.parametrize("what", ["index", "lexical", "unfinished", "other patterns"])
def test_seed_that_can_not_be_used_leaves_the_work_to_reading(
    family: Family, parses: list[bytes], what: str
) -> None:
    family.first.start()
    family.first.close()
    settings: dict[str, Any] = {}
    if what == "index":
        path = family.first.folder / FILE_NAME
        path.write_bytes(path.read_bytes()[:20_000] + bytes(40_000))
    elif what == "lexical":
        for path in (family.first.folder / "lexical").glob("*.idx"):
            path.write_bytes(path.read_bytes()[:-9] + bytes(9))
    elif what == "unfinished":
        with closing(Store(str(family.first.folder), System())) as store:
            store.set_meta("parser", "reading again")
    else:
        settings = {"show_files": ("*.pem",)}
    parses.clear()
    family.second.start(**settings)
    assert bool(parses) == (what != "lexical")
    assert family.shared() == []
    assert not list(family.second.folder.glob(f"{FILE_NAME}.*")), "nothing of the copy is left"
    assert family.second.progress.degraded == ()
    family.check_equal()


def test_seed_is_never_another_projects_index(family: Family) -> None:
    """A repository's own files name its work trees, and may name any folder."""
    family.first.start()
    theirs = family.base / "theirs"
    theirs.mkdir()
    git(theirs, "init", "-q")
    entry = theirs / ".git" / "worktrees" / "x"
    entry.mkdir(parents=True)
    (entry / "gitdir").write_text(f"{family.first.root}/.git\n")
    bench = Bench(theirs, family.folder_of(theirs))
    bench.start({"a.py": "def a(): ...\n"})
    bench.close()
    assert bench.tree.files.keys() == {"a.py"}
    assert b"login" not in (bench.folder / FILE_NAME).read_bytes()
    claimed = family.base / "claimed"
    write_files(claimed, {".git": f"gitdir: {family.first.root}/.git/worktrees/tree\n", "b.py": ""})
    bench = Bench(claimed, family.folder_of(claimed))
    bench.start()
    bench.close()
    assert b"login" not in (bench.folder / FILE_NAME).read_bytes()


def test_seed_cut_at_any_step_ends_the_same(family: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    family.first.start()
    write_files(family.root, {"app/new.py": "import lib\n"})

    def end(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    for name in ("_link_lexical", "_link_vectors", "rebase"):
        with monkeypatch.context() as patch:
            patch.setattr(seed, name, end)
            with pytest.raises(KeyboardInterrupt):
                family.second.open()
        assert not os.path.exists(family.second.folder / FILE_NAME)
    family.second.open()
    with family.second.reader() as reader:
        stamps = {record.stamp.inode for record in reader.load_files().values()}
    assert stamps == {0}, "no file counts as unchanged before it was compared"
    steps = 0
    while family.second.work():
        steps += 1
        family.second.open()  # as after each step's process was killed
        for _ in range(steps):
            family.second.work()
    family.second.start()
    family.check_equal()


def test_seed_is_taken_while_the_first_index_is_written(family: Family) -> None:
    family.first.start()
    family.second.start()
    write_files(family.first.root, {"app/late.py": "def login_late() -> None: ...\n"})
    family.first.sync()
    family.first.settle()
    assert "app/late.py" in lexical_files(family.first, "login")
    family.check_equal()


def test_seed_has_the_wanted_versions(family: Family) -> None:
    family.first.start()
    with family.first.reader() as reader:
        found = {name: reader.get_meta(name) or "" for name in ("parser", "linker")}
    for versions, expected in ((found | {"linker": "0"}, ""), (found, str(family.first.root))):
        folder = str(family.second.folder)
        assert seed.seed_index(str(family.root), folder, versions, System()) == expected
