"""Owns what a person is shown of the MCP servers of a project, and when their tools are listed: once they
are approved, and only when that is asked for."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from .approvals import Approved, approved_servers
from .server_definition import McpServer, ServerFile
from .server_variables import variables_in
from .tool_list import ToolList, ToolLists
from .tool_lister import ToolLister


class ServerState(Struct, frozen=True):
    """A configured server: what it would run or reach as it is written, the names of the variables whose
    values it would get, why it isn't listed (empty if it is), and its tools, None if it never was."""

    server: McpServer
    runs: str
    variables: tuple[str, ...]
    left_out: str
    tools: ToolList | None


class ServerFileState(Struct, frozen=True):
    """A configuration file with its servers, and whether it is approved as it is now."""

    file: ServerFile
    approved: bool
    servers: tuple[ServerState, ...]


def file_states(
    files: Iterable[ServerFile], approved: Approved, lists: ToolLists
) -> tuple[ServerFileState, ...]:
    """Return the state of each file, in their order. Nothing is run."""
    files = tuple(files)
    chosen = approved_servers(files, approved)
    return tuple(
        ServerFileState(
            file,
            approved.covers(file),
            tuple(_state(server, file, chosen, approved, lists) for server in file.servers),
        )
        for file in files
    )


def list_tools(
    files: Iterable[ServerFile], approved: Approved, lists: ToolLists, lister: ToolLister, *, again: bool
) -> tuple[tuple[McpServer, ToolList], ...]:
    """List the tools of all approved servers that weren't listed as they are configured now, or of all with
    `again`; keep what came of it and return that.

    Runs their commands and blocks until they are done. Raises `StateError` if it can't be kept.
    """
    wanted = [server for server in approved_servers(files, approved) if again or lists.load(server) is None]
    found = lister.list_tools(wanted) if wanted else ()
    return tuple((server, lists.store(server, each)) for server, each in zip(wanted, found, strict=True))


def _state(
    server: McpServer, file: ServerFile, chosen: tuple[McpServer, ...], approved: Approved, lists: ToolLists
) -> ServerState:
    runs = server.url if server.transport != "stdio" else " ".join((server.command, *server.arguments))
    return ServerState(
        server,
        runs,
        variables_in(server),
        _left_out(server, file, chosen, approved),
        lists.load(server) if server in chosen else None,
    )


def _left_out(server: McpServer, file: ServerFile, chosen: tuple[McpServer, ...], approved: Approved) -> str:
    if server.problem:
        return server.problem
    if server.is_own:
        return "it is foveal itself"
    if server.disabled:
        return "it is disabled there"
    if not approved.covers(file):
        return "the file isn't approved as it is now"
    return "" if server in chosen else "a more specific file has a server of that name"
