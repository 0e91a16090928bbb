"""The client commands over a real daemon: projects, nodes, scopes, decisions, status, watch."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from foveal.cli.app import MODULES, PROGRAMS, SECTIONS
from foveal.cli.decide import login_name
from foveal.cli.text import local_time
from foveal.cli.watch import TOPICS, to_line
from foveal.daemon.core import events

from tests.conftest import SMALL_PROJECT, DaemonProcess, git, running_daemon, write_files

TIMEOUT_S = 90


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """Give one daemon to all tests of this file."""
    with running_daemon(tmp_path_factory.mktemp("d")) as process:
        yield process


@pytest.fixture(scope="module")
def root(daemon: DaemonProcess, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give one indexed project to all tests of this file."""
    root = write_files(tmp_path_factory.mktemp("p") / "shop", SMALL_PROJECT)
    git(root, "init", "-q")
    daemon.open_ready(root)
    return root


class Program:
    """The program as a user in a folder runs it."""

    def __init__(self, daemon: DaemonProcess, cwd: Path) -> None:
        self.daemon = daemon
        self.cwd = cwd

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-m", "foveal", *arguments],
            check=False,
            cwd=self.cwd,
            env=self.daemon.environ | {"NO_COLOR": "1"},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
        )
        return done.returncode, done.stdout, done.stderr

    def json(self, *arguments: str) -> Any:
        code, output, errors = self(*arguments, "--json")
        assert (code, errors) == (0, "")
        return json.loads(output)


@pytest.fixture
def foveal(daemon: DaemonProcess, root: Path) -> Program:
    return Program(daemon, root)


def test_open_close_and_list(foveal: Program, tmp_path: Path) -> None:
    assert foveal.json("open", str(tmp_path))["root"] == str(tmp_path)
    assert str(tmp_path) in {project["root"] for project in foveal.json("projects")["projects"]}
    code, output, errors = foveal("projects")
    assert (code, errors) == (0, "")
    assert output.startswith("PROJECT ")
    assert foveal("close", f"{tmp_path}/.") == (0, f"closed: {tmp_path}\n", "")
    code, output, errors = foveal("close", str(tmp_path))
    assert (code, output) == (1, "")
    assert errors.startswith(f"error: '{tmp_path}' isn't open")
    assert f"'{tmp_path}' isn't open" in Program(foveal.daemon, tmp_path)("close", ".")[2]


def test_open_a_file_or_nothing(foveal: Program) -> None:
    assert foveal("open", "README.md") == (
        1, "", f"error: {foveal.cwd}/README.md is not a folder: name the project's root folder\n",
    )  # fmt: skip
    code, output, errors = foveal("open")
    assert (code, output) == (2, "")
    assert errors == "error: missing argument 'PATH'\nhint: foveal open --help\n"


def test_reindex_waits(foveal: Program) -> None:
    code, output, _ = foveal("reindex", "--full")
    assert code == 0
    assert output.startswith(f"ready: {foveal.cwd} (9 files, ")
    assert json.loads(foveal("reindex", "--json")[1])["state"] == "ready"


def test_status(foveal: Program) -> None:
    code, output, errors = foveal("status", "--skipped")
    assert (code, errors) == (0, "")
    lines = output.splitlines()
    assert lines[0].startswith(
        f"foveal {foveal.daemon.call('Ping')['version']}, pid {foveal.daemon.pid}, up "
    )
    assert lines[1] == f"socket {foveal.daemon.socket}"
    assert any(line.split()[:3] == [str(foveal.cwd), "ready", "9"] for line in lines)
    assert f"{foveal.cwd}: left out:\n  1 file: binary\n" in output
    assert foveal.json("status", ".")["projects"][0]["root"] == str(foveal.cwd)


def test_status_of_a_folder_that_is_no_open_project(foveal: Program, tmp_path: Path) -> None:
    code, _, errors = foveal("status", str(tmp_path))
    assert code == 1
    assert errors == f"error: no project is open at {tmp_path}\nhint: foveal open {tmp_path}\n"


def test_node(foveal: Program) -> None:
    code, output, _ = foveal("node", "src/shop/auth.py#login")
    assert code == 0
    assert output.splitlines()[0] == "src/shop/auth.py#login (function, lines 7-9)"
    assert "imports      .sessions" in output
    assert output.endswith("    return Session(user)\n")
    inside = Program(foveal.daemon, foveal.cwd / "src" / "shop")
    assert inside.json("node", "auth.py")["node_id"] == "src/shop/auth.py"
    assert inside.json("node", "web/app.ts")["node_id"] == "web/app.ts"
    code, output, errors = foveal("node", "nope.py")
    assert (code, output) == (1, "")
    assert errors.startswith("error: no node 'nope.py' in ")


def test_scopes_grow_shrink_and_go(foveal: Program) -> None:
    scope = foveal.json("context", "--focus", "web/app.ts")["scope_id"]
    inside = Program(foveal.daemon, foveal.cwd / "src" / "shop")
    assert inside("expand", scope, "cart.py", "web/money.ts") == (
        0, "expanded: src/shop/cart.py\nexpanded: web/money.ts\n", "",
    )  # fmt: skip
    assert foveal("expand", scope, "web/money.ts", "gone.py") == (
        1, "already: web/money.ts\nunknown: gone.py\n", "",
    )  # fmt: skip
    listed = {one["scope_id"]: one for one in foveal.json("scopes")["scopes"]}
    assert listed[scope]["expanded"] == ["src/shop/cart.py", "web/money.ts"]
    line = next(line for line in foveal("scopes")[1].splitlines() if line.startswith(scope))
    assert "web/app.ts, src/shop/cart.py, web/money.ts" in line
    assert foveal("contract", scope, "src/shop/cart.py") == (0, "contracted: src/shop/cart.py\n", "")
    assert foveal("release", scope) == (0, f"released: {scope}\n", "")
    code, output, errors = foveal("release", scope)
    assert (code, output) == (1, "")
    assert errors.startswith(f"error: no scope '{scope}'")
    assert scope not in foveal("scopes", "--all")[1]


def test_a_decision_is_noted_listed_and_shown(foveal: Program) -> None:
    inside = Program(foveal.daemon, foveal.cwd / "src" / "shop")
    noted = inside.json("decide", "tokens expire after an hour", "--why", "audit", "--file", "auth.py")
    [identifier] = noted["experience_ids"]
    assert foveal("decide", "tokens  expire after an hour") == (0, "already noted earlier\n", "")
    failed = ("decide", "use JWT", "--outcome", "failure", "--error", "too long", "--agent", "bob")
    code, output, errors = foveal(*failed, "--session", "s-9")
    assert (code, errors) == (0, "")
    assert output.startswith("noted: ")

    listed = {
        experience["experience_id"]: experience for experience in foveal.json("decisions")["experiences"]
    }
    found = listed[identifier]
    assert found["agent_id"] == login_name()
    assert (found["rationale"], found["files_touched"]) == ("audit", ["src/shop/auth.py"])
    code, output, errors = foveal("decisions", "--agent", "bob")
    assert (code, errors) == (0, "")
    head, *rest = output.splitlines()
    assert head.endswith("  bob [failure]")
    assert rest == ["  use JWT", "  error: too long"]
    assert foveal("decisions", "--query", "nobody said this") == (0, "no decision matches\n", "")
    assert (
        foveal("decisions", "--outcome", "failure", "--limit", "0")[2] == "note: 0 of 1; --limit shows more\n"
    )
    assert "bob: use JWT (failed: too long)" in foveal("context", "-q")[1]


def test_a_question_makes_no_project_of_a_folder_of_the_system(foveal: Program) -> None:
    code, _, errors = foveal("query", "root", "--cwd", "/etc")
    assert code == 1
    assert "the project of /etc would be /etc, a folder of the system. Run from" in errors
    assert "foveal open /etc" in errors
    roots = [project["root"] for project in foveal.daemon.call("ListProjects")["projects"]]
    assert "/etc" not in roots


def test_a_decision_that_can_not_be_noted(foveal: Program) -> None:
    assert foveal("decide", "  ")[0] == 1
    assert foveal("decide", "  ")[2].startswith("error: the decision was not noted: DECISION ")
    assert foveal("decide", "x", "--error", "boom")[0] == 2
    code, _, errors = foveal("decide", "y", "--file", "/etc/passwd")
    assert code == 0
    assert errors.startswith("warning: 1 of its files were left out")


def test_watch_prints_events_as_they_come(foveal: Program, root: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "foveal", "watch", "experience.grafted", "project.changed", "--json"],
        cwd=root,
        env=foveal.daemon.environ | {"NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as watching:
        assert watching.stdout is not None
        assert watching.stderr is not None
        try:
            assert watching.stderr.readline() == "note: waiting for events; Ctrl-C ends it\n"
            experience = {"decision": "watched", "agent_id": "a", "session_id": "s"}
            foveal.daemon.call("GraftExperience", cwd=str(root), experience=experience)
            event = json.loads(watching.stdout.readline())
        finally:
            watching.terminate()
    assert event["topic"] == "experience.grafted"
    assert event["data"]["project"] == str(root)


def test_watch_knows_every_topic(foveal: Program) -> None:
    assert set(TOPICS) == events.TOPICS
    code, output, errors = foveal("watch", "nope")
    assert (code, output) == (2, "")
    assert errors.startswith("error: invalid value for 'TOPIC': 'nope' is not one of ")


def test_events_are_one_clean_line() -> None:
    event: dict[str, Any] = {
        "topic": "scope.created",
        "at": "2026-01-31T12:00:00.125Z",
        "data": {"path": "a\nb", "n": [1]},
    }
    at = local_time(event["at"], "%H:%M:%S")
    assert to_line(event) == f"{at}.125  scope.created       path=a\\nb n=[1]"
    assert to_line({"topic": "lost", "data": {"count": 3}}) == "              lost                count=3"


def test_every_command_explains_itself(foveal: Program) -> None:
    code, output, errors = foveal("--help")
    assert (code, errors) == (0, "")
    for title, commands in SECTIONS.items():
        assert f"\n{title}:\n" in output
        assert all(f"\n  {name} " in output for name in commands)
        assert all(f"\n  {name} " in output for name in PROGRAMS.get(title, {}))
    assert "..." not in output.split("Context:")[1]  # no help was cut
    assert foveal()[:2] == (0, output)
    for name in MODULES:
        code, output, errors = foveal(name, "-h")
        assert (code, errors) == (0, "")
        assert output.startswith(f"Usage: foveal {name} ")
        assert "--socket PATH" in output
