"""The command `foveal status`: what the daemon says of itself and of its projects."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ..ipc.paths import find_socket
from ..ipc.version import __version__
from . import terminal
from .command import Reply, Run, command
from .embedding import how_far, in_a_cell, other_reasons, rate
from .errors import CliError
from .options import FOLDER, argument, flag, option
from .settings import absolute
from .table import Column, number, path, table
from .terminal import styled
from .text import clean, count, duration, short_path, size

PROJECTS = (
    path("PROJECT", "root"),
    Column("STATE", "state"),
    number("FILES", "files"),
    number("SYMBOLS", "symbols", spare=2),
    number("PENDING", "files_pending"),
    Column("EMBEDDED", in_a_cell),
    Column("WATCH", "watch", spare=1),
    number("INDEX", lambda project: size(project["index_bytes"])),
)
"""The columns of a table of open projects."""

OTHER_VERSION = f"the daemon has another version than this program ({__version__}); run: foveal restart"


@command(
    "Show the daemon and its projects.",
    argument("project", "[FOLDER]", required=False, type=FOLDER),
    option("--cwd", "DIR", "The same as FOLDER.", type=FOLDER),
    flag("--skipped", "Show what was left out of each project, and why."),
)
def status_command(run: Run) -> None:
    """Show the daemon and its projects, or the one that FOLDER belongs to.

    Starts no daemon; exits with 1 if none runs.

    For example:

        foveal status
        foveal status . --skipped     # what was left out of this project, and why
    """
    folder = run.cwd if run.project is None else os.path.join(run.cwd or "", run.project)
    reply = run.ask("Status", start=False, cwd=None if folder is None else absolute(folder))
    socket = find_socket(run.settings.socket, run.settings.environ).path
    run.show(reply, describe(reply, socket, skipped=run.skipped))
    if folder is not None and not reply["projects"]:
        raise CliError(f"no project is open at {folder}", f"foveal open {folder}")
    if reply["version"] != __version__:
        terminal.warn(OTHER_VERSION)


def describe(reply: Reply, socket: str, *, skipped: bool) -> Iterator[str]:
    """Yield the lines about a daemon and its projects."""
    scopes = f"{count(reply['scopes'], 'scope')} ({size(reply['scopes_bytes'])})"
    facts = (f"pid {reply['pid']}", f"up {duration(reply['uptime_s'])}", size(reply["rss_bytes"]), scopes)
    head = styled(f"foveal {reply['version']}", bold=True)
    yield f"{head}, {', '.join(facts)}"
    yield f"socket {short_path(socket)}"
    yield _describe_embedder(reply["embedder"])
    if reply.get("compressor") is not None:
        yield _describe_compressor(reply["compressor"])
    mark = styled("!", fg="yellow", bold=True)
    for reason in reply["degraded"]:
        yield f"{mark} {clean(reason)}"
    yield ""
    projects = reply["projects"]
    yield table(PROJECTS, projects) if projects else "no project is open"
    for project in projects:
        root = short_path(project["root"])
        if project["embedding"] == "running":
            yield f"{root}: {', '.join(filter(None, (how_far(project), rate(project))))}"
        if project.get("linked"):
            others = ", ".join(f"{other['path']} ({other['state']})" for other in project["linked"])
            yield clean(f"{root} links {others}; a closed one is opened by the first question")
        for reason in filter(None, (*other_reasons(project), project.get("question"))):
            yield f"{mark} {root}: {clean(reason)}"
    for project in projects if skipped else ():
        yield ""
        yield from _describe_skipped(project)


def _describe_embedder(embedder: Reply | None) -> str:
    """Return a line about the embedder: its model, whether it is loaded, and what is wrong with it."""
    if embedder is None:
        return "embedding is switched off (embedding.enabled)"
    facts = [f"model {embedder['model']}"]
    if embedder["dim"]:
        facts.append(f"{embedder['dim']} dimensions")
    facts.append(f"loaded (pid {embedder['pid']})" if embedder["loaded"] else "not loaded")
    if endpoint := embedder.get("endpoint"):
        leaves = "which leaves this machine" if embedder["leaves_machine"] else "on this machine"
        facts.append(f"chunks of code and questions are sent to {endpoint}, {leaves}")
    if embedder["paused"]:
        facts.append("paused; to continue, run: foveal embed --resume")
    if shared := embedder.get("shared"):
        counts = f"{shared['found']:,} taken from {shared['place']}, {shared['written']:,} written there"
        facts.append(f"{counts} ({shared['problem']})" if shared["problem"] else counts)
    return clean(", ".join(facts))


def _describe_compressor(compressor: Reply) -> str:
    """Return a line about the model that shortens documents: what is sent where."""
    where = f"documents are sent to {compressor['model']} at {compressor['endpoint']} to be shortened"
    facts = [where, count(compressor["calls"], "question")]
    if compressor["failures"]:
        facts.append(f"{count(compressor['failures'], 'failure')}, the last: {compressor['last_problem']}")
    elif compressor["last_problem"]:
        facts.append(compressor["last_problem"])
    return clean(", ".join(facts))


def _describe_skipped(project: Reply) -> Iterator[str]:
    root = short_path(project["root"])
    if not project["skipped"]:
        yield f"{root}: nothing is left out"
        return
    yield f"{root}: left out:"
    for reason, amount in sorted(project["skipped"].items()):
        kind, _, why = reason.rpartition(":")
        what = count(amount, "folder" if kind == "folder" else "file")
        yield f"  {what}: {clean(why.replace('_', ' '))}"
