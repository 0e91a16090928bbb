"""Whatever the program named git does, the project is indexed by its folders, and Status says why without git."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import psutil

from tests.conftest import git, running_daemon, write_files

PROGRAM = """#!/bin/sh
case "$PWD" in
*garbage) printf '\\377\\376\\000garbage\\000\\001x \\000\\n\\001\\002true\\000' ;;
*flood) cat /dev/zero ;;
*) exec {real} "$@" ;;
esac
"""
MEMORY_BYTES = 500_000_000
"""Far above what the processes of a few small projects need, far below what a flood could fill."""


def test_projects_are_indexed_whatever_git_prints(tmp_path: Path) -> None:
    write_files(tmp_path, {"bin/git": PROGRAM.format(real=shutil.which("git"))})
    (tmp_path / "bin/git").chmod(0o755)
    shop = {
        "auth.py": "def login(user):\n    return user\n",
        "readme.md": "# Shop\n",
        ".gitignore": "*.log\n",
        "secret.log": "x\n",
    }
    for name in ("garbage", "flood", "whole"):
        root = write_files(tmp_path / name, shop)
        git(root, "init", "-q")
        git(root, "add", ".")
        git(root, "commit", "-qm", "first")
    write_files(tmp_path / "plain", shop)
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    with running_daemon(tmp_path / "state", {"PATH": path}) as daemon:
        for name in ("garbage", "flood", "whole", "plain"):
            root = tmp_path / name
            assert daemon.open_ready(root)["files"] == 3
            context = daemon.call(
                "GetContext", cwd=str(root), prompt="how does login end?", deadline_ms=30_000
            )["context"]
            assert "def login" in context
            assert "secret.log" not in context, "an ignored file"
            assert ("last commits" in context) == (name == "whole")
            [status] = daemon.call("Status", cwd=str(root))["projects"]
            said = "\n".join(status["degraded"])
            assert ("git can't be used here (what git printed isn't" in said) == (
                name in {"garbage", "flood"}
            )
        main = psutil.Process(daemon.pid)
        family = [main, *main.children(recursive=True)]
        assert (
            sum(process.memory_info().rss for process in family if "git" not in process.name()) < MEMORY_BYTES
        )
        assert "Traceback" not in (daemon.state / "foveal.log").read_text()
