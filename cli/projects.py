"""Owns the commands on projects: open, close, projects, reindex."""

from __future__ import annotations

import os

import click

from . import terminal
from .command import Command, absolute, current_folder, json_option, settings_of
from .connect import CALL_TIMEOUT_S, connect
from .status import projects_table


@click.command("open", cls=Command, short_help="Open a folder as a project.")
@click.argument("path")
@json_option
@click.pass_context
def open_command(context: click.Context, path: str, as_json: bool) -> None:
    """Open the folder PATH as a project and index it in the background.

    This is needed only for a folder that isn't recognised as a project's root: 'foveal context' opens the
    project that it is called in.
    """
    with connect(settings_of(context)) as client:
        project = client.call("OpenProject", {"path": absolute(path)}, CALL_TIMEOUT_S)
    if as_json:
        terminal.say_json(project)
    else:
        terminal.say(f"open: {terminal.short_path(project['root'])} ({project['state']})")


@click.command("close", cls=Command, short_help="Stop watching a project.")
@click.argument("path")
@json_option
@click.pass_context
def close_command(context: click.Context, path: str, as_json: bool) -> None:
    """Close the project at PATH: it isn't watched any more. Its index and its decisions are kept."""
    with connect(settings_of(context)) as client:
        reply = client.call("CloseProject", {"path": absolute(path)}, CALL_TIMEOUT_S)
    if as_json:
        terminal.say_json(reply)
    else:
        terminal.say(f"closed: {terminal.short_path(os.path.abspath(path))}")


@click.command("projects", cls=Command, short_help="List the open projects.")
@json_option
@click.pass_context
def projects_command(context: click.Context, as_json: bool) -> None:
    """List the open projects."""
    with connect(settings_of(context)) as client:
        reply = client.call("ListProjects", timeout=CALL_TIMEOUT_S)
    if as_json:
        terminal.say_json(reply)
    elif reply["projects"]:
        terminal.say(projects_table(reply["projects"]))
    else:
        terminal.say("no project is open")


@click.command("reindex", cls=Command, short_help="Compare a project with the disk again.")
@click.argument("path", required=False)
@click.option("--full", is_flag=True, help="Read every file again, not only those that changed.")
@json_option
@click.pass_context
def reindex_command(context: click.Context, path: str | None, full: bool, as_json: bool) -> None:
    """Compare the project at PATH (default: this folder) with the disk, and wait until it is indexed.

    The daemon does that by itself whenever a file changes; this is for when you don't trust it.
    """
    from .progress import reindex_and_wait

    folder = current_folder() if path is None else absolute(path)
    with connect(settings_of(context)) as client:
        line = reindex_and_wait(client, folder, full=full)
        if not as_json:
            terminal.say(line)
            return
        projects = client.call("ListProjects", timeout=CALL_TIMEOUT_S)["projects"]
    root = os.path.realpath(folder)
    terminal.say_json(next((project for project in projects if project["root"] == root), None))
