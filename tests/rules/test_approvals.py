"""Only what a person approved is run: by the hash of what a file defines, until that changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.daemon.core.errors import InvalidRequest, NotFound, StateError
from foveal.daemon.core.system import System
from foveal.daemon.rules.approvals import MAX_DIGESTS, Approvals, approved_servers
from foveal.daemon.rules.server_definition import McpServer, ServerFile
from msgspec.structs import replace


def server(name: str, command: str = "x") -> McpServer:
    return McpServer(name, "claude-code", "project", "/p/.mcp.json", 1, "/p", command=command)


FILE = ServerFile("/p/.mcp.json", "mcpServers", "claude-code", "project", "d1", (server("web"),))
USER = ServerFile(
    "/h/.claude.json", "mcpServers", "claude-code", "user", "u1", (server("web", "mine"), server("db"))
)


def approvals_in(folder: Path) -> Approvals:
    return Approvals(str(folder / "approvals.json"), System())


def test_an_approval_holds_for_one_content_and_survives(tmp_path: Path) -> None:
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


def test_what_was_seen_is_what_is_approved(tmp_path: Path) -> None:
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
