"""Owns `foveal decisions prune`: what would go is shown first, and goes for good when a person agrees."""

from __future__ import annotations

import sys
from typing import Any

import click

from . import terminal
from .command import Command, current_folder, cwd_option, json_option, settings_of
from .connect import CALL_TIMEOUT_S, connect
from .decision_text import describe
from .errors import CliError

OUTCOMES = ("success", "failure", "reverted", "none")
EXAMPLES = (
    "foveal decisions prune --older-than 365 --outcome success",
    "foveal decisions prune --irrelevant --dry-run",
    "foveal decisions prune --keep 0 --yes      # all of them",
)


@click.command("prune", cls=Command, short_help="Remove decisions for good.", examples=EXAMPLES)
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
