"""FindFiles: a part of a path finds files, those that are more likely meant first."""

from __future__ import annotations

import pytest
from foveal.daemon.search.lookups import find_files

from tests.conftest import SMALL_PROJECT, DaemonProcess, write_files

PATHS = [
    "docs/auth/intro.md",
    "src/auth.py",
    "auth.toml",
    "src/oauth.py",
    "src/deep/Auth_test.py",
    "README.md",
]


def test_the_beginning_of_a_path_then_of_a_name_then_the_rest() -> None:
    assert find_files(PATHS, "auth", 10) == (
        ["auth.toml", "src/auth.py", "src/deep/Auth_test.py", "src/oauth.py", "docs/auth/intro.md"],
        5,
    )


@pytest.mark.parametrize(
    ("query", "found"), [("AUTH.P", "src/auth.py"), ("src/o", "src/oauth.py"), ("readme", "README.md")]
)
def test_case_does_not_matter_and_folders_count(query: str, found: str) -> None:
    assert find_files(PATHS, query, 1)[0] == [found]


def test_a_limit_still_counts_all() -> None:
    assert find_files(PATHS, "a", 2) == (["auth.toml", "src/auth.py"], 6)
    assert find_files(PATHS, "nothing", 2) == ([], 0)


def test_a_project_is_asked_over_the_wire(
    shared_daemon: DaemonProcess, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = str(write_files(tmp_path_factory.mktemp("p"), SMALL_PROJECT))
    shared_daemon.open_ready(root)
    reply = shared_daemon.call("FindFiles", cwd=root, query="shop/s")
    assert (reply["files"], reply["total"]) == (["src/shop/sessions.py"], 1)
    for bad in ({"query": ""}, {"query": "a", "limit": 501}):
        assert shared_daemon.error("FindFiles", cwd=root, **bad).code == "invalid_params"
