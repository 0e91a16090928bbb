"""Whatever the program named git does, the project is indexed by its folders, and Status says why without git."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import psutil
import pytest

from tests.conftest import DaemonProcess, git, running_daemon, write_files

GARBAGE = r"printf '\377\376\000garbage\000\001x \000\n\001\002true\000'"
INSIDE = 'case "$*" in *rev-parse*) echo true; exit;; esac; '
"""Answers the question whether this is a work tree, so that all others are asked."""

PROGRAMS = {
    "garbage": (GARBAGE, "isn't what git prints"),
    "garbage for every question but the first": (INSIDE + GARBAGE, "isn't what git prints"),
    "paths outside": (INSIDE + r"printf '/etc/passwd\000../../x\000'", "isn't what git prints"),
    "a flood of paths": (INSIDE + r"yes garbage | tr '\n' '\000'", "isn't what git prints"),
    "a flood without an end": (INSIDE + "cat /dev/zero", "isn't what git prints"),
    "a flood of one line": ("yes", "isn't what git prints"),
    "a line of another language": ("echo 'kein Arbeitsverzeichnis'", "a git folder without a work tree"),
    "nothing": ("exit 0", "a git folder without a work tree"),
    "a signal": ("kill -SEGV $$", "git ended with status -11"),
    "a failure": ("echo 'fatal: schlecht' >&2; exit 128", "schlecht"),
}
MEMORY_BYTES = 400_000_000
"""Far above what the processes of a small project need, far below what a flood could fill."""


def served(daemon: DaemonProcess, shop: Path) -> str:
    """Index a project and ask about it; return what Status says of git."""
    found = daemon.open_ready(shop)
    assert found["files"] == 3
    context = daemon.call("GetContext", cwd=str(shop), prompt="how does login end?", deadline_ms=30_000)
    assert "def login" in context["context"]
    assert "secret.log" not in context["context"], "an ignored file"
    assert "last commits" not in context["context"]
    [status] = daemon.call("Status", cwd=str(shop))["projects"]
    daemon_process = psutil.Process(daemon.pid)
    family = [daemon_process, *daemon_process.children(recursive=True)]
    assert sum(process.memory_info().rss for process in family if "git" not in process.name()) < MEMORY_BYTES
    return "\n".join(status["degraded"])


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = write_files(
        tmp_path / "shop",
        {
            "auth.py": "def login(user):\n    return user\n",
            "readme.md": "# Shop\n",
            ".gitignore": "*.log\n",
            "secret.log": "x\n",
        },
    )
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    return root


@pytest.mark.parametrize("name", PROGRAMS)
def test_project_is_indexed_whatever_git_prints(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, shop: Path, name: str
) -> None:
    script, said = PROGRAMS[name]
    write_files(tmp_path, {"bin/git": f"#!/bin/sh\n{script}\n"})
    (tmp_path / "bin/git").chmod(0o755)
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    with running_daemon(tmp_path_factory.mktemp("d"), {"PATH": path}) as daemon:
        text = served(daemon, shop)
        assert "git can't be used here" in text
        assert said in text
        assert "Traceback" not in (daemon.state / "foveal.log").read_text()


def test_project_is_indexed_without_git(tmp_path_factory: pytest.TempPathFactory, shop: Path) -> None:
    with running_daemon(tmp_path_factory.mktemp("d"), {"PATH": str(shop / "none")}) as daemon:
        assert "git is not installed" in served(daemon, shop)


def test_folder_without_a_repository_is_no_problem(
    tmp_path_factory: pytest.TempPathFactory, shop: Path
) -> None:
    shutil.rmtree(shop / ".git")
    with running_daemon(tmp_path_factory.mktemp("d")) as daemon:
        assert served(daemon, shop) == ""
