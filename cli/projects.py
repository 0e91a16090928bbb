"""The commands on projects: open, close, projects, reindex and forget."""

from __future__ import annotations

import os
from collections.abc import Iterator

from . import terminal
from .command import Reply, Run, command, show_command
from .connection import connect
from .options import DRY_RUN, FOLDER, YES, argument, flag, option
from .progress import call, reindex_and_wait, warn_if_wide
from .settings import absolute, current_folder, is_inside
from .status import PROJECTS
from .table import table
from .terminal import styled
from .text import clean, count, short_path, size


@show_command(
    "OpenProject",
    "Open a folder as a project.",
    argument("path"),
    sends=lambda run: {"path": absolute(run.path)},
)
def open_command(project: Reply, run: Run) -> Iterator[str]:
    """Open the folder PATH as a project and index it in the background.

    This is needed only for a folder that isn't recognised as a project's root: 'foveal context' opens the
    project that it is called in.

    For example:

        foveal open ~/src/notes
    """
    warn_if_wide(project["root"])
    yield f"open: {short_path(project['root'])} ({project['state']})"


def _closed(run: Run) -> str:
    return os.path.normpath(absolute(run.path))


@show_command(
    "CloseProject",
    "Stop watching a project.",
    argument("path"),
    start=False,
    sends=lambda run: {"path": _closed(run)},
)
def close_command(reply: Reply, run: Run) -> Iterator[str]:
    """Close the project at PATH: it isn't watched any more. Its index and its decisions are kept.

    Starts no daemon; exits with 1 if none runs.

    For example:

        foveal close .
    """
    yield f"closed: {short_path(_closed(run))}"


@command(
    "List the open projects.",
    option("--cwd", "DIR", "Only the one that this folder belongs to.", type=FOLDER),
)
def projects_command(run: Run) -> None:
    """List the open projects. Starts no daemon; exits with 1 if none runs."""
    reply = run.ask("ListProjects", start=False)
    if run.cwd is not None:
        folder = os.path.realpath(absolute(run.cwd))
        for name in ("projects", "closed"):
            reply[name] = [project for project in reply[name] if is_inside(folder, project["root"])]
    run.show(reply, [table(PROJECTS, reply["projects"]) if reply["projects"] else "no project is open"])


@command(
    "Compare a project with the disk again.",
    argument("path", required=False),
    flag("--full", "Read every file again, not only those that changed."),
)
def reindex_command(run: Run) -> None:
    """Compare the project at PATH (default: this folder) with the disk, and wait until it is indexed.

    The daemon does this automatically when a file changes. Use this command if you doubt that it did.

    For example:

        foveal reindex
        foveal reindex ~/src/shop --full
    """
    folder = current_folder() if run.path is None else absolute(run.path)
    with connect(run.settings) as client:
        line = reindex_and_wait(client, folder, full=run.full)
        projects = call(client, "ListProjects")["projects"] if run.as_json else ()
    root = os.path.realpath(folder)
    run.show(next((project for project in projects if project["root"] == root), None), [line])


@command(
    "Delete all that foveal knows of a project.",
    argument("project", required=False, type=FOLDER),
    YES,
    DRY_RUN,
)
def forget_command(run: Run) -> None:
    """Show what foveal knows of PROJECT (default: this folder's), ask, and delete it for good: its index,
    sessions, requests, contexts, and decisions. The project's own files stay as they are.

    The work trees of a repository have their decisions in common: those stay until the last one is forgotten.

    For example:

        foveal forget               # shows what goes of this project, and asks
        foveal forget ~/old/shop --dry-run
    """
    asks = not (run.yes or run.dry_run)
    run.check_can_ask(asks=asks)
    path = current_folder() if run.project is None else os.path.normpath(absolute(run.project))
    reply = run.ask("ForgetProject", "foveal projects", path=path, dry_run=True)
    for line in describe_removed(reply):
        run.say(line)
    if not run.dry_run and any(reply["removed"].values()):
        if asks:
            run.confirm("Delete all of this for good?", "nothing was deleted")
        reply = run.ask("ForgetProject", "foveal projects", path=path)
        run.say(f"forgotten: {short_path(reply['root'])}")
    if run.as_json:
        terminal.say_json(reply)
    elif reply["problem"]:
        terminal.flush()
        terminal.note(reply["problem"])


def describe_removed(reply: Reply) -> Iterator[str]:
    """Yield the lines about what goes with a project."""
    shown = short_path(reply["root"])
    removed = {name: amount for name, amount in reply["removed"].items() if amount}
    if not removed:
        yield f"foveal knows nothing of {shown}"
        return
    yield f"{styled(shown, bold=True)}: this would go for good"
    for name, amount in removed.items():
        what, _, unit = name.rpartition("_")
        if unit == "bytes":
            yield f"  {what.replace('_', ' ') or 'state'}: {size(amount)}"
        else:
            noun = "trusted file" if name == "trusted" else name.removesuffix("s").replace("_", " ")
            yield f"  {count(amount, noun)}"
    if reply.get("kept"):
        yield clean(f"{reply['kept']}.")
    yield "The files of the project stay as they are."
