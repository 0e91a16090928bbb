"""Times read as on the user's clock, to the minute; what is no time is shown as it came, harmless."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from foveal.cli.terminal import local_time


@pytest.fixture(autouse=True)
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "XYZ-02")
        time.tzset()
        yield
    time.tzset()


def test_times() -> None:
    assert local_time("2026-01-31T23:30:59.125Z") == "2026-02-01 01:30"
    assert local_time("yesterday\x1b[2J") == "yesterday\\x1b[2J"
    assert local_time("") == ""
