"""The client commands over a real daemon: projects, nodes, scopes, decisions, status, watch."""

from __future__ import annotations

import json
import re
import subprocess
import sys

from foveal.cli.app import FIRST, PROGRAMS, SECTIONS
from foveal.cli.decide import login_name
from foveal.cli.watch import TOPICS
from foveal.daemon.core import events
from foveal.ipc.version import __version__

from tests.command_cases import CommandLine


def test_open_close_and_list(foveal: CommandLine) -> None:
    root = str(foveal.folder)
    assert foveal.json("open", root)["root"] == root
    assert root in {project["root"] for project in foveal.json("projects")["projects"]}
    assert foveal.says("projects").startswith("PROJECT ")
    assert foveal.says("close", f"{root}/.") == f"closed: {root}\n"
    for path in (root, "."):
        assert foveal.fails("close", path).startswith(f"error: '{root}' isn't open")
    told = foveal.fails("open", "README.md")
    assert told == f"error: {root}/README.md is not a folder: name the project's root folder\n"
    told = foveal.fails("open", code=2)
    assert told == "error: missing argument 'PATH'\nhint: foveal open --help\n"
    told = foveal.fails("expand", "src/x.py", code=2)
    assert told.startswith("error: missing argument 'NODE'; SCOPE_ID is 'src/x.py'\n")


def test_reindex_and_status(foveal: CommandLine) -> None:
    root = str(foveal.folder)
    foveal.json("open", ".")
    assert foveal("reindex", "--full")[1].startswith(f"ready: {root} (9 files, ")
    assert json.loads(foveal("reindex", "--json")[1])["state"] == "ready"
    output = foveal.says("status", ".", "--skipped")
    lines = output.splitlines()
    assert lines[0].startswith(f"foveal {foveal.daemon.call('Ping')['version']}, pid ")
    assert lines[1].startswith("socket /")
    assert any(line.split()[:3] == [root, "ready", "9"] for line in lines)
    assert f"{root}: left out:\n  1 file: binary\n" in output
    other = str(foveal.folder.parent)
    code, _, errors = foveal("status", other)
    assert (code, errors) == (1, f"error: no project is open at {other}\nhint: foveal open {other}\n")


def test_node(foveal: CommandLine) -> None:
    foveal.json("up", ".")
    output = foveal.says("node", "src/shop/auth.py#login")
    assert output.splitlines()[0] == "src/shop/auth.py#login (function, lines 7-9)"
    assert output.splitlines()[1].startswith("7 def login(")
    counts = "called by 1, calls 1, imports 2, imported by 1"
    listing = f"{counts}; to list them: foveal node --all 'src/shop/auth.py#login'"
    assert output.splitlines()[3:] == ["9     return Session(user)", "", listing]
    every = foveal.says("node", "--all", "src/shop/auth.py#login")
    assert every.startswith(output.partition("\n\n")[0])
    assert "imports      .sessions" in every
    assert "\ncalled by    src/shop/cart.py#checkout  at src/shop/cart.py:5\n" in every
    shown = foveal.says("node", "src/shop/auth.py", "--all")
    for line in ("imports      .sessions -> src/shop/sessions.py", "imported by  src/shop/cart.py:1"):
        assert f"\n{line}\n" in shown
    assert "\ndefines      src/shop/auth.py#login (function, line 7)\n" in shown
    foveal.at(foveal.folder / "src" / "shop")
    for given, expected in (("auth.py", "src/shop/auth.py"), ("web/app.ts", "web/app.ts")):
        assert foveal.json("node", given)["node_id"] == expected
    assert foveal.fails("node", "nope.py").startswith("error: no node 'nope.py' in ")


def test_scopes_grow_shrink_and_go(foveal: CommandLine) -> None:
    scope = foveal.json("context", "--focus", "web/app.ts")["scope_id"]
    foveal.at(foveal.folder / "src" / "shop")
    said = foveal.says("expand", scope, "cart.py", "web/money.ts")
    assert said == "expanded: src/shop/cart.py\nexpanded: web/money.ts\n"
    foveal.at(foveal.folder)
    told = foveal("expand", scope, "web/money.ts", "gone.py")
    assert told == (1, "already: web/money.ts\nunknown: gone.py\n", "")
    listed = {found["scope_id"]: found for found in foveal.json("scopes")["scopes"]}
    assert listed[scope]["expanded"] == ["src/shop/cart.py", "web/money.ts"]
    line = next(line for line in foveal.says("scopes").splitlines() if line.startswith(scope))
    assert "web/app.ts, src/shop/cart.py, web/money.ts" in line
    assert foveal.says("contract", scope, "src/shop/cart.py") == "contracted: src/shop/cart.py\n"
    assert foveal.says("release", scope) == f"released: {scope}\n"
    assert foveal.fails("release", scope).startswith(f"error: no scope '{scope}'")
    assert scope not in foveal.says("scopes", "--all")


def test_a_decision_is_noted_listed_and_shown(foveal: CommandLine) -> None:
    foveal.at(foveal.folder / "src" / "shop")
    noted = foveal.json("decide", "tokens expire after an hour", "--why", "audit", "--file", "auth.py")
    assert foveal.says("decide", "tokens  expire after an hour") == "already noted earlier\n"
    failed = ("decide", "use JWT", "--outcome", "failure", "--error", "too long", "--agent", "bob")
    assert foveal.says(*failed, "--session", "s-9").startswith("noted: ")
    [found] = [
        experience
        for experience in foveal.json("decisions")["experiences"]
        if experience["experience_id"] in noted["experience_ids"]
    ]
    assert found["agent_id"] == login_name()
    assert (found["rationale"], found["files_touched"]) == ("audit", ["src/shop/auth.py"])
    head, *rest = foveal.says("decisions", "--agent", "bob").splitlines()
    assert head.endswith("  bob [failure]")
    assert rest == ["  use JWT", "  error: too long"]
    limited = foveal("decisions", "--outcome", "failure", "--limit", "0")
    assert limited == (0, "", "note: 0 of 1; --limit shows more\n")
    assert "bob: use JWT (failed: too long)" in foveal.says("context", "-q")
    assert "goes with --outcome failure" in foveal.fails("decide", "x", "--error", "boom", code=2)
    code, _, errors = foveal("decide", "y", "--file", "/etc/passwd")
    assert code == 0
    assert errors.startswith("warning: 1 of its files were left out")


def test_watch_prints_events_as_they_come(foveal: CommandLine) -> None:
    assert set(TOPICS) == events.TOPICS
    root = str(foveal.folder)
    with subprocess.Popen(
        [sys.executable, "-m", "foveal", "watch", "experience.grafted", "project.changed", "--json"],
        cwd=root,
        env={**foveal.daemon.environ, "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as watching:
        assert watching.stdout is not None
        assert watching.stderr is not None
        try:
            assert watching.stderr.readline() == "note: waiting for events; Ctrl-C ends it\n"
            experience = {"decision": "watched", "agent_id": "a", "session_id": "s"}
            foveal.daemon.call("GraftExperience", cwd=root, experience=experience)
            event = json.loads(watching.stdout.readline())
        finally:
            watching.terminate()
    assert (event["topic"], event["data"]["project"]) == ("experience.grafted", root)


def test_the_help_lists_ten_commands_and_all_where_asked(foveal: CommandLine) -> None:
    short = foveal.says("--help")
    listed = re.findall(r"^  (\w+)  ", short.split("\nCommands:\n")[1], re.MULTILINE)
    assert tuple(listed) == FIRST
    assert "foveal help --all" in short
    assert foveal.says() == foveal.says("help") == short
    output = foveal.says("help", "--all")
    assert foveal.says("--help", "--all") == foveal.says("--all", "-h") == output
    for title, commands in SECTIONS.items():
        assert f"\n{title}:\n" in output
        assert all(f"\n  {name} " in output for name in (*commands, *PROGRAMS.get(title, {})))
    assert "..." not in output.split(f"{next(iter(SECTIONS))}:")[1]  # no help was cut
    assert foveal.says("help", "items", "put").startswith("Usage: foveal items put ")
    assert foveal.fails("help", "items", "putt", code=2).endswith("did you mean foveal items put?\n")
    assert "query has no commands of its own" in foveal.fails("help", "query", "x", code=2)
    assert "hook must come first" in foveal.fails("help", "hook", "x", code=2)
    assert foveal.says("help", "mcp").startswith("usage: foveal mcp ")
    assert foveal.says("help", "hook").startswith("Usage: foveal hook ")
    assert foveal.says("--help", "--json") == foveal.says("help", "--json")


def test_versions_of_program_and_daemon(foveal: CommandLine) -> None:
    assert foveal.says("--version") == f"foveal {__version__}\n"
    told = foveal.json("version")
    assert told == json.loads(foveal.says("--version", "--json"))
    assert (told["version"], told["daemon"]["version"]) == (__version__, __version__)
    assert f"(pid {told['daemon']['pid']})" in foveal.says("version")
    assert foveal.json("version", "--socket", "/nowhere/s")["daemon"] is None
