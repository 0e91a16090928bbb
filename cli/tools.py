"""The `foveal tools` commands: the MCP servers that are configured, and which of them a person approved.

Listing a server's tools runs its command, so nothing runs before a person saw that command and said yes.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from ..ipc.client import Client
from . import terminal
from .command import Remark, Reply, Run, command, show_command
from .connection import connect
from .errors import CliError
from .group import group
from .options import CWD, argument, flag, option
from .progress import Bar, call
from .settings import absolute
from .terminal import styled
from .text import clean, count, short_path, shortened

DESCRIPTION_CHARACTERS = 70


NAME_CHARACTERS = 40
"""Maximum width of the column of names; a longer name doesn't widen it."""


FOR_WHOM = {
    "local": "for you in this project",
    "project": "for everyone in this project",
    "user": "for you in all projects",
}


Modes = Mapping[tuple[str, str], str]
"""The modes of tools by server and name."""


LISTING_TIMEOUT_S = 600.0
"""Maximum wait in seconds: a server has 20 s or what its configuration says, four run at once."""


TOOL_MODES = ("always", "agent", "manual", "default")


@group("Tools of MCP servers, and who may run.")
def tools_command() -> None:
    """List the tools of the MCP servers that are configured here, and set their modes.

    Servers are read from .mcp.json and the files of other hosts. To list a server's tools its command has to
    be run, so a file is approved once, as it is; when it changes it has to be approved again.

    For example:

        foveal tools list
        foveal tools approve .mcp.json          # shows what would run, and asks
        foveal tools mode github agent          # found by what they do, not always there
        foveal tools mode github always --tool search_code
    """


@command(
    "List the servers and their tools.",
    flag("--again", "Ask all approved servers again, not only new ones."),
    CWD,
    group=tools_command,
)
def list_tools(run: Run) -> None:
    """List the configuration files with their servers and tools. Approved servers that are new are run."""
    with connect(run.settings) as client:
        reply = _servers(client, run.folder, again=run.again)
        items = call(client, "ListItems", cwd=run.folder, types=["tool"])["items"]
    modes = {(item["server_name"], item["name"]): item["include"] for item in items}
    run.show(reply, _describe_all(reply["files"], modes))


def _describe_all(files: Sequence[Reply], modes: Modes) -> Iterator[str]:
    yield from describe_files(files, modes)
    if not files:
        yield "no servers are configured"
    yield from _failed(files)
    waiting = sum(not file["approved"] and not _is_own(file) for file in files)
    if waiting:
        verb = "isn't" if waiting == 1 else "aren't"
        yield Remark(f"{count(waiting, 'file')} {verb} approved: foveal tools approve shows what it runs")


@command(
    "Let servers be run to list their tools.",
    argument("path", required=False),
    flag("--yes -y", "Approve PATH without asking."),
    CWD,
    group=tools_command,
)
def approve(run: Run) -> None:
    """Approve the configuration file at PATH, as it is now, or all that aren't approved, one by one.

    Shows the commands that are run then, as you and on this machine, and the variables that they get, and
    asks. A file that changes has to be approved again.
    """
    if run.yes and run.path is None:
        raise run.usage("--yes needs a PATH, because it approves without asking")
    if run.as_json and not run.yes:
        raise run.usage("--json needs --yes, because it can't ask")
    with connect(run.settings) as client:
        known = call(client, "ListToolServers", cwd=run.folder, refresh=False)["files"]
        chosen = _chosen(known, run.path)
        if any(file["digest"] for file in chosen) and not run.yes and not terminal.is_terminal(sys.stdin):
            raise CliError(
                "can't prompt: stdin is not a terminal; pass a PATH and --yes", "foveal tools list"
            )
        done = [file for file in chosen if _approve(client, run, file)]
        files = _servers(client, run.folder, again=False)["files"] if done else []
    listed = [file for file in files if _place(file) in map(_place, done)]
    run.show({"approved": [_place(file) for file in done]}, _describe_approved(known, chosen, listed))
    if len(done) < len(chosen) and not run.as_json:
        run.fail()


def _describe_approved(
    known: Sequence[Reply], chosen: Sequence[Reply], listed: Sequence[Reply]
) -> Iterator[str]:
    if not chosen:
        yield "all files are approved" if known else "no servers are configured"
    for server in (server for file in listed for server in file["servers"]):
        yield clean(f"{server['name']}: {outcome(server)}")
    yield from _failed(listed)


@show_command(
    "RevokeToolServers",
    "Take back the approval of a file.",
    argument("path"),
    CWD,
    sends=lambda run: {"cwd": run.folder, "path": _real(run.path)},
    group=tools_command,
)
def revoke(reply: Reply, run: Run) -> Iterator[str]:
    """Take back the approval of the file at PATH: its servers aren't run, and their tools are gone."""
    yield f"revoked: {short_path(_real(run.path))}"


@show_command(
    "SetToolMode",
    "Set the mode of a server's tools, or of one.",
    argument("server_name", "SERVER"),
    argument("mode", type=click.Choice(TOOL_MODES)),
    option("--tool name", "NAME", "Only of this tool."),
    CWD,
    sends=lambda run: run.without("mode") | {"include": run.mode},
    hint="foveal tools list",
    group=tools_command,
)
def mode(reply: Reply, run: Run) -> Iterator[str]:
    """Set how the tools of a SERVER are included in this project, or one of them, whose own mode goes first.

    They are in every session (always), found by what they do (agent), or only added by hand (manual); default
    forgets what was set.
    """
    for tool in reply["tools"]:
        yield clean(f"{tool['include']:<7} {tool['name']}")
    if not reply["changed"]:
        yield Remark("the mode was set already")
    elif not reply["tools"]:
        yield Remark("no tools of that server are known yet; the mode will apply to them")


def _servers(client: Client, folder: str, *, again: bool) -> dict[str, Any]:
    """Return the files with their servers, after listing the tools of servers that have no list yet."""
    with Bar("listing tools"):
        reply: dict[str, Any] = client.call(
            "ListToolServers", {"cwd": folder, "again": again, "refresh": True}, LISTING_TIMEOUT_S
        )
    return reply


def _chosen(known: Sequence[Reply], path: str | None) -> list[Reply]:
    """Return the files that are to be approved. Raises `CliError` for a path that configures no server."""
    if path is not None:
        named = [file for file in known if _real(file["path"]) == _real(path)]
        if not named:
            raise CliError(f"{path} configures no servers for this project", "foveal tools list")
        known = named
    return [file for file in known if not file["approved"] and (path is not None or not _is_own(file))]


OWN = "it is foveal itself"
"""Why the daemon runs no server that is foveal: it would ask itself."""


def _is_own(file: Reply) -> bool:
    """Whether a file has no server but foveal itself, which needs no approval."""
    return bool(file["servers"]) and all(server["left_out"] == OWN for server in file["servers"])


def _approve(client: Client, run: Run, file: Reply) -> bool:
    """Show what a file makes foveal run, ask, and approve it with the hash of what was shown."""
    for line in (*review(file), ""):
        run.say(line)
    terminal.flush()
    if not file["digest"]:
        terminal.warn(f"this file can't be approved: {file['problem']}")
        return False
    if not (run.yes or click.confirm("Let foveal run this to list the tools?", err=True)):
        terminal.note(f"not approved: {file['path']}")
        return False
    call(client, "ApproveToolServers", cwd=run.folder, **_place(file))
    return True


def _failed(files: Sequence[Reply]) -> Iterator[str]:
    """Yield what to do about servers that could not be listed, which isn't tried again by itself."""
    if any(server["problem"] for file in files for server in file["servers"]):
        yield Remark("to try again, run: foveal tools list --again")


def _place(file: Reply) -> dict[str, str]:
    return {name: file[name] for name in ("path", "section", "digest")}


def _real(path: str) -> str:
    """Return a path as the daemon has it: its folder without links, while the file itself may be gone."""
    folder, name = os.path.split(os.path.abspath(absolute(path)))
    return os.path.join(os.path.realpath(folder), name)


def describe_files(files: Sequence[Reply], modes: Modes) -> Iterator[str]:
    """Yield the lines about configuration files: whether each is approved, its servers, their tools."""
    for file in files:
        done = file["approved"] or _is_own(file)
        state = "approved" if file["approved"] else "only foveal itself" if done else "not approved"
        colour = "green" if done else "yellow"
        yield f"{_heading(file)}: {styled(state, fg=colour)}"
        if file["problem"]:
            yield f"  ! {clean(file['problem'])}"
        for server in file["servers"]:
            yield from _server_lines(server, modes, approved=file["approved"])


def review(file: Reply) -> Iterator[str]:
    """Yield the lines that a person reads before approving a file: all that it makes foveal run or reach."""
    yield _heading(file)
    yield _visible(f"{file['section']}, sha256 {file['digest']}")
    if file["problem"]:
        yield f"! {clean(file['problem'])}"
    for server in file["servers"]:
        yield ""
        yield f"  {styled(_visible(server['name']), bold=True)} (line {server['line']})"
        for label, value in _review_rows(server):
            yield f"    {label:<12} {_visible(value)}"
    if file.get("programs"):
        yield ""
        yield "  The approval holds until one of these changes:"
        for program in file["programs"]:
            yield f"    {_visible(program['path'])} (sha256 {program['digest'][:12]})"


def outcome(server: Reply) -> str:
    """Return the result of listing a server: how many tools it has, or why they aren't known."""
    if server["left_out"]:
        return f"not listed: {server['left_out']}"
    if server["problem"]:
        old = "; those of before are used" if server["tools"] else ""
        return f"it could not be listed: {server['problem']}{old}"
    if not server["listed_at"]:
        return "not listed yet: foveal tools list"
    more = f", {server['tools_left_out']:,} left out" if server["tools_left_out"] else ""
    return f"{count(len(server['tools']), 'tool')}{more}"


def _heading(file: Reply) -> str:
    path = styled(short_path(file["path"]), bold=True)
    return f"{path} ({clean(file['host'])}, {FOR_WHOM.get(file['scope'], file['scope'])})"


def _server_lines(server: Reply, modes: Modes, *, approved: bool) -> Iterator[str]:
    name = styled(clean(server["name"]), bold=True)
    if not approved:
        yield f"  {name}: {clean(server['runs'])}"  # whole, however long: it is to be judged
        return
    yield f"  {name}: {clean(outcome(server))}"
    width = max((min(len(tool["name"]), NAME_CHARACTERS) for tool in server["tools"]), default=0)
    for tool in server["tools"]:
        mode = modes.get((server["name"], tool["name"]), "")
        most = min(DESCRIPTION_CHARACTERS, terminal.room(width + 14))
        description = shortened(tool["description"], most)
        yield clean(f"    {tool['name']:<{width}}  {mode:<7} {description}").rstrip()


def _review_rows(server: Reply) -> Iterator[tuple[str, str]]:
    """Yield what a server runs or reaches, each argument apart, and the names of its variables, without their
    values."""
    if server["transport"] != "stdio":
        yield "connects to:", f"{server['runs']} ({server['transport']})"
    elif "command" in server:
        yield "runs:", shlex.join([server["command"], *server["arguments"]])
        yield "in folder:", server["folder"]
    else:
        yield "runs:", server["runs"]
    for label, field in (("sets:", "environment"), ("headers:", "headers"), ("reads:", "variables")):
        if server.get(field):
            yield label, ", ".join(server[field])
    if server.get("remark"):
        yield "not covered:", server["remark"]
    if server["left_out"]:
        yield "state:", server["left_out"]


def _visible(text: str) -> str:
    """Return text in which nothing is hidden: what isn't printable is shown as an escape."""
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii") for sign in text
    )
