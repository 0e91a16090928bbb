"""The command `foveal feedback`: which files and items proved useful."""

from __future__ import annotations

from . import terminal
from .command import Reply, Run, command
from .options import CWD, flag
from .table import number, path, table
from .text import count

SHOWN_MAX = 30


def _name(boost: Reply) -> str:
    if "path" in boost:
        return str(boost["path"])
    return " ".join(str(boost[name]) for name in ("type", "server_name", "name") if name in boost)


COLUMNS = (path("FILE OR ITEM", _name), number("WEIGHT", lambda boost: f"x{boost['boost']:.2f}"))


@command("Show which files and items proved useful.", flag("--clear", "Forget all of it."), CWD)
def feedback_command(run: Run) -> None:
    """Show which files and items of this project weigh more in contexts because they proved useful.

    Useful is what was edited, decided about or referred to after a context showed it. The weight fades as
    other things prove useful. context.feedback = false switches this off.
    """
    reply = run.ask("ClearFeedback" if run.clear else "GetFeedback", cwd=run.folder)
    if run.as_json:
        terminal.say_json(reply)
        return
    if run.clear:
        terminal.say(f"forgotten: {count(reply['cleared'], 'file or item')}")
        return
    boosts = reply["boosts"]
    if not reply["enabled"]:
        terminal.note("feedback is switched off here: context.feedback = false")
    terminal.say(table(COLUMNS, boosts[:SHOWN_MAX]) if boosts else "no file or item stands out yet")
    if len(boosts) > SHOWN_MAX:
        terminal.note(f"{len(boosts) - SHOWN_MAX:,} more: --json shows all")
