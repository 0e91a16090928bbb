"""What decides a server's tools is its digest, and foveal itself is recognised under any launcher."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests import server_cases

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
