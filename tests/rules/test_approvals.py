"""Only what a person approved is run: by the hash of what a file defines, until that changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.daemon.core.errors import InvalidRequest, NotFound, StateError
from foveal.daemon.core.system import System
from foveal.daemon.rules.approvals import MAX_DIGESTS, Approvals, approved_servers, file_states
from foveal.daemon.rules.server_config import McpServer, ServerFile
from foveal.daemon.rules.tool_lists import ToolLists
from msgspec.structs import replace

from tests.server_cases import SERVER


def server(name: str, command: str = "x") -> McpServer:
    return replace(SERVER, name=name, command=command)


FILE = ServerFile("/p/.mcp.json", "mcpServers", "claude-code", "project", "d1", (server("web"),))
USER = ServerFile(
    "/h/.claude.json", "mcpServers", "claude-code", "user", "u1", (server("web", "mine"), server("db"))
)


def approvals_in(folder: Path) -> Approvals:
    return Approvals(str(folder / "approvals.json"), System())


def test_approval_is_for_one_content_and_persists(tmp_path: Path) -> None:
    approvals = approvals_in(tmp_path)
    assert not approvals.load().covers(FILE)
    assert approvals.approve(FILE, "d1")
    assert not approvals.approve(FILE, "d1")
    approved = approvals_in(tmp_path).load()
    assert approved.covers(FILE)
    assert not approved.covers(replace(FILE, digest="d2"))
    assert not approved.covers(replace(FILE, path="/q/.mcp.json"))
    assert not approved.covers(replace(FILE, section="projects./p.mcpServers"))
    assert not approved.covers(replace(FILE, digest=""))


def test_forgotten_project_keeps_the_approvals_of_others_with_longer_names(tmp_path: Path) -> None:
    approvals = approvals_in(tmp_path)
    local = [
        replace(USER, section=f"projects.{root}.mcpServers")
        for root in ("/h/shop", "/h/shop.app", "/x/h/shop")
    ]
    for file in (
        *local,
        replace(FILE, path="/h/shop/.mcp.json"),
        replace(FILE, path="/h/shop.app/.mcp.json"),
    ):
        assert approvals.approve(file, file.digest)
    approvals.forget("/h/shop")
    left = approvals.load().approvals
    assert {(path, section) for path, section in left} == {
        ("/h/.claude.json", "projects./h/shop.app.mcpServers"),
        ("/h/.claude.json", "projects./x/h/shop.mcpServers"),
        ("/h/shop.app/.mcp.json", "mcpServers"),
    }


def test_approval_is_for_the_content_that_was_shown(tmp_path: Path) -> None:
    approvals = approvals_in(tmp_path)
    with pytest.raises(InvalidRequest, match="has changed"):
        approvals.approve(replace(FILE, digest="d2"), "d1")
    with pytest.raises(InvalidRequest, match="can't be approved"):
        approvals.approve(replace(FILE, digest="", problem="It is broken."), "")
    assert not (tmp_path / "approvals.json").exists()


def test_going_back_asks_nothing_again_within_bounds(tmp_path: Path) -> None:
    approvals = approvals_in(tmp_path)
    approvals.approve(USER, "u1")
    for number in range(MAX_DIGESTS + 1):
        approvals.approve(replace(FILE, digest=f"d{number}"), f"d{number}")
    approved = approvals.load()
    assert not approved.covers(replace(FILE, digest="d0"))
    assert approved.covers(FILE)
    assert approved.covers(USER)


def test_revoking_takes_back_every_version(tmp_path: Path) -> None:
    approvals = approvals_in(tmp_path)
    approvals.approve(FILE, "d1")
    approvals.approve(replace(FILE, digest="d2"), "d2")
    approvals.approve(USER, "u1")
    assert approvals.revoke(FILE.path) == 2
    assert not approvals.load().covers(FILE)
    assert approvals.load().covers(USER)
    with pytest.raises(NotFound):
        approvals.revoke(FILE.path)


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"[]",
        b'{"version": 2, "approved": []}',
        b'{"version": 1, "approved": [{"path": 1}]}',
        b"[" * 99_999,
    ],
)
def test_a_damaged_file_approves_nothing_and_is_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "approvals.json"
    path.write_bytes(content)
    approvals = approvals_in(tmp_path)
    with pytest.raises(StateError, match="approvals"):
        approvals.load()
    with pytest.raises(StateError):
        approvals.approve(FILE, "d1")
    assert path.read_bytes() == content


def test_servers_come_from_the_most_specific_approved_file(tmp_path: Path) -> None:
    approvals = approvals_in(tmp_path)
    files = (FILE, USER)
    assert approved_servers(files, approvals.load()) == ()
    approvals.approve(USER, "u1")
    assert [each.command for each in approved_servers(files, approvals.load())] == ["mine", "x"]
    approvals.approve(FILE, "d1")
    assert approved_servers(files, approvals.load()) == (*FILE.servers, USER.servers[1])


def test_some_servers_are_never_listed(tmp_path: Path) -> None:
    approvals = approvals_in(tmp_path)
    others = (
        replace(server("own", "foveal"), arguments=("mcp",)),
        replace(server("broken"), problem="no"),
        replace(server("off"), disabled=True),
        replace(server("web"), disabled=True),
    )
    file = replace(FILE, servers=others)
    approvals.approve(file, "d1")
    approvals.approve(USER, "u1")
    # The project's choice to disable a server holds for the user's of that name too, as in its host.
    assert [each.name for each in approved_servers((file, USER), approvals.load())] == ["db"]


def test_a_more_specific_file_goes_first(tmp_path: Path) -> None:
    approvals = approvals_in(tmp_path)
    user = replace(USER, servers=(server("web", "mine"), replace(server("off"), disabled=True)))
    for file in (FILE, user):
        approvals.approve(file, file.digest)
    _, told = file_states((FILE, user), approvals.load(), ToolLists(str(tmp_path / "lists"), System()))
    assert [each.left_out for each in told.servers] == [
        "a more specific file has a server of that name",
        "it is disabled there",
    ]
