"""GetChanges, `foveal changes` and the tool: callers outside of a diff, names that are left, tests in reach."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DaemonProcess, git, write_files

FILES: dict[str, str | bytes] = {
    "shop/auth.py": (
        "def login(user, again=False):\n    return check(user)\n\n\n"
        "def check(user):\n    return bool(user)\n\n\n"
        "def logout(user):\n    return None\n\n\n"
        "LIMIT = 3\n"
    ),
    "shop/cart.py": (
        "from shop.auth import LIMIT, login, logout\n\n\n"
        "def checkout(user):\n    login(user)\n    logout(user)\n    return LIMIT\n"
    ),
    "tests/test_cart.py": (
        "from shop.auth import check\nfrom shop.cart import checkout\n\n\n"
        "def test_checkout():\n    checkout('ann')\n\n\n"
        "def test_check():\n    assert check('ann')\n"
    ),
}


@pytest.fixture(scope="module")
def root(shared_daemon: DaemonProcess, tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = write_files(tmp_path_factory.mktemp("p").resolve() / "shop", FILES)
    git(project, "init", "-q", "-b", "main")
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "Begin")
    shared_daemon.open_ready(project)
    write_files(
        project,
        {
            "shop/auth.py": (
                "def login(user, retries):\n    return check(user)\n\n\n"
                "def check(user):\n    return user is not None\n\n\n"
                "def leave(user):\n    return None\n\n\n"
                "LIMIT = 4\n"
            )
        },
    )
    return project


def changes(daemon: DaemonProcess, root: Path, span: str = "") -> dict[str, Any]:
    reply: dict[str, Any] = daemon.call("GetChanges", cwd=str(root), range=span)
    assert reply["degraded"] == []
    return reply


def places(found: list[dict[str, Any]]) -> list[str]:
    return [f"{one['path']}:{one['line']} {one['enclosing']}".rstrip() for one in found]


def test_changes_of_the_work_tree(shared_daemon: DaemonProcess, root: Path) -> None:
    reply = changes(shared_daemon, root)
    assert (reply["before"], reply["after"], reply["files"], reply["more"]) == ("HEAD", "work tree", 1, 0)
    found = {one["symbol"]: one for one in reply["changes"]}
    assert {name: one["kind"] for name, one in found.items()} == {
        "login": "signature",
        "leave": "renamed",
        "check": "body",
        "LIMIT": "body",
    }
    assert found["login"]["parameters"] == ["again→retries"]
    assert places(found["login"]["callers"]) == ["shop/cart.py:5 checkout"]
    assert found["login"]["callers"][0]["text"] == "login(user)"
    assert found["leave"]["former"] == "logout"
    assert places(found["leave"]["callers"]) == ["shop/cart.py:1", "shop/cart.py:6 checkout"]
    assert places(found["check"]["callers"]) == ["tests/test_cart.py:10 test_check"], "login is in the diff"
    assert [(one["enclosing"], one["calls"]) for one in found["check"]["tests"]] == [
        ("test_check", 1),
        ("test_checkout", 3),
    ]
    assert places(found["LIMIT"]["callers"]) == ["shop/cart.py:7 checkout"]
    assert reply["tests"] == [{"path": "tests/test_cart.py", "reached": 2}]


def test_changes_between_commits(shared_daemon: DaemonProcess, root: Path) -> None:
    assert changes(shared_daemon, root, "HEAD..HEAD")["changes"] == []
    assert shared_daemon.error("GetChanges", cwd=str(root), range="none").code == "invalid_params"
    bare = write_files(root.parent / "bare", {"a.py": "x = 1\n", "foveal.toml": ""})
    (bare / ".foveal").mkdir()
    assert shared_daemon.error("GetChanges", cwd=str(bare)).code == "not_found"


def test_secrets_of_a_signature_are_masked(shared_daemon: DaemonProcess, root: Path) -> None:
    project = write_files(root.parent / "keys", {"a.py": "def f(a):\n    pass\n"})
    git(project, "init", "-q", "-b", "main")
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "Begin")
    shared_daemon.open_ready(project)
    write_files(
        project, {"a.py": 'def f(a, creds="user,AKIAIOSFODNN7EXAMPLE", *, AKIAIOSFODNN7EXAMPLA):\n    pass\n'}
    )
    reply = changes(shared_daemon, project)
    (found,) = reply["changes"]
    assert "+creds" in found["parameters"]
    assert "AKIA" not in str(reply)
