"""Embedding as a user sees it, with the real model: told, waited for, stopped, gone on with."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command_cases import in_terminal, run_program, without_moves
from tests.conftest import SMALL_PROJECT, DaemonProcess, git, running_daemon, write_files
from tests.search_cases import until


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


def test_what_is_embedded_is_found_by_meaning(daemon: DaemonProcess, project: Path) -> None:
    run_program(daemon.environ, project, "embed")
    code, output, _ = run_program(daemon.environ, project, "query", "sum of costs", "--json")
    assert code == 0
    by_path = {result["path"]: result["sources"] for result in json.loads(output)["results"]}
    assert "vector" in by_path["web/money.ts"]
    assert "meaning #" in run_program(daemon.environ, project, "query", "sum of costs", "--limit", "5")[1]


def test_up_says_that_it_goes_on_or_waits(daemon: DaemonProcess, project: Path) -> None:
    code, output, errors = run_program(daemon.environ, project, "up", ".")
    assert code == 0
    assert output.splitlines()[1].startswith(f"ready: {project} ")
    # On a fast machine all may be embedded by now.
    assert not errors or re.fullmatch(
        r"note: .+ chunks? (wait to be|are) embedded; that goes on in the background(, .+ left)?; "
        "to wait for it: foveal embed\n",
        errors,
    )
    code, output, errors = run_program(daemon.environ, project, "up", ".", "--wait")
    assert (code, errors) == (0, "")
    assert output.splitlines()[2].startswith(f"embedded: {project} ")
    code, output, errors = run_program(daemon.environ, project, "up", "--wait")
    assert (code, output) == (2, "")
    assert errors.startswith("error: --wait needs the PROJECT to wait for\n")


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


def test_any_folder_will_do_to_pause_and_go_on(tmp_path: Path, project: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "d").mkdir()
    with running_daemon(tmp_path / "d", embedding=True) as daemon:
        assert run_program(daemon.environ, elsewhere, "embed", "--resume") == (
            0,
            "embedding was not paused\nno project is open; to open this one and embed it: foveal embed\n",
            "",
        )
        assert run_program(daemon.environ, elsewhere, "embed", "--pause")[0] == 0
        assert run_program(daemon.environ, project, "up", ".")[0] == 0
        [waiting] = daemon.call("Status")["projects"]
        assert (waiting["embedding"], waiting["embedded"]) in {("paused", 0), ("waiting", 0)}
        code, output, errors = run_program(daemon.environ, elsewhere, "embed", "--resume")
        assert (code, errors) == (0, "")
        goes_on, how_far = output.splitlines()
        assert goes_on == "embedding continues in all projects"
        assert re.fullmatch(rf"{re.escape(str(project))}: .* (embedded|isn't known yet)", how_far)
        until(lambda: daemon.call("Status")["projects"][0]["embedding"] == "done", "nobody had to be there")
        _, output, _ = run_program(daemon.environ, elsewhere, "embed", "--resume")
        assert output == "embedding was not paused\nnothing is left to embed in 1 open project\n"
        assert [one["root"] for one in daemon.call("Status")["projects"]] == [str(project)], "none was opened"


def test_after_a_restart_nothing_embedded_waits(tmp_path: Path, project: Path) -> None:
    (tmp_path / "d").mkdir()
    with running_daemon(tmp_path / "d", embedding=True) as daemon:
        assert run_program(daemon.environ, project, "embed")[0] == 0
        assert run_program(daemon.environ, project, "restart")[0] == 0
        code, _, errors = run_program(daemon.environ, project, "up", ".")
        assert (code, errors) == (0, "")
        assert run_program(daemon.environ, project, "status")[1].splitlines()[-1].split()[5] == "done"
        assert run_program(daemon.environ, project, "down")[0] == 0


def test_a_terminal_sees_how_far_it_is(daemon: DaemonProcess, project: Path) -> None:
    write_files(
        project, {f"f{number}.py": f"def name{number}():\n    return {number}\n" for number in range(200)}
    )
    run_program(daemon.environ, project, "embed", "--pause")
    run_program(daemon.environ, project, "up", ".")
    seen = without_moves(in_terminal(daemon.environ, project, "embed", "--resume", "."))
    assert f"embedding {project}" in seen
    assert re.search(r"\d+/2\d\d", seen)
    assert f"embedded: {project} (" in seen


def test_wrong_usage(daemon: DaemonProcess, project: Path) -> None:
    for arguments in (("--pause", "--resume"), ("--pause", ".")):
        code, output, errors = run_program(daemon.environ, project, "embed", *arguments)
        assert (code, output) == (2, "")
        assert errors.startswith("error: --pause applies to all projects: it takes no PATH and no --resume\n")
    code, output, errors = run_program(daemon.environ, project, "embed", "nowhere")
    assert (code, output) == (1, "")
    assert errors.startswith("error: ")


def test_embed_as_json(daemon: DaemonProcess, project: Path) -> None:
    code, output, errors = run_program(daemon.environ, project, "embed", "--json")
    assert (code, errors) == (0, "")
    status = json.loads(output)
    assert (status["root"], status["embedding"]) == (str(project), "done")
    assert json.loads(run_program(daemon.environ, project, "embed", "--pause", "--json")[1]) == {
        "paused": True
    }
    assert json.loads(run_program(daemon.environ, project, "embed", "--resume", "--json")[1]) == {
        "paused": False
    }


def test_where_embedding_is_switched_off(tmp_path: Path, project: Path) -> None:
    with running_daemon(tmp_path) as daemon:
        code, output, errors = run_program(daemon.environ, project, "embed")
        assert (code, output) == (1, "")
        assert errors == (
            "error: embedding is switched off\n"
            "hint: set embedding.enabled = true in config.toml, then: foveal restart\n"
        )
        code, output, errors = run_program(daemon.environ, project, "up", ".")
        assert (code, errors) == (0, "")
        assert (
            "embedding is switched off (embedding.enabled)\n"
            in run_program(daemon.environ, project, "status")[1]
        )
        assert daemon.error("SetEmbedding", paused=True).code == "unsupported"


def test_a_push_without_a_store_says_so_before_it_embeds(daemon: DaemonProcess, project: Path) -> None:
    code, output, errors = run_program(daemon.environ, project, "embed", "--push")
    assert (code, output) == (1, "")
    assert errors == (
        "error: no store is configured that embeddings could be shared in\n"
        "hint: name it in config.toml, embedding.shared; docs/teams.md says how\n"
    )
