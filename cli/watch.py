"""The command `foveal watch`: the daemon's events as they come."""

from __future__ import annotations

import json
import os

import click

from . import terminal
from .command import Reply, Run, command
from .connection import connect
from .errors import CliError
from .options import FOLDER, argument, option
from .progress import call
from .settings import absolute, is_inside
from .text import clean, local_time

TOPICS = (
    "context.built",
    "context.changed",
    "context.resumed",
    "experience.changed",
    "experience.grafted",
    "index.progress",
    "items.changed",
    "project.changed",
    "scope.changed",
    "scope.created",
    "scope.released",
    "session.changed",
)


@command(
    "Print events as they come.",
    argument("topics", "[TOPIC]...", nargs=-1, type=click.Choice(TOPICS)),
    option("--cwd", "DIR", "Only of the project that this folder belongs to.", type=FOLDER),
)
def watch_command(run: Run) -> None:
    """Print the daemon's events as they come, all of them or those of each TOPIC, until Ctrl-C.

    Topics: context.built, context.changed, context.resumed, experience.changed, experience.grafted,
    index.progress, items.changed, project.changed, scope.changed, scope.created, scope.released,
    session.changed.

    For example:

        foveal watch --cwd .
        foveal watch context.built --json | jq .data.tokens
    """
    with connect(run.settings) as client:
        call(client, "Subscribe", topics=list(run.topics or TOPICS))
        terminal.note("waiting for events; Ctrl-C ends it")
        folder = None if run.cwd is None else os.path.realpath(absolute(run.cwd))
        for event in client.events():
            project = event["data"].get("project")
            if folder is not None and not (project and is_inside(folder, project)):
                continue
            terminal.say(json.dumps(event, ensure_ascii=False) if run.as_json else to_line(event))
            terminal.flush()
    raise CliError("the daemon stopped, so no more events come", "foveal logs")


def to_line(event: Reply) -> str:
    """Return an event as one line: local time, topic, and its data as `name=value`."""
    values = {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in event["data"].items()
    }
    data = " ".join(f"{name}={value}" for name, value in values.items())
    at = local_time(event.get("at", ""), "%H:%M:%S.%f")[:12]
    return clean(f"{at:<12}  {event['topic']:<18}  {data}")
