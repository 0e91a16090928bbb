"""Owns `foveal watch`: the daemon's events as they come."""

from __future__ import annotations

import json
from typing import Any

import click

from . import terminal
from .command import Command, json_option, settings_of
from .connect import CALL_TIMEOUT_S, connect
from .errors import CliError

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


@click.command("watch", cls=Command, short_help="Print events as they come.")
@click.argument("topics", nargs=-1, type=click.Choice(TOPICS), metavar="[TOPIC]...")
@json_option
@click.pass_context
def watch_command(context: click.Context, topics: tuple[str, ...], as_json: bool) -> None:
    """Print the daemon's events as they come, all of them or those of each TOPIC, until Ctrl-C.

    Topics: context.built, context.changed, context.resumed, experience.changed, experience.grafted,
    index.progress, items.changed, project.changed, scope.changed, scope.created, scope.released,
    session.changed.
    """
    with connect(settings_of(context)) as client:
        client.call("Subscribe", {"topics": list(topics or TOPICS)}, CALL_TIMEOUT_S)
        terminal.note("waiting for events; Ctrl-C ends it")
        for event in client.events():
            terminal.say(json.dumps(event, ensure_ascii=False) if as_json else to_line(event))
            terminal.flush()
    raise CliError("the daemon ended", "foveal logs")


def to_line(event: dict[str, Any]) -> str:
    """Return an event as one line: time in UTC, topic, and its data as `name=value`."""
    data = " ".join(f"{name}={_value(value)}" for name, value in event["data"].items())
    return terminal.clean(f"{event.get('at', '')[11:23] or '            '}  {event['topic']:<18}  {data}")


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
