"""All hosts' files are read within bounds, changes are noticed, and a server's digest decides its tools."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from foveal.daemon.core.system import System
from foveal.daemon.rules.server_config import MAX_BYTES, ServerFiles, read_server_files
from msgspec.structs import replace

from tests import server_cases
from tests.conftest import write_files


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("p", "home"):
        (tmp_path / name).mkdir()
    return tmp_path / "p"


def read(root: Path, system: System | None = None) -> ServerFiles:
    return read_server_files(str(root), str(root.parent / "home"), system or System())


class Later(System):
    """An hour later, when a file that was just written is old."""

    def time_ns(self) -> int:
        return super().time_ns() + 3_600 * 10**9


def servers(**definitions: str) -> str:
    return json.dumps({"mcpServers": {name: {"command": command} for name, command in definitions.items()}})


def found(root: Path) -> list[tuple[str, str, str, int]]:
    return [
        (server.name, server.host, server.scope, server.line)
        for file in read(root).files
        for server in file.servers
    ]


def test_every_host_has_its_files(root: Path) -> None:
    claude: dict[str, Any] = {
        "numStartups": 9,
        "projects": {
            "/elsewhere": {"mcpServers": {"no": {"command": "x"}}},
            str(root): {"mcpServers": {"b": {"command": "x"}}},
        },
        "mcpServers": {"c": {"command": "x"}},
    }
    write_files(
        root,
        {
            ".mcp.json": '{\n "mcpServers": {\n  "a": {"command": "x"}\n }\n}',
            ".cursor/mcp.json": '{"mcpServers": {"d": {"command": "x"},}} // mine',
            ".vscode/mcp.json": '{\n // ours\n "inputs": [], /* a "b": */\n "servers": {\n"e": {"command": "a//b"}}}',
            ".codex/config.toml": 'model = "x"\n\n[mcp_servers.f]\ncommand = "x"\n[mcp_servers."g.h"]\ncommand = "y"\n',
            ".gemini/settings.json": servers(i="x"),
            "opencode.jsonc": '{"mcp": {"j": {"type": "local", "command": ["x"]}}}',
        },
    )
    write_files(
        root.parent / "home",
        {
            ".claude.json": json.dumps(claude),
            ".cursor/mcp.json": servers(k="x"),
            ".codex/config.toml": '[mcp_servers]\nl = { command = "x" }\n',
            ".gemini/settings.json": servers(m="x"),
            ".copilot/mcp-config.json": servers(n="x"),
            ".config/opencode/opencode.json": '{"mcp": {"o": {"type": "local", "command": ["x"]}}}',
        },
    )
    assert found(root) == [
        ("b", "claude-code", "local", 1),
        ("a", "claude-code", "project", 3),
        ("d", "cursor", "project", 1),
        ("e", "vscode", "project", 5),
        ("f", "codex", "project", 3),
        ("g.h", "codex", "project", 5),
        ("i", "gemini", "project", 1),
        ("j", "opencode", "project", 1),
        ("c", "claude-code", "user", 1),
        ("k", "cursor", "user", 1),
        ("l", "codex", "user", 1),
        ("m", "gemini", "user", 1),
        ("n", "copilot", "user", 1),
        ("o", "opencode", "user", 1),
    ]
    by_name = {server.name: server for file in read(root).files for server in file.servers}
    assert by_name["e"].command == "a//b"
    assert by_name["a"].base == by_name["b"].base == str(root)
    assert by_name["c"].base == str(root.parent / "home")


def test_the_digest_is_of_the_servers_alone(root: Path) -> None:
    def digest(content: str) -> str:
        (root / ".gemini").mkdir(exist_ok=True)
        (root / ".gemini" / "settings.json").write_text(content)
        (file,) = read(root).files
        return file.digest

    first = digest('{"theme": "dark", "mcpServers": {"a": {"command": "x", "args": []}}}')
    assert digest('{"mcpServers": {"a": {"args": [],\n"command": "x"}}, "theme": "light"} // same') == first
    assert digest('{"mcpServers": {"a": {"command": "y", "args": []}}}') != first
    assert digest('{"mcpServers": {"a": {"command": "x", "args": [], "envFile": ".env"}}}') != first


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        (".mcp.json", "{", "can't be understood"),
        (".mcp.json", '{"mcpServers": {"a": {"command": "x"},}}', "can't be understood"),
        (".mcp.json", "[]", "holds no object"),
        (".mcp.json", '{"mcpServers": []}', "something else than an object under mcpServers"),
        (".mcp.json", '{"mcpServers": 5}', "something else than an object"),
        (".mcp.json", b"\xff\xfe", "can't be understood"),
        (".mcp.json", '{"a":' * 100_000, "nested too deeply"),
        (".mcp.json", " " * (MAX_BYTES + 1), "exceeds"),
        (".mcp.json", '{"mcpServers": {"\\u001b[2J": {"command": "x"}}}', "names can't be used"),
        (".codex/config.toml", "a = ", "can't be understood"),
        (".codex/config.toml", f"a{'.a' * 200_000} = 1", "dots in a line"),
        (".codex/config.toml", f"[mcp_servers.a]\ncommand = 0x{'f' * 20_000}", "can't be used"),
        (".cursor/mcp.json", '{"mcpServers": /* never closed', "can't be understood"),
    ],
)
def test_a_file_that_cannot_be_used_says_so(
    root: Path, name: str, content: str | bytes, problem: str
) -> None:
    write_files(root, {name: content})
    (file,) = read(root).files
    assert problem in file.problem
    assert file.problem.startswith(str(root / name))
    assert file.servers == ()


def test_a_project_reaches_no_file_outside(root: Path) -> None:
    (root.parent / "other.json").write_text(servers(a="x"))
    (root / ".mcp.json").symlink_to(root.parent / "other.json")
    (file,) = read(root).files
    assert "leaves the project" in file.problem
    assert file.servers == ()
    assert file.digest == ""


def test_a_pipe_or_folder_in_the_place_of_a_file_is_refused(root: Path) -> None:
    os.mkfifo(root / ".mcp.json")
    (root / "opencode.json").mkdir()
    assert ["can't be read" in file.problem for file in read(root).files] == [True, True]


def test_a_change_is_noticed(root: Path) -> None:
    path = root / ".mcp.json"
    path.write_text(servers(a="x"))
    assert not read(root).unchanged(System())  # it may change again within the clock's granularity
    os.utime(path, (1, 1))
    assert not read(root).unchanged(System())  # nor does a time that was set back prove anything
    files = read(root, Later())
    assert files.unchanged(System())
    path.write_text(servers(a="y"))
    assert not files.unchanged(System())
    path.unlink()
    none = read(root)
    assert none.unchanged(System())
    (root / "opencode.json").write_text("{}")
    assert not none.unchanged(System())


SERVER = replace(server_cases.SERVER, command="uvx", arguments=("web-mcp", "--fast"))


def test_digest_covers_what_runs() -> None:
    same = replace(SERVER, name="other", source="/p/.cursor/mcp.json", line=9, disabled=True)
    assert same.digest == SERVER.digest
    changes = [
        replace(SERVER, command="npx"),
        replace(SERVER, arguments=("web-mcp",)),
        replace(SERVER, environment=(("A", "${B}"),)),
        replace(SERVER, base="/q"),
        replace(SERVER, host="gemini"),
        replace(SERVER, transport="http"),
        replace(SERVER, denied=("search",)),
    ]
    assert len({SERVER.digest, *(server.digest for server in changes)}) == len(changes) + 1


@pytest.mark.parametrize(
    ("command", "arguments", "expected"),
    [
        ("foveal", ("mcp",), True),
        ("/home/me/.local/bin/foveal", ("mcp", "--cwd", "."), True),
        ("${CLAUDE_PLUGIN_ROOT}/bin/foveal", ("mcp",), True),
        ("uvx", ("foveal", "mcp"), True),
        ("foveal mcp", (), True),
        ("sh", ("-c", "exec foveal mcp"), True),
        ("python3", ("-m", "foveal", "mcp"), True),
        ("C:\\bin\\foveal.exe", ("mcp",), True),
        ("foveal", ("context",), False),
        ("foveal-mcp", ("mcp",), False),
        ("uvx", ("web-mcp",), False),
        ("", (), False),
    ],
)
def test_foveal_is_recognised(command: str, arguments: tuple[str, ...], expected: bool) -> None:
    assert replace(SERVER, command=command, arguments=arguments).is_own is expected


def test_variables_that_decide_which_code_runs_show_their_value() -> None:
    server = replace(
        SERVER,
        environment=(
            ("TOKEN", "secret"),
            ("PATH", "./bin:/usr/bin"),
            ("LD_PRELOAD", "x.so"),
            ("APP_PATH", "y"),
        ),
        forwarded=("HOME",),
    )
    assert server.shown_environment == (
        "TOKEN",
        "PATH=./bin:/usr/bin",
        "LD_PRELOAD=x.so",
        "APP_PATH",
        "HOME",
    )
