"""Embedding as a user sees it, with the real model: told, waited for, stopped, gone on with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command_cases import run_program
from tests.conftest import SMALL_PROJECT, DaemonProcess, git, running_daemon, write_files


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """Give one daemon that embeds to all tests of this file."""
    folder = tmp_path_factory.mktemp("d")
    with running_daemon(folder, embedding=True) as process:
        yield process


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Give a project that the daemon doesn't know, with contents of its own."""
    root = write_files(tmp_path / "shop", SMALL_PROJECT)
    write_files(root, {"src/shop/own.py": f'"""What is only here: {tmp_path}."""\n'})
    git(root, "init", "-q")
    return root


def test_embed_waits_for_all_vectors(daemon: DaemonProcess, project: Path) -> None:
    code, output, errors = run_program(
        daemon.environ, project / "src", "embed"
    )  # a folder in it means all of it
    assert (code, errors) == (0, "")
    ready, embedded = output.splitlines()
    assert ready.startswith(f"ready: {project} (10 files, ")
    assert re.fullmatch(rf"embedded: {re.escape(str(project))} \(\d+ chunks\) in \d+\.\d s", embedded)
    [status] = daemon.call("Status", cwd=str(project))["projects"]
    assert (status["embedding"], status["pending"], status["eta_ms"]) == ("done", 0, None)
    assert 0 < status["embedded"] <= status["chunks"]
    code, output, errors = run_program(daemon.environ, project, "status", ".")
    assert (code, errors) == (0, "")
    model, table = output.splitlines()[2], output.splitlines()[5]
    assert re.fullmatch(r"model all-MiniLM-L6-v2, 384 dimensions, loaded \(pid \d+\)", model)
    assert table.split()[5] == "done"


def test_a_pause_holds_until_it_is_ended(daemon: DaemonProcess, project: Path) -> None:
    assert run_program(daemon.environ, project, "embed", "--pause") == (
        0, "embedding is paused in all projects; to continue, run: foveal embed --resume\n", "",
    )  # fmt: skip
    try:
        code, output, errors = run_program(daemon.environ, project, "embed", ".")
        assert (code, output.count("\n")) == (1, 1)
        assert re.fullmatch(
            r"error: embedding is paused; \d+ of \d+ chunks are embedded\nhint: foveal embed --resume\n",
            errors,
        )
        _, output, _ = run_program(daemon.environ, project, "status", ".")
        assert "paused; to continue, run: foveal embed --resume" in output
        assert "  paused " in output.splitlines()[5]
        _, _, errors = run_program(daemon.environ, project, "up", ".")
        assert errors.startswith("note: embedding is paused; ")
        assert run_program(daemon.environ, project, "query", "expire a session", "-q")[0] == 0
    finally:
        code, output, errors = run_program(daemon.environ, project, "embed", "--resume", ".")
    assert (code, errors) == (0, "")
    assert output.startswith("embedding continues in all projects\nready: ")
    assert output.splitlines()[2].startswith(f"embedded: {project} ")


def test_a_push_without_a_store_says_so_before_it_embeds(daemon: DaemonProcess, project: Path) -> None:
    code, output, errors = run_program(daemon.environ, project, "embed", "--push")
    assert (code, output) == (1, "")
    assert errors == (
        "error: no store is configured that embeddings could be shared in\n"
        "hint: name it in config.toml, embedding.shared; docs/teams.md says how\n"
    )
