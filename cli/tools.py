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
from .command import (
    CALL_TIMEOUT_S,
    Command,
    CommandGroup,
    absolute,
    ask,
    connect,
    current_folder,
    cwd_option,
    json_option,
    settings_of,
)
from .errors import FAILED, CliError
from .progress import Bar

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

EXAMPLES = (
    "foveal tools list",
    "foveal tools approve .mcp.json          # shows what would run, and asks",
    "foveal tools mode github agent          # found by what they do, not always there",
    "foveal tools mode github always --tool search_code",
)


@click.group(
    "tools", cls=CommandGroup, short_help="Tools of MCP servers, and who may run.", examples=EXAMPLES
)
def tools_command() -> None:
    """List the tools of the MCP servers that are configured here, and set their modes.

    Servers are read from .mcp.json and the files of other hosts. To list a server's tools its command has to
    be run, so a file is approved once, as it is; when it changes it has to be approved again.
    """


@tools_command.command("list", cls=Command, short_help="List the servers and their tools.")
@click.option("--again", is_flag=True, help="Ask all approved servers again, not only new ones.")
@cwd_option
@json_option
@click.pass_context
def list_command(context: click.Context, again: bool, cwd: str | None, as_json: bool) -> None:
    """List the configuration files with their servers and tools. Approved servers that are new are run."""
    folder = cwd or current_folder()
    with connect(settings_of(context)) as client:
        reply = _servers(client, folder, again=again)
        items = client.call("ListItems", {"cwd": folder, "types": ["tool"]}, CALL_TIMEOUT_S)["items"]
    if as_json:
        terminal.say_json(reply)
        return
    modes = {(item["server_name"], item["name"]): item["include"] for item in items}
    for line in describe_files(reply["files"], modes):
        terminal.say(line)
    if not reply["files"]:
        terminal.say("no servers are configured")
    _note_failed(reply["files"])
    waiting = sum(not file["approved"] and not _is_own(file) for file in reply["files"])
    if waiting:
        verb = "isn't" if waiting == 1 else "aren't"
        terminal.note(
            f"{terminal.count(waiting, 'file')} {verb} approved: foveal tools approve shows what it runs"
        )


@tools_command.command("approve", cls=Command, short_help="Let servers be run to list their tools.")
@click.argument("path", required=False)
@click.option("--yes", "-y", is_flag=True, help="Approve PATH without asking.")
@cwd_option
@json_option
@click.pass_context
def approve_command(
    context: click.Context, path: str | None, yes: bool, cwd: str | None, as_json: bool
) -> None:
    """Approve the configuration file at PATH, as it is now, or all that aren't approved, one by one.

    Shows the commands that are run then, as you and on this machine, and the variables that they get, and
    asks. A file that changes has to be approved again.
    """
    if yes and path is None:
        raise click.UsageError("--yes needs a PATH, because it approves without asking", context)
    if as_json and not yes:
        raise click.UsageError("--json needs --yes, because it can't ask", context)
    folder = cwd or current_folder()
    with connect(settings_of(context)) as client:
        known = client.call("ListToolServers", {"cwd": folder, "refresh": False}, CALL_TIMEOUT_S)["files"]
        chosen = _chosen(known, path)
        if any(file["digest"] for file in chosen) and not yes and not terminal.is_terminal(sys.stdin):
            raise CliError(
                "can't prompt: stdin is not a terminal; pass a PATH and --yes", "foveal tools list"
            )
        done = [file for file in chosen if _approve(client, folder, file, yes=yes, quiet=as_json)]
        if done:
            reply = _servers(client, folder, again=False)
    if as_json:
        terminal.say_json({"approved": [_place(file) for file in done]})
        return
    if not chosen:
        terminal.say("all files are approved" if known else "no servers are configured")
        return
    if done:
        listed = [file for file in reply["files"] if _place(file) in map(_place, done)]
        for server in (server for file in listed for server in file["servers"]):
            terminal.say(terminal.clean(f"{server['name']}: {outcome(server)}"))
        _note_failed(listed)
    if len(done) < len(chosen):
        context.exit(FAILED)


@tools_command.command("revoke", cls=Command, short_help="Take back the approval of a file.")
@click.argument("path")
@cwd_option
@json_option
@click.pass_context
def revoke_command(context: click.Context, path: str, cwd: str | None, as_json: bool) -> None:
    """Take back the approval of the file at PATH: its servers aren't run, and their tools are gone."""
    params = {"cwd": cwd or current_folder(), "path": _real(path)}
    reply = ask(context, "RevokeToolServers", params)
    terminal.say_reply(reply, as_json, f"revoked: {terminal.short_path(params['path'])}")


@tools_command.command("mode", cls=Command, short_help="Set the mode of a server's tools, or of one.")
@click.argument("server")
@click.argument("mode", type=click.Choice(TOOL_MODES))
@click.option("--tool", metavar="NAME", help="Only of this tool.")
@cwd_option
@json_option
@click.pass_context
def mode_command(
    context: click.Context, server: str, mode: str, tool: str | None, cwd: str | None, as_json: bool
) -> None:
    """Set how the tools of a SERVER are included in this project, or one of them, whose own mode goes first.

    They are in every session (always), found by what they do (agent), or only added by hand (manual); default
    forgets what was set.
    """
    params = {"cwd": cwd or current_folder(), "server_name": server, "include": mode}
    if tool is not None:
        params["name"] = tool
    reply = ask(context, "SetToolMode", params, hint="foveal tools list")
    if as_json:
        terminal.say_json(reply)
        return
    for tool_mode in reply["tools"]:
        terminal.say(terminal.clean(f"{tool_mode['include']:<7} {tool_mode['name']}"))
    terminal.flush()
    if not reply["changed"]:
        terminal.note("the mode was set already")
    elif not reply["tools"]:
        terminal.note("no tools of that server are known yet; the mode will apply to them")


def _servers(client: Client, folder: str, *, again: bool) -> dict[str, Any]:
    """Return the files with their servers, after listing the tools of servers that have no list yet."""
    with Bar("listing tools"):
        reply: dict[str, Any] = client.call(
            "ListToolServers", {"cwd": folder, "again": again, "refresh": True}, LISTING_TIMEOUT_S
        )
    return reply


def _chosen(known: Sequence[dict[str, Any]], path: str | None) -> list[dict[str, Any]]:
    """Return the files that are to be approved. Raises `CliError` for a path that configures no server."""
    if path is not None:
        named = [file for file in known if _real(file["path"]) == _real(path)]
        if not named:
            raise CliError(f"{path} configures no servers for this project", "foveal tools list")
        known = named
    return [file for file in known if not file["approved"] and (path is not None or not _is_own(file))]


OWN = "it is foveal itself"
"""Why the daemon runs no server that is foveal: it would ask itself."""


def _is_own(file: Mapping[str, Any]) -> bool:
    """Whether a file has no server but foveal itself, which needs no approval."""
    return bool(file["servers"]) and all(server["left_out"] == OWN for server in file["servers"])


def _approve(client: Client, folder: str, file: dict[str, Any], *, yes: bool, quiet: bool) -> bool:
    """Show what a file makes foveal run, ask, and approve it with the hash of what was shown."""
    if not quiet:
        for line in review(file):
            terminal.say(line)
        terminal.say()
        terminal.flush()
    if not file["digest"]:
        terminal.warn(f"this file can't be approved: {file['problem']}")
        return False
    if not (yes or click.confirm("Let foveal run this to list the tools?", err=True)):
        terminal.note(f"not approved: {file['path']}")
        return False
    params = {"cwd": folder, "path": file["path"], "section": file["section"], "digest": file["digest"]}
    client.call("ApproveToolServers", params, CALL_TIMEOUT_S)
    return True


def _note_failed(files: Sequence[dict[str, Any]]) -> None:
    """Say what to do about servers that could not be listed, which isn't tried again by itself."""
    terminal.flush()
    if any(server["problem"] for file in files for server in file["servers"]):
        terminal.note("to try again, run: foveal tools list --again")


def _place(file: dict[str, Any]) -> dict[str, str]:
    return {name: file[name] for name in ("path", "section", "digest")}


def _real(path: str) -> str:
    """Return a path as the daemon has it: its folder without links, while the file itself may be gone."""
    folder, name = os.path.split(os.path.abspath(absolute(path)))
    return os.path.join(os.path.realpath(folder), name)


def describe_files(files: Sequence[Mapping[str, Any]], modes: Modes) -> Iterator[str]:
    """Yield the lines about configuration files: whether each is approved, its servers, their tools."""
    for file in files:
        done = file["approved"] or _is_own(file)
        state = "approved" if file["approved"] else "only foveal itself" if done else "not approved"
        colour = "green" if done else "yellow"
        yield f"{_heading(file)}: {terminal.styled(state, fg=colour)}"
        if file["problem"]:
            yield f"  ! {terminal.clean(file['problem'])}"
        for server in file["servers"]:
            yield from _server_lines(server, modes, approved=file["approved"])


def review(file: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines that a person reads before approving a file: all that it makes foveal run or reach."""
    yield _heading(file)
    yield _visible(f"{file['section']}, sha256 {file['digest']}")
    if file["problem"]:
        yield f"! {terminal.clean(file['problem'])}"
    for server in file["servers"]:
        yield ""
        yield f"  {terminal.styled(_visible(server['name']), bold=True)} (line {server['line']})"
        for label, value in _review_rows(server):
            yield f"    {label:<12} {_visible(value)}"
    if file.get("programs"):
        yield ""
        yield "  The approval holds until one of these changes:"
        for program in file["programs"]:
            yield f"    {_visible(program['path'])} (sha256 {program['digest'][:12]})"


def outcome(server: Mapping[str, Any]) -> str:
    """Return the result of listing a server: how many tools it has, or why they aren't known."""
    if server["left_out"]:
        return f"not listed: {server['left_out']}"
    if server["problem"]:
        old = "; those of before are used" if server["tools"] else ""
        return f"it could not be listed: {server['problem']}{old}"
    if not server["listed_at"]:
        return "not listed yet: foveal tools list"
    more = f", {server['tools_left_out']:,} left out" if server["tools_left_out"] else ""
    return f"{terminal.count(len(server['tools']), 'tool')}{more}"


def _heading(file: Mapping[str, Any]) -> str:
    path = terminal.styled(terminal.short_path(file["path"]), bold=True)
    return f"{path} ({terminal.clean(file['host'])}, {FOR_WHOM.get(file['scope'], file['scope'])})"


def _server_lines(server: Mapping[str, Any], modes: Modes, *, approved: bool) -> Iterator[str]:
    name = terminal.styled(terminal.clean(server["name"]), bold=True)
    if not approved:
        yield f"  {name}: {terminal.clean(server['runs'])}"  # whole, however long: it is to be judged
        return
    yield f"  {name}: {terminal.clean(outcome(server))}"
    width = max((min(len(tool["name"]), NAME_CHARACTERS) for tool in server["tools"]), default=0)
    for tool in server["tools"]:
        mode = modes.get((server["name"], tool["name"]), "")
        most = min(DESCRIPTION_CHARACTERS, terminal.room(width + 14))
        description = terminal.shortened(tool["description"], most)
        yield terminal.clean(f"    {tool['name']:<{width}}  {mode:<7} {description}").rstrip()


def _review_rows(server: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
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
