"""Owns the commands on experiences: decide, decisions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import click

from . import terminal
from .command import Command, current_folder, cwd_option, json_option, settings_of
from .connect import CALL_TIMEOUT_S, connect
from .errors import CliError
from .focus import locate

OUTCOMES = ("success", "failure", "reverted")
EXAMPLE = 'foveal decide "tokens expire after an hour" --why "audit finding 7" --file src/auth.py'
SESSION = "command-line"
"""The session of decisions that a person notes without naming one."""


@click.command("decide", cls=Command, short_help="Note a decision.", examples=[EXAMPLE])
@click.argument("decision")
@click.option("--why", metavar="TEXT", help="The reason.")
@click.option("--file", "files", multiple=True, metavar="PATH", help="A file that it is about.")
@click.option("--agent", metavar="NAME", help="Who decided [default: your login name].")
@click.option("--session", metavar="ID", default=SESSION, show_default=True, help="In which session.")
@click.option("--outcome", type=click.Choice(OUTCOMES), help="What came of it.")
@click.option("--error", metavar="TEXT", help="What went wrong, with --outcome failure.")
@cwd_option
@json_option
@click.pass_context
def decide_command(
    context: click.Context,
    decision: str,
    why: str | None,
    files: tuple[str, ...],
    agent: str | None,
    session: str,
    outcome: str | None,
    error: str | None,
    cwd: str | None,
    as_json: bool,
) -> None:
    """Note a DECISION, so that later contexts about the same files show it."""
    if error is not None and outcome != "failure":
        raise click.UsageError("--error says what went wrong: it goes with --outcome failure", context)
    folder = cwd or current_folder()
    folders = [folder] if cwd is None else [folder, current_folder()]
    experience: dict[str, Any] = {
        "decision": decision,
        "agent_id": agent or login_name(),
        "session_id": session,
        "files_touched": [locate(path, folders) for path in files],
    }
    if why is not None:
        experience["rationale"] = why
    if outcome is not None:
        experience["outcome"] = {"kind": outcome} | ({} if error is None else {"error": error})
    with connect(settings_of(context)) as client:
        reply = client.call("GraftExperience", {"cwd": folder, "experience": experience}, CALL_TIMEOUT_S)
    for warning in reply.get("warnings", ()):
        terminal.warn(warning)
    if reply["skipped"]:
        raise CliError(f"the decision wasn't noted: {reply['skipped'][0]['reason']}")
    if as_json:
        terminal.say_json(reply)
    elif reply["duplicates"]:
        terminal.say("known already")
    else:
        terminal.say(f"noted: {reply['experience_ids'][0]}")


@click.command("decisions", cls=Command, short_help="List the decisions, newest first.")
@click.option("--query", metavar="WORDS", help="All of these words occur in it.")
@click.option("--agent", metavar="NAME", help="Of this agent.")
@click.option("--outcome", type=click.Choice(OUTCOMES), help="With this outcome.")
@click.option("--limit", type=click.IntRange(0, 1000), default=20, show_default=True, help="At most so many.")
@cwd_option
@json_option
@click.pass_context
def decisions_command(
    context: click.Context,
    query: str | None,
    agent: str | None,
    outcome: str | None,
    limit: int,
    cwd: str | None,
    as_json: bool,
) -> None:
    """List this project's decisions, the newest first."""
    given = {
        "cwd": cwd or current_folder(),
        "query": query,
        "agent_id": agent,
        "outcome": outcome,
        "limit": limit,
    }
    params = {name: value for name, value in given.items() if value is not None}
    with connect(settings_of(context)) as client:
        reply = client.call("ListExperiences", params, CALL_TIMEOUT_S)
    if as_json:
        terminal.say_json(reply)
        return
    for experience in reply["experiences"]:
        for line in describe(experience):
            terminal.say(line)
    shown, total = len(reply["experiences"]), reply["total"]
    if not total:
        terminal.say("no decisions")
    elif shown < total:
        terminal.flush()
        terminal.note(f"{shown} of {total:,}; --limit shows more")


def login_name() -> str:
    """Return who is logged in; the number of a user without a name."""
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return f"uid-{os.getuid()}"


def describe(experience: dict[str, Any]) -> Iterator[str]:
    """Yield the lines about a decision: what, when and who, why, on which files."""
    outcome = experience.get("outcome", {})
    mark = f" [{outcome['kind']}]" if outcome else ""
    head = f"{_local_time(experience['timestamp'])}  {terminal.clean(experience['agent_id'])}"
    decision = terminal.clean_lines(experience["decision"]).replace("\n", "\n  ")
    yield f"{terminal.styled(head, dim=True)}{mark}"
    yield f"  {decision}"
    for label, value in (
        ("why", experience["rationale"]),
        ("error", outcome.get("error", "")),
        ("files", ", ".join(experience["files_touched"])),
    ):
        if value:
            yield f"  {label}: {terminal.clean(value)}"


def _local_time(timestamp: str) -> str:
    """Return the wire's UTC time as the user's clock shows it; one that can't be read as it is."""
    from datetime import datetime

    try:
        return f"{datetime.fromisoformat(timestamp).astimezone():%Y-%m-%d %H:%M}"
    except ValueError:
        return terminal.clean(timestamp)
