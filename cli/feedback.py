"""The command `foveal feedback`, which says where to see what was of use."""

from __future__ import annotations

from .command import Run, command
from .options import CWD, flag


@command("Say where to see what was of use.", flag("--clear", "Does nothing: no such weights are kept."), CWD)
def feedback_command(run: Run) -> None:
    """Say where to see which files and items were of use: nothing weighs more for it in contexts."""
    reply = run.ask("ClearFeedback" if run.clear else "GetFeedback", cwd=run.folder)
    run.show(reply, ["nothing weighs more because it was of use; see: foveal usage, foveal items usage"])
