"""The command `foveal decide`: notes a decision."""

from __future__ import annotations

import os
from typing import Any

from ..ipc.errors import INVALID_PARAMS, NOT_FOUND
from .command import Reply, Run, show_command, warnings
from .errors import CliError
from .options import CWD, argument, choice, flag, option
from .text import short_path

OUTCOMES = ("success", "failure", "reverted")
SESSION = "command-line"
"""The default session of decisions that a person notes."""

ALLOW_MISSING = flag("--allow-missing", "Take a --file that isn't there, such as one that was deleted.")
ERROR = option("--error", "TEXT", "What went wrong, with --outcome failure.")


def outcome_of(run: Run) -> dict[str, str] | None:
    """Return the outcome that was named. Raises `UsageError` for an --error of no failure."""
    if run.error is not None and run.outcome != "failure":
        raise run.usage("--error says what went wrong: it goes with --outcome failure")
    if run.outcome is None:
        return None
    kind = {"kind": "" if run.outcome == "none" else run.outcome}
    return kind if run.error is None else {**kind, "error": run.error}


def located_files(run: Run) -> list[str]:
    """Return --file as the daemon takes it. Raises `CliError` for one that isn't there."""
    found = [run.locate(path) for path in run.files]
    if found and not run.allow_missing:
        root = run.ask("OpenProject", cwd=run.folder)["root"]
        for typed, path in zip(run.files, found, strict=True):
            if not os.path.lexists(os.path.join(root, path)):
                places = dict.fromkeys(map(short_path, (run.folder, root)))
                where = "" if os.path.isabs(typed) else f" in {' or '.join(places)}"
                raise CliError(
                    f"there is no {typed}{where}",
                    "look at its name; --allow-missing takes a file that was deleted",
                    NOT_FOUND,
                )
    return found


def login_name() -> str:
    """Return the login name, or the user id of a user without a name."""
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return f"uid-{os.getuid()}"


def _experience(run: Run) -> dict[str, Any]:
    """Return the parameters of GraftExperience."""
    noted = {
        "decision": run.decision,
        "agent_id": run.agent or login_name(),
        "session_id": run.session,
        "rationale": run.why,
        "outcome": outcome_of(run),
        "files_touched": located_files(run),
    }
    experience = {name: value for name, value in noted.items() if value is not None}
    return {"cwd": run.folder, "experience": experience}


def _check_noted(reply: Reply, run: Run) -> None:
    """Raise `CliError` for a decision that was left out."""
    for skipped in reply["skipped"]:
        raise CliError(f"the decision was not noted: {skipped['reason']}", code=INVALID_PARAMS)


@show_command(
    "GraftExperience",
    "Note a decision.",
    argument("decision"),
    option("--why", "TEXT", "The reason."),
    option("--file files", "PATH", "A file that it is about.", multiple=True),
    ALLOW_MISSING,
    option("--agent", "NAME", "Who decided [default: your login name]."),
    option("--session", "ID", "In which session.", default=SESSION, show_default=True),
    choice("--outcome", OUTCOMES, "What came of it."),
    ERROR,
    CWD,
    sends=_experience,
    check=_check_noted,
)
def decide_command(reply: Reply, run: Run) -> list[str]:
    """Note a DECISION, so that later contexts about the same files show it.

    For example:

        foveal decide "tokens expire after an hour" --why "audit finding 7" --file src/auth.py
    """
    noted = "already noted earlier" if reply["duplicates"] else f"noted: {reply['experience_ids'][0]}"
    return [*warnings(reply), noted]
