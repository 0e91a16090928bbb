"""Git's hooks get a block that never fails; scripts of others keep running, their bytes, mode and status."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from foveal.hooks.install.errors import InstallError
from foveal.hooks.install.git_hooks import BEGIN, END, ScriptBlock, block_program

from tests.hook_install_cases import Machine, tree

HOOKS = ("post-checkout", "post-merge", "post-commit")


@pytest.fixture
def machine(machine: Machine, tmp_path: Path) -> Machine:
    machine.program.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\nexit 3\n')
    for name, value in {"user.name": "A", "user.email": "a@b.c", "commit.gpgsign": "false"}.items():
        git(machine.root, "config", name, value)
    return machine


def git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", "-C", str(folder), *arguments], check=False, capture_output=True, text=True)


def calls(machine: Machine) -> list[str]:
    path = machine.program.parent.parent / "calls"
    return path.read_text().splitlines() if path.exists() else []


def script(machine: Machine, name: str, text: bytes, mode: int = 0o755) -> Path:
    path = machine.root / ".git" / "hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text)
    path.chmod(mode)
    return path


def test_git_runs_the_hook_until_uninstall(machine: Machine) -> None:
    before = tree(machine.home)
    machine.does("install", "git", "--yes")
    assert "nothing to do" in machine.does("install", "git", "--yes")
    assert git(machine.root, "commit", "-q", "--allow-empty", "-m", "x").returncode == 0
    assert git(machine.root, "checkout", "-q", "-b", "other").returncode == 0
    assert calls(machine)[0] == "hook git post-commit"
    assert calls(machine)[1].startswith("hook git post-checkout ")
    assert len(calls(machine)[1].split()) == 6
    machine.program.unlink()
    done = git(machine.root, "commit", "-q", "--allow-empty", "-m", "y")
    assert (done.returncode, done.stderr) == (0, "")
    machine.program.write_text("")
    machine.program.chmod(0o755)
    machine.does("uninstall", "git", "--yes")
    assert {name for name, _ in tree(machine.home).items()} == {name for name, _ in before.items()}


@pytest.mark.parametrize(
    "text",
    [
        b"#!/bin/sh\necho theirs\nexit 4\n",
        b"#!/usr/bin/env bash\nset -euo pipefail\nexec true",
        b"#! /bin/bash -e\n",
        b"# no first line \xff\xfe\ntrue\n",
        b"#!/bin/sh",
        b"#!/bin/sh\n",
    ],
)
def test_git_scripts_are_chained_and_restored(machine: Machine, text: bytes) -> None:
    path = script(machine, "post-commit", text, 0o750)
    before = tree(machine.home)
    machine.does("install", "git", "--yes")
    assert path.stat().st_mode & 0o777 == 0o750
    assert git(machine.root, "commit", "-q", "--allow-empty", "-m", "x").returncode == 0
    assert "hook git post-commit" in calls(machine)
    machine.does("uninstall", "git", "--yes")
    left = {
        name: value for name, value in tree(machine.home).items() if "/.git/" not in name or "hooks" in name
    }
    assert {name: left.get(name) for name in before} == before


@pytest.mark.parametrize(
    ("text", "mode", "problem"),
    [
        (b"#!/usr/bin/env python3\nprint()\n", 0o755, "post-merge is a script for python3"),
        (b"#!/usr/bin/perl -w\n", 0o755, "a script for /usr/bin/perl"),
        (b"#!/bin/sh\ntrue\n", 0o644, "isn't executable"),
    ],
)
def test_unchainable_git_hook_is_refused(machine: Machine, text: bytes, mode: int, problem: str) -> None:
    script(machine, "post-merge", text, mode)
    assert problem in machine.refuses("install", "git", "--yes")


def test_a_hooks_folder_in_the_project_is_respected(machine: Machine) -> None:
    git(machine.root, "config", "core.hooksPath", ".githooks")
    machine.does("install", "git", "--yes")
    assert sorted(os.listdir(machine.root / ".githooks")) == sorted(HOOKS)
    git(machine.root, "commit", "-q", "--allow-empty", "-m", "x")
    assert calls(machine) == ["hook git post-commit"]
    machine.does("uninstall", "git", "--yes")
    assert not (machine.root / ".githooks").exists()


@pytest.mark.parametrize("named", ["/etc", "~/elsewhere", "../../outside", ".link"])
def test_a_hooks_folder_outside_is_refused(machine: Machine, named: str) -> None:
    (machine.root / ".link").symlink_to(machine.home)
    git(machine.root, "config", "core.hooksPath", named)
    assert "leads out of it" in machine.refuses("install", "git", "--yes")


def test_the_folder_for_all_repositories_goes_with_user(machine: Machine) -> None:
    assert "git has no hooks folder" in machine.refuses("install", "git", "--user", "--yes")
    machine.write({".gitconfig": "[core]\n\thooksPath = ~/.githooks\n"})
    assert "hooks of all repositories" in machine.refuses("install", "git", "--yes")
    machine.does("install", "git", "--user", "--yes")
    assert sorted(os.listdir(machine.home / ".githooks")) == sorted(HOOKS)


def test_git_install_needs_a_repository(machine: Machine) -> None:
    assert "not in a git repository" in machine.refuses("install", "git", "--cwd", str(machine.home), "--yes")


def test_a_program_with_blanks_and_quotes_is_quoted() -> None:
    part = ScriptBlock("post-commit", "/a b/it's/foveal")
    text = part.register("")
    assert block_program(text) == "/a b/it's/foveal"
    assert subprocess.run(["sh", "-n"], input=text, text=True, check=False).returncode == 0
    assert part.strip(text) == ""
    assert part.register(text) == text


def test_only_a_complete_block_is_ours() -> None:
    part = ScriptBlock("post-commit", "/b/foveal")
    for text in (f"#!/bin/sh\n{BEGIN}\ntrue\n", f"#!/bin/sh\necho '{BEGIN}'\necho '{END}'\n"):
        assert not part.holds(text)
        assert part.strip(text) == text
    with pytest.raises(InstallError):
        part.register("#!/usr/bin/node\n")
