"""Owns `foveal feedback`: what turned out to be of use in a project, and forgetting it."""

from __future__ import annotations

from typing import Any

import click

from . import terminal
from .command import Command, current_folder, cwd_option, json_option, settings_of
from .connect import CALL_TIMEOUT_S, connect

SHOWN_MAX = 30


@click.command("feedback", cls=Command, short_help="What weighs more since it was of use.")
@click.option("--clear", is_flag=True, help="Forget all of it.")
@cwd_option
@json_option
@click.pass_context
def feedback_command(context: click.Context, clear: bool, cwd: str | None, as_json: bool) -> None:
    """Show which files and items of this project weigh more in contexts, since they were of use before.

    Of use is what was edited, decided about or referred to after a context showed it. It fades as other
    things are of use, and is switched off by context.feedback = false.
    """
    method = "ClearFeedback" if clear else "GetFeedback"
    with connect(settings_of(context)) as client:
        reply = client.call(method, {"cwd": cwd or current_folder()}, CALL_TIMEOUT_S)
    if as_json:
        terminal.say_json(reply)
        return
    if clear:
        terminal.say(f"forgotten: {terminal.count(reply['cleared'], 'file or item')}")
        return
    if not reply["enabled"]:
        terminal.note("it is switched off here: context.feedback = false")
    if not reply["boosts"]:
        terminal.say("nothing was of use more than anything else yet")
        return
    rows = [(terminal.clean(_name(one)), f"x{one['boost']:.2f}") for one in reply["boosts"][:SHOWN_MAX]]
    terminal.say(terminal.table(("FILE OR ITEM", "WEIGHT"), rows, right=(1,)))
    if len(reply["boosts"]) > SHOWN_MAX:
        terminal.note(f"{len(reply['boosts']) - SHOWN_MAX:,} more: --json shows all")


def _name(one: dict[str, Any]) -> str:
    if "path" in one:
        return str(one["path"])
    return " ".join(str(one[name]) for name in ("type", "server_name", "name") if name in one)
