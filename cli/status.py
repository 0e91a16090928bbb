"""The commands `foveal status` and `logs`: what the daemon says of itself and of its projects."""

from __future__ import annotations

import codecs
import os
import time
from collections.abc import Iterator, Sequence
from typing import Any

import click

from ..ipc.paths import find_socket, log_file, state_folder
from ..ipc.version import __version__
from . import terminal
from .command import FOLDER, Command, absolute, ask, json_option, settings_of
from .errors import CliError

SKIPPED = {
    "binary": "binary",
    "too_large": "larger than scan.max_file_bytes",
    "unreadable": "unreadable",
    "special": "neither files nor folders",
    "not_utf8_name": "names that are not UTF-8",
    "symlink": "links, which are not followed",
    "quarantined": "left out because they crashed the indexer twice",
    "ignored": "named by ignore rules",
    "excluded": "named by .fovealignore or scan.exclude",
    "vendored": "vendored or generated",
    "worktree": "other work trees of the repository",
}
"""Reasons why a file or folder isn't read; unknown reasons are shown as they come."""


@click.command("status", cls=Command, short_help="Show the daemon and its projects.")
@click.argument("folder", required=False, type=FOLDER)
@click.option("--cwd", metavar="DIR", type=FOLDER, help="The same as FOLDER.")
@click.option("--skipped", is_flag=True, help="Show what was left out of each project, and why.")
@json_option
@click.pass_context
def status_command(
    context: click.Context, folder: str | None, cwd: str | None, skipped: bool, as_json: bool
) -> None:
    """Show the daemon and its projects, or the one that FOLDER belongs to.

    Starts no daemon; exits with 1 if none runs.
    """
    settings = settings_of(context)
    cwd = cwd if folder is None else os.path.join(cwd or "", folder)
    reply = ask(context, "Status", {"cwd": None if cwd is None else absolute(cwd)}, start=False)
    if as_json:
        terminal.say_json(reply)
    for line in (
        ()
        if as_json
        else describe(reply, find_socket(settings.socket, settings.environ).path, skipped=skipped)
    ):
        terminal.say(line)
    if cwd is not None and not reply["projects"]:
        raise CliError(f"no project is open at {cwd}", f"foveal open {cwd}")
    if reply["version"] != __version__:
        terminal.warn(
            f"the daemon has another version than this program ({__version__}); run: foveal restart"
        )


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
    return terminal.table(header, rows, right=(2, 3, 4, 7), paths=(0,), spare=(6, 3))


def _describe_embedder(embedder: dict[str, Any] | None) -> str:
    """Return a line about the embedder: its model, whether it is loaded, and what is wrong with it."""
    if embedder is None:
        return "embedding is switched off (embedding.enabled)"
    facts = [f"model {embedder['model']}"]
    if embedder["dim"]:
        facts.append(f"{embedder['dim']} dimensions")
    facts.append(f"loaded (pid {embedder['pid']})" if embedder["loaded"] else "not loaded")
    if embedder["paused"]:
        facts.append("paused; to continue, run: foveal embed --resume")
    if embedder["degraded"]:
        facts.append(embedder["degraded"])
    if shared := embedder.get("shared"):
        counts = f"{shared['found']:,} taken from {shared['place']}, {shared['written']:,} written there"
        facts.append(f"{counts} ({shared['problem']})" if shared["problem"] else counts)
    return terminal.clean(", ".join(facts))


def _describe_compressor(compressor: dict[str, Any]) -> str:
    """Return a line about the model that shortens documents: what is sent where."""
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


UNFINISHED = frozenset({"waiting", "running"})
"""States of the embedding in which it still makes progress."""


_INCOMPLETE = "not all is found by meaning yet"


def other_reasons(project: dict[str, Any]) -> list[str]:
    """Return why a project is degraded, except for unfinished embedding, which is shown elsewhere."""
    return [reason for reason in project["degraded"] if not reason.startswith(_INCOMPLETE)]


def in_a_cell(project: dict[str, Any]) -> str:
    """Return how far it is in a word or two: `done`, `52%`, `paused 52%`, `off`; `starting` while it isn't
    known."""
    state, total = project["embedding"], project["embedded"] + project["pending"]
    percent = f"{project['embedded'] * 100 // total}%" if total else ""
    if state == "running":
        return percent
    if state == "waiting":
        return "starting"
    return f"{state} {percent}" if state == "paused" and percent else str(state)


def rate(project: dict[str, Any]) -> str:
    """Return its rate and an estimate, such as `110/s, about 14 s left`; nothing while they are unknown."""
    if not project["eta_ms"]:
        return ""
    left = terminal.duration(max(project["eta_ms"] / 1000, 1))
    return f"{project['chunks_per_second']:,.0f}/s, about {left} left"


def how_far(project: dict[str, Any]) -> str:
    """Return how far it is as a sentence: `384 of 3,342 chunks are embedded`."""
    if project["embedding"] == "waiting":
        total = terminal.count(project["chunks"], "chunk")
        return f"the embedder is starting: how much of {total} is embedded isn't known yet"
    if project["embedding"] == "off":
        return "embedding is switched off"
    total = terminal.count(project["embedded"] + project["pending"], "chunk")
    return f"{project['embedded']:,} of {total} are embedded"


FOLLOW_S = 0.2
"""Seconds between two checks of the log."""

BLOCK_BYTES = 64 * 1024
LINES_MAX = 10_000_000


@click.command("logs", cls=Command, short_help="Print the end of the daemon's log.")
@click.option(
    "-n",
    "--lines",
    type=click.IntRange(0, LINES_MAX),
    default=50,
    show_default=True,
    help="How many of the last lines.",
)
@click.option("-f", "--follow", is_flag=True, help="Print what is added, until Ctrl-C.")
@json_option
@click.pass_context
def logs_command(context: click.Context, lines: int, follow: bool, as_json: bool) -> None:
    """Print the end of the daemon's log. --json prints `{file, lines}`."""
    if follow and as_json:
        raise click.UsageError("--json and --follow exclude each other", context)
    path = log_file(state_folder(settings_of(context).environ))
    if not follow and not log_files(path):
        raise CliError(f"there is no log yet at {terminal.short_path(path)}", "foveal up")
    end = os.path.getsize(path) if os.path.exists(path) else 0
    if as_json:
        terminal.say_json({"file": path, "lines": tail(path, lines, end)})
        return
    for line in tail(path, lines, end):
        terminal.say(terminal.clean_lines(line))
    if follow:
        terminal.flush()
        for text in follow_log(path, end):
            terminal.write(terminal.clean_lines(text))
            terminal.flush()


def tail(path: str, count: int, end: int) -> list[str]:
    """Return the last lines of a log across its rotated files; the newest file is read up to `end`."""
    pieces: list[list[bytes]] = []
    for file in reversed(log_files(path)):
        if count <= 0:
            break
        pieces.append(last_lines(file, count, end if file == path else os.path.getsize(file)))
        count -= len(pieces[-1])
    return [line.decode("utf-8", "replace") for piece in reversed(pieces) for line in piece]


def log_files(path: str) -> list[str]:
    """Return the files of a log that exist, the oldest first: rotated ones end in a number."""
    numbers = []
    folder, name = os.path.split(path)
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    for other in names:
        ending = other.removeprefix(f"{name}.")
        if ending != other and ending.isdecimal():
            numbers.append(int(ending))
    found = [f"{path}.{number}" for number in sorted(numbers, reverse=True)]
    return [*found, path] if name in names else found


def last_lines(path: str, count: int, end: int) -> list[bytes]:
    """Return at most `count` of the last lines before the position `end`, reading no more than them."""
    with open(path, "rb") as file:
        found = b""
        while end > 0 and found.count(b"\n") <= count:
            step = min(BLOCK_BYTES, end)
            end -= step
            file.seek(end)
            found = file.read(step) + found
    return found.splitlines()[-count:] if count > 0 else []


def follow_log(path: str, position: int = 0) -> Iterator[str]:
    """Yield what is added to a log after a position, for ever, also across rotation."""
    while not os.path.exists(path):
        time.sleep(FOLLOW_S)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    file = open(path, "rb")  # noqa: SIM115 - it is replaced below when the log is rotated
    try:
        file.seek(position)
        while True:
            if text := decoder.decode(file.read(BLOCK_BYTES)):
                yield text
            elif _was_replaced(path, os.fstat(file.fileno()), file.tell()):
                yield decoder.decode(file.read())  # what was written before the rotation
                file.close()
                file = open(path, "rb")  # noqa: SIM115 - closed below
            else:
                time.sleep(FOLLOW_S)
    finally:
        file.close()


def _was_replaced(path: str, opened: os.stat_result, position: int) -> bool:
    try:
        now = os.stat(path)
    except FileNotFoundError:
        return False  # between two files
    return not os.path.samestat(now, opened) or now.st_size < position
