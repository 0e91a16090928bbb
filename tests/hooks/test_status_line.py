"""The status line says what a session got, quickly and silently, and is installed only where there is none."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from foveal.hooks.status_line import line_of

from tests.conftest import DEADLINE_S, DaemonProcess
from tests.hook_cases import payload
from tests.hook_install_cases import Machine, text_of

GIVEN = {"kind": "prompt", "tokens": 400, "shown": 4, "used": 1}


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([], "foveal 0 contexts"),
        ([{"kind": "read", "paths": ["a.py"]}, GIVEN], "foveal 1 context, 400 tokens, 25% of places used"),
        ([{"kind": "start", "tokens": 1700}, GIVEN], "foveal 2 contexts, 2.1k tokens, 25% of places used"),
        ([{"kind": "prompt", "tokens": 90, "shown": 3}], "foveal 1 context, 90 tokens"),
        ([{"kind": "prompt", "outcome": "too late", "text": "x"}], "foveal 0 contexts"),
    ],
)
def test_line_counts_contexts_tokens_and_used_places(entries: list[dict[str, Any]], said: str) -> None:
    assert line_of(entries) == f"{said}\n"


def printed(environ: Mapping[str, str], given: bytes) -> str:
    command = [sys.executable, "-m", "foveal", "statusline"]
    done = subprocess.run(
        command, env=dict(environ), input=given, capture_output=True, timeout=DEADLINE_S, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def test_process_prints_the_line_of_a_session_or_nothing(shared_daemon: DaemonProcess, ready: Path) -> None:
    asked = payload("claude-code", "UserPromptSubmit", ready, session_id="lined", prompt="fix `login`")
    shared_daemon.call("HookEvent", host="claude-code", payload=asked)
    line = printed(shared_daemon.environ, json.dumps({"session_id": "lined", "cwd": str(ready)}).encode())
    assert line.startswith("foveal 1 context, ")
    assert " tokens" in line
    for given in (b"", b"{", b"[]", b'{"session_id": "nobody"}'):
        assert printed(shared_daemon.environ, given) == ""
    nowhere = {**shared_daemon.environ, "FOVEAL_SOCKET": str(ready / "gone.sock")}
    assert printed(nowhere, b'{"session_id": "lined"}') == ""


def test_line_is_installed_on_request_and_never_over_another(machine: Machine) -> None:
    machine.does("install", "claude-code", "--yes")
    assert "statusLine" not in machine.read(".claude/settings.json")
    machine.does("install", "claude-code", "--status-line", "--yes")
    own = {"type": "command", "command": f"{machine.program} statusline"}
    assert machine.read(".claude/settings.json")["statusLine"] == own
    assert "nothing to do" in machine.does("install", "claude-code", "--yes"), "it stays"
    assert machine.run("check", "claude-code")[0] == 0
    machine.does("uninstall", "claude-code", "--yes")
    assert not (machine.home / ".claude" / "settings.json").exists()
    theirs = {"statusLine": {"type": "command", "command": "theirs.sh"}}
    machine.write({".claude/settings.json": text_of(theirs)})
    assert "it has a status line already" in machine.refuses(
        "install", "claude-code", "--status-line", "--yes"
    )
    machine.does("install", "claude-code", "--yes")
    machine.does("uninstall", "claude-code", "--yes")
    assert machine.read(".claude/settings.json") == theirs
    for words in (("codex",), ("claude-code", "--plugin")):
        code, _, errors = machine.run("install", *words, "--status-line", "--yes")
        assert code == 2
        assert "--status-line is for claude-code" in errors
