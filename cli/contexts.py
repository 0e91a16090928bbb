"""Owns `foveal contexts`, which lists what agents were given, and `foveal why`, which explains it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from ..ipc.client import Client
from . import terminal
from .command import Command, current_folder, cwd_option, json_option, settings_of
from .connect import CALL_TIMEOUT_S, connect
from .errors import CliError, hint_if_unknown
from .focus import locate
from .terminal import local_time

LIST_LIMIT = 100
PROMPT_CHARACTERS = 50
LAST = "last"
"""Stands for the context that was given last in this project."""

EXAMPLES = (
    "foveal contexts",
    "foveal contexts last > context.md",
    "foveal contexts --session s-1 --json | jq '.contexts[].tokens'",
)
WHY_EXAMPLES = (
    "foveal why last src/auth.py",
    "foveal why c_0123456789abcdef docs/plan.md --json",
)


@click.command(
    "contexts", cls=Command, short_help="List the contexts that agents were given.", examples=EXAMPLES
)
@click.argument("context_id", metavar="[CONTEXT]", required=False)
@cwd_option
@click.option("--all", "everywhere", is_flag=True, help="Of all projects, not only of this one.")
@click.option("--scope", metavar="ID", help="Of this scope.")
@click.option("--session", metavar="ID", help="Of this session.")
@click.option(
    "--limit", type=click.IntRange(1, LIST_LIMIT), default=20, show_default=True, help="At most so many."
)
@json_option
@click.pass_context
def contexts_command(
    context: click.Context,
    context_id: str | None,
    cwd: str | None,
    everywhere: bool,
    scope: str | None,
    session: str | None,
    limit: int,
    as_json: bool,
) -> None:
    """List the contexts that were given since the daemon started, the last one first.

    With CONTEXT, an id or `last`, print the text of that one, exactly as it was given.
    """
    folder = cwd or current_folder()
    with connect(settings_of(context)) as client:
        if context_id is not None:
            _show(client, context_id, folder, as_json=as_json)
            return
        chosen = {"cwd": None if everywhere else folder, "scope_id": scope, "session_id": session}
        params = {name: value for name, value in chosen.items() if value is not None}
        reply = client.call("ListContexts", {**params, "limit": limit}, CALL_TIMEOUT_S)
    if as_json:
        terminal.say_json(reply)
    elif reply["contexts"]:
        terminal.say(contexts_table(reply["contexts"], everywhere=everywhere))
    else:
        terminal.say("no context was given since the daemon started")


@click.command(
    "why", cls=Command, short_help="Say why a file is in a context, or why not.", examples=WHY_EXAMPLES
)
@click.argument("context_id", metavar="CONTEXT")
@click.argument("path")
@cwd_option
@json_option
@click.pass_context
def why_command(context: click.Context, context_id: str, path: str, cwd: str | None, as_json: bool) -> None:
    """Say why PATH is in CONTEXT, an id or `last`, or what kept it out and what would bring it in.

    Exits with 1 where nothing of it is shown.
    """
    folder = cwd or current_folder()
    folders = [folder] if cwd is None else [folder, current_folder()]
    with connect(settings_of(context)) as client, hint_if_unknown("foveal contexts"):
        params = {"context_id": _resolved(client, context_id, folder), "path": locate(path, folders)}
        reply = client.call("ExplainPath", params, CALL_TIMEOUT_S)
    if as_json:
        terminal.say_json(reply)
    else:
        for line in describe(reply, path):
            terminal.say(line)
        terminal.flush()
        for reason in reply["degraded"]:
            terminal.note(f"degraded: {reason}")
    if not reply["shown"]:
        context.exit(1)


def contexts_table(contexts: Sequence[Mapping[str, Any]], *, everywhere: bool) -> str:
    """Return contexts as a table, in their order; with their projects where they are of several."""
    header = ["CONTEXT", "AT", "TIMES", "TOKENS", "OF", "MS", "FOR", "PROMPT"]
    rows = [
        [
            one["context_id"],
            local_time(one["at"]),
            f"{one['times']:,}",
            f"{one['tokens']:,}",
            f"{max(one['max_tokens'] - one['reserve_tokens'], 0):,}",
            f"{one['elapsed_ms']:,.1f}",
            one["agent_name"] or one["session_id"],
            _shortened(one["prompt"]),
        ]
        for one in contexts
    ]
    if everywhere:
        header.append("PROJECT")
        for row, one in zip(rows, contexts, strict=True):
            row.append(terminal.short_path(one["project"]))
    return terminal.table(header, rows, right=(2, 3, 4, 5))


def describe(reply: Mapping[str, Any], path: str) -> Sequence[str]:
    """Return the lines about a reply to ExplainPath: a verdict, the reasons, what to do."""
    verdict = "shown" if reply["shown"] else "only named" if reply["named"] else "not in it"
    return [
        f"{terminal.styled(terminal.clean(path), bold=True)}: {verdict}",
        *(f"  {terminal.clean(reason)}" for reason in reply["reasons"]),
        *(f"  -> {terminal.clean(advice)}" for advice in reply["advice"]),
    ]


def _show(client: Client, context_id: str, folder: str, *, as_json: bool) -> None:
    """Print a context as it was given. Raises `CliError` where its text is gone."""
    with hint_if_unknown("foveal contexts"):
        resolved = _resolved(client, context_id, folder)
        reply = client.call("GetBuiltContext", {"context_id": resolved}, CALL_TIMEOUT_S)
    if as_json:
        terminal.say_json(reply)
    elif not reply["text_kept"]:
        raise CliError(reply["problem"], "foveal contexts ID --json shows what it was made of")
    elif terminal.is_terminal(sys.stdout):
        terminal.say(terminal.clean_lines(reply["context"].rstrip("\n")))
    else:
        terminal.write(reply["context"])  # a pipe gets the very text


def _resolved(client: Client, context_id: str, folder: str) -> str:
    """Return an id, of the last context of the project for `last`. Raises `CliError` where there is none."""
    if context_id != LAST:
        return context_id
    found = client.call("ListContexts", {"cwd": folder, "limit": 1}, CALL_TIMEOUT_S)["contexts"]
    if not found:
        raise CliError(
            "no context of this project was given since the daemon started", 'foveal context "…" gives one'
        )
    return str(found[0]["context_id"])


def _shortened(text: str) -> str:
    return text if len(text) <= PROMPT_CHARACTERS else f"{text[: PROMPT_CHARACTERS - 1]}…"
