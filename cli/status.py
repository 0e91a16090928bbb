"""Owns `foveal status`: what the daemon says of itself and its projects, for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from .. import __version__
from ..ipc.paths import find_socket
from . import terminal
from .command import Command, absolute, json_option, settings_of
from .connect import CALL_TIMEOUT_S, connect_running
from .embedding_progress import how_far, in_a_cell, other_reasons, rate
from .errors import CliError

SKIPPED = {
    "binary": "binary",
    "too_large": "larger than scan.max_file_bytes",
    "unreadable": "unreadable",
    "special": "neither files nor folders",
    "not_utf8_name": "named in something else than UTF-8",
    "symlink": "links, which are not followed",
    "quarantined": "left alone, since they ended the indexer twice",
    "ignored": "named by ignore rules",
    "excluded": "named by .fovealignore or scan.exclude",
    "vendored": "vendored or generated",
    "worktree": "other work trees of the repository",
}
"""Why a file or folder isn't read, in words; reasons of a newer daemon are shown as they are."""


@click.command("status", cls=Command, short_help="Show the daemon and its projects.")
@click.argument("cwd", required=False)
@click.option("--skipped", is_flag=True, help="Say what was left out of each project, and why.")
@json_option
@click.pass_context
def status_command(context: click.Context, cwd: str | None, skipped: bool, as_json: bool) -> None:
    """Show the daemon and its projects, or the one that the folder CWD belongs to.

    Starts no daemon; exits with 1 if none runs.
    """
    settings = settings_of(context)
    params = {} if cwd is None else {"cwd": absolute(cwd)}
    with connect_running(settings) as client:
        reply = client.call("Status", params, CALL_TIMEOUT_S)
    if as_json:
        terminal.say_json(reply)
        return
    for line in describe(reply, find_socket(settings.socket, settings.environ).path, skipped=skipped):
        terminal.say(line)
    if cwd is not None and not reply["projects"]:
        raise CliError(f"no project is open at {cwd}", f"foveal open {cwd}")
    if reply["version"] != __version__:
        terminal.warn(f"this program is foveal {__version__}; change over with: foveal restart")


def describe(reply: dict[str, Any], socket: str, *, skipped: bool) -> Iterator[str]:
    """Yield the lines about a daemon and its projects."""
    yield (
        terminal.styled(f"foveal {reply['version']}", bold=True)
        + ", "
        + ", ".join(
            (
                f"pid {reply['pid']}",
                f"up {terminal.duration(reply['uptime_s'])}",
                terminal.size(reply["rss_bytes"]),
                f"{terminal.count(reply['scopes'], 'scope')} ({terminal.size(reply['scopes_bytes'])})",
            )
        )
    )
    yield f"socket {terminal.short_path(socket)}"
    yield _describe_embedder(reply["embedder"])
    if reply.get("compressor") is not None:
        yield _describe_compressor(reply["compressor"])
    for reason in reply["degraded"]:
        yield f"{terminal.styled('!', fg='yellow', bold=True)} {terminal.clean(reason)}"
    yield ""
    projects = reply["projects"]
    yield projects_table(projects) if projects else "no project is open"
    for project in projects:
        if project["embedding"] == "running":
            told = ", ".join(filter(None, (how_far(project), rate(project))))
            yield f"{terminal.short_path(project['root'])}: {told}"
        for reason in other_reasons(project):
            mark = terminal.styled("!", fg="yellow", bold=True)
            yield f"{mark} {terminal.short_path(project['root'])}: {terminal.clean(reason)}"
    if skipped:
        for project in projects:
            yield ""
            yield from _describe_skipped(project)


def projects_table(projects: Sequence[dict[str, Any]]) -> str:
    """Return the open projects as a table."""
    header = ("PROJECT", "STATE", "FILES", "SYMBOLS", "PENDING", "EMBEDDED", "WATCH", "INDEX")
    rows = [
        (
            terminal.short_path(project["root"]),
            project["state"],
            f"{project['files']:,}",
            f"{project['symbols']:,}",
            f"{project['files_pending']:,}",
            in_a_cell(project),
            project["watch"],
            terminal.size(project["index_bytes"]),
        )
        for project in projects
    ]
    return terminal.table(header, rows, right=(2, 3, 4, 7))


def _describe_embedder(embedder: dict[str, Any] | None) -> str:
    """Return a line on what embeds: the model, whether it is in memory, why it is poorer than it could be."""
    if embedder is None:
        return "embedding is switched off (embedding.enabled)"
    facts = [f"model {embedder['model']}"]
    if embedder["dim"]:
        facts.append(f"{embedder['dim']} dimensions")
    facts.append(f"loaded (pid {embedder['pid']})" if embedder["loaded"] else "not loaded")
    if embedder["paused"]:
        facts.append("paused; go on with: foveal embed --resume")
    if embedder["degraded"]:
        facts.append(embedder["degraded"])
    return terminal.clean(", ".join(facts))


def _describe_compressor(compressor: dict[str, Any]) -> str:
    """Return a line on what is sent where: nobody should have to look for that."""
    where = f"documents are sent to {compressor['model']} at {compressor['endpoint']} to be shortened"
    facts = [where, terminal.count(compressor["calls"], "question")]
    if compressor["failures"]:
        facts.append(
            f"{terminal.count(compressor['failures'], 'failure')}, the last: {compressor['last_problem']}"
        )
    elif compressor["last_problem"]:
        facts.append(compressor["last_problem"])
    return terminal.clean(", ".join(facts))


def _describe_skipped(project: dict[str, Any]) -> Iterator[str]:
    root = terminal.short_path(project["root"])
    if not project["skipped"]:
        yield f"{root}: nothing is left out"
        return
    yield f"{root}: left out:"
    for reason, amount in sorted(project["skipped"].items()):
        kind, _, why = reason.rpartition(":")
        what = terminal.count(amount, "folder" if kind == "folder" else "file")
        yield f"  {what}: {terminal.clean(SKIPPED.get(why, why))}"
