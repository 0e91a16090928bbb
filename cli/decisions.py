"""Owns `foveal decide`, which notes a decision, and `foveal decisions`, which lists and shows them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import click

from . import terminal
from .command import Command, current_folder, cwd_option, json_option, settings_of
from .connect import CALL_TIMEOUT_S, connect
from .decision_changes import delete_command, edit_command, mark_command, prune_command, restore_command
from .decision_text import describe, describe_line, describe_whole
from .errors import CliError, hint_if_unknown
from .focus import locate
from .group import CommandGroup

OUTCOMES = ("success", "failure", "reverted")
EXAMPLE = 'foveal decide "tokens expire after an hour" --why "audit finding 7" --file src/auth.py'
EXAMPLES = (
    "foveal decisions",
    "foveal decisions list --outcome failure --since 2025-01-31",
    "foveal decisions show x_0123456789abcdef",
    "foveal decisions mark x_0123456789abcdef --outcome reverted",
    "foveal decisions prune --older-than 365 --outcome success",
)
SESSION = "command-line"
"""The session of decisions that a person notes without naming one."""


class DecisionsGroup(CommandGroup):
    """Commands on decisions; without one they are listed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; those without a command are those of `list`."""
        place = 0
        while place < len(args) and args[place].startswith("--socket"):
            place += 1 if "=" in args[place] else 2
        rest = args[place:]
        if not rest or (rest[0].startswith("-") and rest[0] != "--help"):
            args = [*args[:place], "list", *rest]
        return super().parse_args(ctx, args)


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


@click.group(
    "decisions", cls=DecisionsGroup, short_help="List, show and change decisions.", examples=EXAMPLES
)
def decisions_command() -> None:
    """List and change what was decided in this project; without a command they are listed.

    What is deleted can be restored until it is pruned.
    """


@decisions_command.command("list", cls=Command, short_help="List the decisions, newest first.")
@click.option("--query", metavar="WORDS", help="All of these words occur in it.")
@click.option("--agent", metavar="NAME", help="Of this agent.")
@click.option("--session", metavar="ID", help="Of this session.")
@click.option("--outcome", type=click.Choice((*OUTCOMES, "none")), help="With this outcome.")
@click.option("--trust", type=click.Choice(("normal", "low")), help="With this trust.")
@click.option("--since", metavar="TIME", help="Not before this day or time.")
@click.option("--until", metavar="TIME", help="Before this day or time.")
@click.option("--deleted", is_flag=True, help="Those that were deleted, and only those.")
@click.option("--limit", type=click.IntRange(0, 1000), default=20, show_default=True, help="At most so many.")
@cwd_option
@json_option
@click.pass_context
def list_command(
    context: click.Context,
    query: str | None,
    agent: str | None,
    session: str | None,
    outcome: str | None,
    trust: str | None,
    since: str | None,
    until: str | None,
    deleted: bool,
    limit: int,
    cwd: str | None,
    as_json: bool,
) -> None:
    """List this project's decisions, the newest first."""
    given = {
        "cwd": cwd or current_folder(),
        "query": query,
        "agent_id": agent,
        "session_id": session,
        "outcome": outcome,
        "trust": trust,
        "since": _moment(context, "--since", since),
        "until": _moment(context, "--until", until),
        "deleted": deleted or None,
        "limit": limit,
    }
    params = {name: value for name, value in given.items() if value is not None}
    with connect(settings_of(context)) as client:
        reply = client.call("ListExperiences", params, CALL_TIMEOUT_S)
    if as_json:
        terminal.say_json(reply)
        return
    for experience in reply["experiences"]:
        _say_all(describe(experience))
    shown, total = len(reply["experiences"]), reply["total"]
    if not total:
        terminal.say("no decisions")
    elif shown < total:
        terminal.flush()
        terminal.note(f"{shown} of {total:,}; --limit shows more")


@decisions_command.command("show", cls=Command, short_help="Show a decision and what became of it.")
@click.argument("experience_id", metavar="ID")
@cwd_option
@json_option
@click.pass_context
def show_command(context: click.Context, experience_id: str, cwd: str | None, as_json: bool) -> None:
    """Show a decision by its ID: all that is known of it, and each later change."""
    params = {"cwd": cwd or current_folder(), "experience_id": experience_id}
    with connect(settings_of(context)) as client, hint_if_unknown("foveal decisions"):
        reply = client.call("GetExperience", params, CALL_TIMEOUT_S)
    if as_json:
        terminal.say_json(reply)
    else:
        _say_all(describe_whole(reply))


@decisions_command.command("quarantine", cls=Command, short_help="List the lines that can't be read.")
@click.option("--limit", type=click.IntRange(0, 1000), default=20, show_default=True, help="At most so many.")
@cwd_option
@json_option
@click.pass_context
def quarantine_command(context: click.Context, limit: int, cwd: str | None, as_json: bool) -> None:
    """List lines of the pool's files that could not be read, the last one first, and why."""
    params = {"cwd": cwd or current_folder(), "limit": limit}
    with connect(settings_of(context)) as client:
        reply = client.call("ListQuarantine", params, CALL_TIMEOUT_S)
    if as_json:
        terminal.say_json(reply)
        return
    for line in reply["lines"]:
        _say_all(describe_line(line))
    shown, total = len(reply["lines"]), reply["total"]
    if not total:
        terminal.say("no lines in quarantine")
    elif shown < total:
        terminal.flush()
        terminal.note(f"{shown} of {total:,}; --limit shows more")


for _command in (edit_command, mark_command, delete_command, restore_command, prune_command):
    decisions_command.add_command(_command)


def login_name() -> str:
    """Return who is logged in; the number of a user without a name."""
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return f"uid-{os.getuid()}"


def _say_all(lines: Iterator[str]) -> None:
    for line in lines:
        terminal.say(line)


def _moment(context: click.Context, option: str, text: str | None) -> str | None:
    """Return a day or a time of the user's clock as the wire has it. Raises `click.UsageError`."""
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text).astimezone().isoformat()
    except (ValueError, OverflowError) as error:
        raise click.UsageError(f"{option} takes a day or a time such as 2025-01-31T12:00", context) from error
