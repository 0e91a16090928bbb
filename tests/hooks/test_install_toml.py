"""A table is put into TOML and taken out as text; what would say anything else than asked is refused."""

from __future__ import annotations

import tomllib

import pytest
from foveal.hooks.install.errors import InstallError, UnreadableText
from foveal.hooks.install.toml_tables import append, parse, remove, update
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties import examples

PATH = ("mcp_servers", "foveal")
VALUES = {"command": "/b/foveal", "args": ["mcp"]}

PIECES = st.sampled_from(
    [
        "# a comment\n",
        "\n",
        'key = "[not.a.table]"\n',
        "[plain]\nx = 1\n",
        '[mcp_servers.others] # [x]\ncommand = "y"\n',
        '[mcp_servers."fo.veal"]\ncommand = "y"\n',
        '[[list]]\n  [list.inner]\n  a = [\n  [1, 2],\n  ["]"], # ]\n]\n',
        '[text]\na = """\n[mcp_servers.foveal]\n\\""" """\nb = \'\'\'\n[x]\n\'\'\'\n',
        "[inline]\na = {b = {c = 1}, d = [{e = 'f'}]}\n",
        "[times]\nt = 2026-01-31T12:00:00Z\nn = nan\n",
    ]
)


def documents() -> st.SearchStrategy[str]:
    """Documents of pieces in any order, the keys of the root first."""
    joined = st.lists(PIECES, unique=True, max_size=8).map(
        lambda pieces: "".join(sorted(pieces, key=lambda piece: piece.startswith("[")))
    )
    return st.tuples(joined, st.booleans()).map(
        lambda pair: pair[0].replace("\n", "\r\n") if pair[1] else pair[0]
    )


@settings(max_examples=examples(150))
@given(documents())
def test_toml_append_can_be_undone(text: str) -> None:
    after = append(text, PATH, VALUES)
    assert after.startswith(text)
    assert tomllib.loads(after)["mcp_servers"]["foveal"] == VALUES
    assert remove(after, PATH) == text
    changed = update(after, PATH, {"command": 'é\\"'})
    assert tomllib.loads(changed)["mcp_servers"]["foveal"] == {**VALUES, "command": 'é\\"'}
    assert remove(changed, PATH) == text


def test_toml_remove_takes_subtables() -> None:
    text = (
        "# mine\n[a]\nx = 1\n\n[mcp_servers.foveal]\ncommand = 'foveal'\nargs = [\n  'mcp',\n]\n"
        "[mcp_servers.foveal.tools.status]\napproval_mode = 'approve'\n\n# about b\n[b]\ny = 2\n"
        "[mcp_servers.foveal.env]\nK = 'v'\n# the end\n"
    )
    assert remove(text, PATH) == "# mine\n[a]\nx = 1\n\n# about b\n[b]\ny = 2\n# the end\n"


def test_toml_update_keeps_other_keys() -> None:
    text = "[mcp_servers.foveal]\ncommand = 'x'\nstartup_timeout_sec = 20\nenabled_tools = ['a']\n\n[z]\n"
    after = update(text, PATH, VALUES)
    assert tomllib.loads(after)["mcp_servers"]["foveal"] == {
        **VALUES,
        "startup_timeout_sec": 20,
        "enabled_tools": ["a"],
    }
    assert after.endswith("\n\n[z]\n")


@pytest.mark.parametrize(
    "text",
    [
        "mcp_servers = {}\n",
        "mcp_servers = {others = {command = 'x'}}\n",
        "mcp_servers = 1\n",
        "[[mcp_servers]]\na = 1\n",
    ],
)
def test_toml_append_refuses_conflicts(text: str) -> None:
    with pytest.raises(InstallError):
        append(text, PATH, VALUES)


@pytest.mark.parametrize(
    "text",
    [
        "[mcp_servers]\nfoveal = {command = 'x'}\n",
        "[mcp_servers]\nfoveal.command = 'x'\n",
        "mcp_servers.foveal.command = 'x'\n",
    ],
)
def test_toml_inline_tables_are_refused(text: str) -> None:
    with pytest.raises(InstallError, match="table of its own"):
        remove(text, PATH)
    with pytest.raises(InstallError, match="table of its own"):
        update(text, PATH, VALUES)


@pytest.mark.parametrize(
    ("text", "line", "column"), [("a = 1\nb = \n", 2, 5), ("a = 'x", 1, 1), ("a = 1\na = 2\n", 2, 6)]
)
def test_toml_errors_name_line_and_column(text: str, line: int, column: int) -> None:
    with pytest.raises(UnreadableText) as found:
        parse(text)
    assert (found.value.line, found.value.column) == (line, column)
