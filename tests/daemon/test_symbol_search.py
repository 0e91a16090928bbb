"""FindSymbols over the wire: a part of a name finds definitions, their lines, and nothing that is stale."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import DaemonProcess, write_files

FILES: dict[str, str | bytes] = {
    "src/store.py": (
        "import functools\n\n\n"
        "@functools.cache\n"
        "@named('load_all')\n"
        "def load_all():\n    pass\n\n\n"
        "class Store:\n"
        "    def load_one(self):\n        pass\n\n"
        "    def load_one(self, key):\n        pass\n\n"
        "    @property\n    def size(self):\n        return 0\n\n\n"
        "class Other:\n    def load_one(self):\n        pass\n"
    ),
    "src/keys.py": "loader_password = 'k3Jx92LmQp07ZtVw'\n",
    "tests/index/test_store.py": "def load():\n    pass\n",
    "docs/guide.md": "# Loading\n\n## load_section\n\nText.\n",
}


@pytest.fixture(scope="module")
def root(shared_daemon: DaemonProcess, tmp_path_factory: pytest.TempPathFactory) -> str:
    project = write_files(tmp_path_factory.mktemp("p"), FILES)
    (project / ".git").mkdir()
    shared_daemon.open_ready(project)
    return str(project)


def found(daemon: DaemonProcess, root: str, query: str, **options: object) -> list[str]:
    reply = daemon.call("FindSymbols", cwd=root, query=query, **options)
    assert (reply["partial"], reply["degraded"], reply["project"]) == (False, [], root)
    return [f"{one['node_id'].partition('#')[2]}:{one['line']}" for one in reply["symbols"]]


def test_parts_of_names(shared_daemon: DaemonProcess, root: str) -> None:
    def check(query: str, *expected: str) -> None:
        assert found(shared_daemon, root, query) == list(expected), query

    every = ("Store.load_one:11", "Store.load_one~2:14", "Other.load_one:23")
    check("load_one", *every)
    check("load_on", *every)
    check("Load On", *every)
    check("Store.lo", *every[:2])
    check("store::Load", *every[:2])
    check("st#one", *every[:2])
    check("Nothing.lo")
    check("load_all", "load_all:6")  # not at the decorator that names it
    check("size", "Store.size:18")
    check("load_section")
    check("")
    check("..")
    # What begins with it; of these that of a test is last, though it is the shortest.
    check("load", "load:1", "load_all:6", *every, "loader_password:1")
    check("loa", "load_all:6", *every, "loader_password:1", "load:1")


def test_a_line_is_shown_as_it_is_and_its_secrets_are_not(shared_daemon: DaemonProcess, root: str) -> None:
    (size,) = shared_daemon.call("FindSymbols", cwd=root, query="size")["symbols"]
    assert size == {
        "node_id": "src/store.py#Store.size",
        "path": "src/store.py",
        "symbol": "Store.size",
        "kind": "method",
        "start_line": 17,
        "end_line": 19,
        "line": 18,
        "text": "    def size(self):",
    }
    (password,) = shared_daemon.call("FindSymbols", cwd=root, query="loader_password")["symbols"]
    assert password["text"] == "loader_password = '[masked]16+'"


def test_a_file_that_changed_is_read_again_first(shared_daemon: DaemonProcess, tmp_path: Path) -> None:
    root = write_files(
        tmp_path / "p", {"a.py": "def fetch():\n    pass\n", "b.py": "def fetch_b():\n    pass\n"}
    )
    shared_daemon.open_ready(root)
    (root / "a.py").write_text("\n\ndef fetch():\n    pass\n")
    assert found(shared_daemon, str(root), "fet") == ["fetch:3", "fetch_b:1"]
    (root / "b.py").unlink()
    assert found(shared_daemon, str(root), "fet") == ["fetch:3"]


def test_what_cannot_be_asked(shared_daemon: DaemonProcess, root: str) -> None:
    for bad in ({}, {"query": 5}, {"query": "a", "limit": 0}, {"query": "a", "limit": 501}):
        assert shared_daemon.error("FindSymbols", cwd=root, **bad).code == "invalid_params"
