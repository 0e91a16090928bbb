"""Owns the commands that change decisions: edit, mark, delete, restore, prune."""

from __future__ import annotations

import sys
from typing import Any

import click

from . import terminal
from .command import Command, current_folder, cwd_option, json_option, settings_of
from .connect import CALL_TIMEOUT_S, connect
from .decision_text import describe
from .errors import CliError, hint_if_unknown
from .focus import locate

OUTCOMES = ("success", "failure", "reverted", "none")
PRUNE_EXAMPLES = (
    "foveal decisions prune --older-than 365 --outcome success",
    "foveal decisions prune --irrelevant --dry-run",
    "foveal decisions prune --keep 0 --yes      # all of them",
)


@click.command("prune", cls=Command, short_help="Remove decisions for good.", examples=PRUNE_EXAMPLES)
@click.option("--older-than", metavar="DAYS", type=click.IntRange(0, 1_000_000), help="Those before that.")
@click.option("--keep", metavar="N", type=click.IntRange(0, 1_000_000_000), help="Those beyond the newest N.")
@click.option(
    "--outcome", "outcomes", multiple=True, type=click.Choice(OUTCOMES), help="Only those with this outcome."
)
@click.option("--irrelevant", is_flag=True, help="Only those whose files are all gone from the project.")
@click.option("--deleted", is_flag=True, help="Only those that were deleted.")
@click.option("--dry-run", is_flag=True, help="Only show what would go.")
@click.option("--yes", is_flag=True, help="Don't ask.")
@cwd_option
@json_option
@click.pass_context
def prune_command(
    context: click.Context,
    older_than: int | None,
    keep: int | None,
    outcomes: tuple[str, ...],
    irrelevant: bool,
    deleted: bool,
    dry_run: bool,
    yes: bool,
    cwd: str | None,
    as_json: bool,
) -> None:
    """Remove decisions for good, after showing which.

    --older-than and --keep are limits: what is over either of them goes. The other options say which of those
    over a limit may go, or of all where there is no limit; each of them must hold.
    """
    given = {
        "cwd": cwd or current_folder(),
        "max_age_days": older_than,
        "max_count": keep,
        "outcomes": list(outcomes) or None,
        "irrelevant": irrelevant or None,
        "deleted": deleted or None,
    }
    params = {name: value for name, value in given.items() if value is not None}
    if len(params) == 1:
        raise click.UsageError("nothing says what to prune, see --help", context)
    with connect(settings_of(context)) as client:
        reply = client.call("PruneExperiences", {**params, "dry_run": True}, CALL_TIMEOUT_S)
        if not as_json:
            _preview(reply)
        if reply["pruned"] and not dry_run and (yes or _confirmed(reply)):
            reply = client.call("PruneExperiences", params, CALL_TIMEOUT_S)
    if as_json:
        terminal.say_json(reply)
    elif not reply["dry_run"]:
        terminal.say(f"pruned: {reply['pruned']:,}, {reply['kept']:,} are left")


def _preview(reply: dict[str, Any]) -> None:
    """Show what would go."""
    for experience in reply["experiences"]:
        for line in describe(experience):
            terminal.say(line)
    more = reply["pruned"] - len(reply["experiences"])
    if more > 0:
        terminal.say(f"and {more:,} older ones")
    terminal.flush()
    terminal.note(
        f"{terminal.count(reply['pruned'], 'decision')} would go for good, {reply['kept']:,} would be left"
        if reply["pruned"]
        else "nothing is to be pruned"
    )


def _confirmed(reply: dict[str, Any]) -> bool:
    """Ask whether what was shown may go. Raises `CliError` where nobody can answer."""
    if not terminal.is_terminal(sys.stdin):
        raise CliError(
            "nobody can be asked, since the standard input is no terminal", "foveal decisions prune … --yes"
        )
    return click.confirm(f"Remove {terminal.count(reply['pruned'], 'decision')} for good?", err=True)


@click.command("edit", cls=Command, short_help="Change what a decision says.")
@click.argument("experience_id", metavar="ID")
@click.option("--decision", metavar="TEXT", help="What was decided.")
@click.option("--why", metavar="TEXT", help="The reason; an empty one takes it away.")
@click.option(
    "--file", "files", multiple=True, metavar="PATH", help="The files that it is about, all of them."
)
@click.option("--no-files", is_flag=True, help="It is about no file.")
@cwd_option
@json_option
@click.pass_context
def edit_command(
    context: click.Context,
    experience_id: str,
    decision: str | None,
    why: str | None,
    files: tuple[str, ...],
    no_files: bool,
    cwd: str | None,
    as_json: bool,
) -> None:
    """Change a decision by its ID; what isn't given stays as it is, and what it was can still be shown."""
    if files and no_files:
        raise click.UsageError("--file and --no-files exclude each other", context)
    folder = cwd or current_folder()
    folders = [folder] if cwd is None else [folder, current_folder()]
    changes: dict[str, Any] = {"decision": decision, "rationale": why}
    if files or no_files:
        changes["files_touched"] = [locate(path, folders) for path in files]
    _update(context, folder, experience_id, changes, as_json=as_json)


@click.command("mark", cls=Command, short_help="Say what came of a decision.")
@click.argument("experience_id", metavar="ID")
@click.option("--outcome", type=click.Choice(OUTCOMES), help="What came of it.")
@click.option("--error", metavar="TEXT", help="What went wrong, with --outcome failure.")
@click.option(
    "--trust", type=click.Choice(("normal", "low")), help="One of low trust is left out of contexts."
)
@cwd_option
@json_option
@click.pass_context
def mark_command(
    context: click.Context,
    experience_id: str,
    outcome: str | None,
    error: str | None,
    trust: str | None,
    cwd: str | None,
    as_json: bool,
) -> None:
    """Say of a decision, by its ID, what came of it, or how far it may be believed."""
    if error is not None and outcome != "failure":
        raise click.UsageError("--error says what went wrong: it goes with --outcome failure", context)
    changes: dict[str, Any] = {"trust": trust}
    if outcome is not None:
        kind = {"kind": "" if outcome == "none" else outcome}
        changes["outcome"] = kind if error is None else {**kind, "error": error}
    _update(context, cwd or current_folder(), experience_id, changes, as_json=as_json)


@click.command("delete", cls=Command, short_help="Delete a decision; it can be restored.")
@click.argument("experience_id", metavar="ID")
@cwd_option
@json_option
@click.pass_context
def delete_command(context: click.Context, experience_id: str, cwd: str | None, as_json: bool) -> None:
    """Delete a decision by its ID: it is in no context any more, and can be restored until it is pruned."""
    reply = _call(context, "DeleteExperience", cwd or current_folder(), experience_id)
    if as_json:
        terminal.say_json(reply)
    else:
        found = reply["experience"]["experience_id"]
        terminal.say(terminal.clean(f"{'deleted' if reply['deleted'] else 'deleted already'}: {found}"))


@click.command("restore", cls=Command, short_help="Bring a deleted decision back.")
@click.argument("experience_id", metavar="ID")
@cwd_option
@json_option
@click.pass_context
def restore_command(context: click.Context, experience_id: str, cwd: str | None, as_json: bool) -> None:
    """Bring back a decision that was deleted, by its ID."""
    reply = _call(context, "RestoreExperience", cwd or current_folder(), experience_id)
    if as_json:
        terminal.say_json(reply)
    else:
        found = reply["experience"]["experience_id"]
        terminal.say(terminal.clean(f"{'restored' if reply['restored'] else 'it was not deleted'}: {found}"))


def _update(
    context: click.Context, folder: str, experience_id: str, changes: dict[str, Any], *, as_json: bool
) -> None:
    given = {name: value for name, value in changes.items() if value is not None}
    if not given:
        raise click.UsageError("nothing is changed: say what, see --help", context)
    reply = _call(context, "UpdateExperience", folder, experience_id, given)
    if as_json:
        terminal.say_json(reply)
        return
    for line in describe(reply["experience"]):
        terminal.say(line)


def _call(
    context: click.Context, method: str, folder: str, experience_id: str, more: dict[str, Any] | None = None
) -> Any:
    params = {"cwd": folder, "experience_id": experience_id, **(more or {})}
    with connect(settings_of(context)) as client, hint_if_unknown("foveal decisions"):
        return client.call(method, params, CALL_TIMEOUT_S)
