"""Times are local where a person types or reads them without a zone, and UTC for programs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import click
import pytest
from foveal.cli.app import foveal
from foveal.cli.hooks import describe_facts
from foveal.cli.text import local_time
from foveal.cli.watch import to_line

from tests.cli.test_every_command import commands


@pytest.fixture(autouse=True)
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "XYZ-02")
        time.tzset()
        yield
    time.tzset()


def test_shown_times() -> None:
    assert local_time("2026-01-31T23:30:59.125Z") == "2026-02-01 01:30"
    assert local_time("yesterday\x1b[2J") == "yesterday\\x1b[2J"
    assert local_time("") == ""
    line = to_line({"at": "2026-01-31T23:30:59.125Z", "topic": "items.changed", "data": {"project": "/p"}})
    assert line.split() == ["01:30:59.125", "items.changed", "project=/p"]
    facts = {"version": "1", "reads": None, "last_event": "Stop", "last_event_at": "2026-01-31T23:30:59.125Z"}
    assert list(describe_facts("cursor", facts))[-1] == "    last event: Stop at 2026-02-01 01:30"


TIMES = [
    (name, option)
    for name, command in commands(foveal)
    for parameter in command.params
    if isinstance(parameter, click.Option) and parameter.make_metavar(click.Context(command)) == "TIME"
    for option in parameter.opts
]
"""Every option that takes a time, with its command."""


@pytest.mark.parametrize(("name", "option"), TIMES)
def test_every_time_is_read_alike(name: str, option: str) -> None:
    command = dict(commands(foveal))[name]

    def read(written: str) -> str:
        words = ["x"] if name == "query" else []
        context = command.make_context(name, [*words, option, written])
        [value] = [
            context.params[parameter.name]
            for parameter in command.params
            if option in parameter.opts and parameter.name
        ]
        assert isinstance(value, str)
        return value

    assert read("2026-01-31") == "2026-01-30T22:00:00Z"
    assert read("2026-01-31T12:00") == "2026-01-31T10:00:00Z"
    assert read("2026-01-31T12:00Z") == read("2026-01-31T13:00+01:00") == "2026-01-31T12:00:00Z"
    ago = datetime.now(UTC) - datetime.fromisoformat(read("3h"))
    assert abs(ago - timedelta(hours=3)) < timedelta(minutes=1)
    with pytest.raises(click.BadParameter, match="3 fortnights is no time") as raised:
        read("3 fortnights")
    assert raised.value.param is not None
    assert option in raised.value.param.opts
