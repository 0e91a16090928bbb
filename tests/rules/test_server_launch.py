"""A launch holds what a server needs and no more of the daemon's environment; what may not run says why."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from foveal.daemon.rules.server_config import McpServer
from foveal.daemon.rules.server_launch import (
    Launch,
    NotAllowed,
    Unresolved,
    Variables,
    launch_of,
    variables_in,
)
from msgspec.structs import replace

from tests.server_cases import SERVER

ENVIRON = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/home/me",
    "LANG": "C.UTF-8",
    "AWS_SECRET": "aws-secret",
    "TOKEN": "hunter22",
    "SHELL": "() { :; }",
}


@pytest.fixture
def server(tmp_path: Path) -> McpServer:
    return replace(SERVER, base=str(tmp_path), command="sh", arguments=("-c", "${TOKEN}"))


def launch(server: McpServer, *, network: bool = False) -> Launch:
    return launch_of(server, ENVIRON, "/home/me", network=network, timeout_s=5)


def test_server_gets_the_variables_of_its_definition(server: McpServer) -> None:
    server = replace(server, environment=(("KEY", "${TOKEN}"), ("LANG", "de")), forwarded=("TOKEN", "GONE"))
    found = launch(server)
    assert found.environment == {
        "PATH": "/usr/bin:/bin",
        "HOME": "/home/me",
        "LANG": "de",
        "CLAUDE_PROJECT_DIR": server.base,
        "KEY": "hunter22",
        "TOKEN": "hunter22",
    }
    assert found.command in ("/usr/bin/sh", "/bin/sh")
    assert found.arguments == ("-c", "hunter22")
    assert found.folder == server.base


def test_messages_never_show_resolved_values(server: McpServer) -> None:
    found = launch(replace(server, environment=(("KEY", "literal-secret"), ("N", "1"))))
    assert found.redacted("1 hunter22, literal-secret!") == "1 ***, ***!"
    assert "aws-secret" not in repr(found)


def test_programs_are_found_without_the_projects_help(server: McpServer, tmp_path: Path) -> None:
    program = tmp_path / "tool"
    program.write_text("#!/bin/sh\n")
    with pytest.raises(Unresolved, match="isn't a program"):
        launch(replace(server, command="./tool"))
    program.chmod(0o755)
    assert launch(replace(server, command="./tool")).command == str(program)
    assert launch(replace(server, command=sys.executable)).command == sys.executable
    with pytest.raises(Unresolved, match="PATH"):
        launch(replace(server, command="tool", environment=(("PATH", ".::tool"),)))
    with pytest.raises(Unresolved, match="PATH"):
        launch(replace(server, command="no-such-program-anywhere"))
    with pytest.raises(Unresolved, match="isn't a program"):
        launch(replace(server, command="./"))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"command": "${GONE}"}, "GONE isn't set"),
        ({"folder": "nowhere"}, "doesn't exist"),
        ({"environment": (("A=B", "c"),)}, "equals sign"),
        ({"transport": "http", "url": "file:///etc/passwd"}, "http://"),
        ({"transport": "http", "url": "http://[::1"}, "can't be understood"),
        ({"transport": "http", "url": "http://127.0.0.1", "headers": (("A", "b\nc: d"),)}, "line break"),
        ({"transport": "http", "url": "http://127.0.0.1", "bearer_variable": "GONE"}, "GONE isn't set"),
    ],
)
def test_unlaunchable_servers_say_why(server: McpServer, changes: dict[str, object], reason: str) -> None:
    with pytest.raises(Unresolved, match=reason):
        launch(replace(server, **changes))


@pytest.mark.parametrize(
    ("url", "is_loopback"),
    [
        ("http://127.0.0.1:8000/mcp", True),
        ("http://localhost/", True),
        ("http://[::1]:3/", True),
        ("https://example.org/mcp", False),
        ("http://127.0.0.1.example.org/", False),
        ("http://localhost@example.org/", False),
        ("http://10.0.0.1/", False),
        ("http://0.0.0.0/", False),
    ],
)
def test_only_this_machine_is_reached_unless_the_network_is_allowed(
    server: McpServer, url: str, is_loopback: bool
) -> None:
    server = replace(server, transport="http", url=url)
    if not is_loopback:
        with pytest.raises(NotAllowed, match="no network"):
            launch(server)
    assert launch(server, network=True).is_loopback is is_loopback
    assert launch(server, network=True).environment == {}


def test_headers_come_from_variables(server: McpServer) -> None:
    server = replace(
        server,
        transport="http",
        url="http://localhost/${TOKEN}",
        headers=(("A", "x ${TOKEN}"),),
        header_variables=(("B", "TOKEN"),),
        bearer_variable="TOKEN",
    )
    found = launch(server)
    assert found.url == "http://localhost/hunter22"
    assert found.headers == {"A": "x hunter22", "B": "hunter22", "Authorization": "Bearer hunter22"}
    assert found.redacted("hunter22") == "***"


def test_a_server_of_the_user_runs_in_the_home_folder(server: McpServer, tmp_path: Path) -> None:
    found = launch(replace(server, scope="user"))
    assert found.folder == str(tmp_path)
    assert "CLAUDE_PROJECT_DIR" not in found.environment


VARIABLES_ENVIRON = {"KEY": "k-1", "EMPTY": "", "NESTED": "${KEY}", "A1_b": "x"}


def variables(host: str) -> Variables:
    return Variables(replace(SERVER, host=host, base="/work/shop"), VARIABLES_ENVIRON, "/home/me")


@pytest.mark.parametrize(
    ("host", "text", "expected"),
    [
        ("claude-code", "Bearer ${KEY}", "Bearer k-1"),
        ("claude-code", "${GONE:-https://example.org:8/x}/y", "https://example.org:8/x/y"),
        ("claude-code", "${EMPTY:-d}${EMPTY}", "d"),
        ("claude-code", "${GONE:-}", ""),
        ("claude-code", "${KEY:-d}${A1_b}", "k-1x"),
        ("claude-code", "$KEY {env:KEY} ${env:KEY} ${ KEY }", "$KEY {env:KEY} ${env:KEY} ${ KEY }"),
        ("claude-code", "${NESTED}", "${KEY}"),
        ("copilot", "$KEY-${KEY}${GONE:-d}", "k-1-k-1d"),
        ("gemini", "$KEY ${KEY} $GONE ^a$ $1", "k-1 k-1 $GONE ^a$ $1"),
        ("cursor", "${env:KEY}${env:GONE} ${KEY}", "k-1 ${KEY}"),
        (
            "cursor",
            "${userHome}/x ${workspaceFolder} ${workspaceFolderBasename}${/}",
            "/home/me/x /work/shop shop/",
        ),
        ("vscode", "${workspaceFolder}/bin${pathSeparator}", "/work/shop/bin/"),
        ("opencode", "{env:KEY}{env:GONE}${KEY}", "k-1${KEY}"),
        ("codex", "${KEY} $KEY", "${KEY} $KEY"),
    ],
)
def test_values(host: str, text: str, expected: str) -> None:
    assert variables(host).resolve(text) == expected


@pytest.mark.parametrize(
    ("host", "text", "reason"),
    [
        ("claude-code", "${GONE}", "GONE isn't set"),
        ("copilot", "$GONE", "GONE isn't set"),
        ("vscode", "${input:token}", "only be resolved by vscode"),
        ("cursor", "${command:x}", "only be resolved by cursor"),
        ("opencode", "{file:~/.secret}", "only be resolved by opencode"),
    ],
)
def test_unset_variables_are_reported(host: str, text: str, reason: str) -> None:
    with pytest.raises(Unresolved, match=reason):
        variables(host).resolve(text)


def test_the_names_are_known_before_anything_runs() -> None:
    server = replace(
        SERVER,
        command="${TOOLS}/run",
        arguments=("--key=${KEY:-none}", "$BARE"),
        environment=(("X", "${TOKEN}${KEY}"),),
        url="https://example.org/${PATH_PART}",
        headers=(("A", "Bearer ${SECRET}"),),
        forwarded=("PASSED",),
        header_variables=(("B", "HEADER"),),
        bearer_variable="BEARER",
    )
    assert variables_in(server) == (
        "BEARER", "HEADER", "KEY", "PASSED", "PATH_PART", "SECRET", "TOKEN", "TOOLS",
    )  # fmt: skip
    assert variables_in(replace(SERVER, host="codex", scope="user", source="/f")) == ()
