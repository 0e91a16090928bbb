"""Variables are resolved in each host's own syntax, from the given environment, and nowhere else."""

from __future__ import annotations

import pytest
from foveal.daemon.rules.server_definition import McpServer
from foveal.daemon.rules.server_variables import Unresolved, Variables, variables_in

ENVIRON = {"KEY": "k-1", "EMPTY": "", "NESTED": "${KEY}", "A1_b": "x"}


def variables(host: str) -> Variables:
    return Variables(McpServer("s", host, "project", "/f", 1, "/work/shop"), ENVIRON, "/home/me")


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
def test_what_has_no_value_is_said(host: str, text: str, reason: str) -> None:
    with pytest.raises(Unresolved, match=reason):
        variables(host).resolve(text)


def test_the_names_are_known_before_anything_runs() -> None:
    server = McpServer(
        "s",
        "claude-code",
        "project",
        "/f",
        1,
        "/p",
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
    assert variables_in(McpServer("s", "codex", "user", "/f", 1, "/", command="x")) == ()


def test_a_hostile_text_is_resolved_quickly() -> None:
    for text in ("${" * 100_000, "$" * 100_000, "${A:-" * 50_000, "{env:" * 50_000):
        for host in ("claude-code", "gemini", "cursor", "opencode"):
            assert variables(host).resolve(text) == text
