"""The quarantine keeps each line that can't be read once, and shows the last ones."""

from __future__ import annotations

import errno
import json
import os
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest
from foveal.daemon.core.errors import StateError
from foveal.daemon.core.system import System
from foveal.daemon.memory.lines import Damage, PoolLine, Quarantine, Quarantined

AT = "2025-01-01T00:00:00.000Z"


class Failing(System):
    """A disk that from some moment on refuses to make anything durable."""

    fails = False

    def now(self) -> datetime:
        return datetime(2025, 1, 1, tzinfo=UTC)

    def fsync(self, descriptor: int) -> None:
        if self.fails:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        super().fsync(descriptor)


def damage(*data: bytes, file: str = "x.jsonl") -> list[Damage]:
    return [
        Damage(number, PoolLine(0, len(one), one, complete=True), "r", file)
        for number, one in enumerate(data)
    ]


def test_damage_is_copied_once_and_swallows_nothing(tmp_path: Path) -> None:
    path = tmp_path / "quarantine"
    path.write_bytes(b'{"digest":"12')
    system = Failing()
    for quarantine in (Quarantine(str(path), system), Quarantine(str(path), system)):
        quarantine.keep(damage(b"a", b"b", b"a"))
    lines = path.read_bytes().splitlines()
    assert lines[0] == b'{"digest":"12'
    assert [(json.loads(one)["text"], json.loads(one)["line"]) for one in lines[1:]] == [("a", 0), ("b", 1)]
    assert {json.loads(one)["at"] for one in lines[1:]} == {AT}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    system.fails = True
    with pytest.raises(StateError, match="Input/output error"):
        Quarantine(str(path), system).keep(damage(b"a"))
    path.unlink()
    path.mkdir()
    with pytest.raises(StateError, match="quarantine"):
        Quarantine(str(path), System()).keep(damage(b"a"))


def test_the_last_ones_are_listed(tmp_path: Path) -> None:
    path = tmp_path / "quarantine"
    quarantine = Quarantine(str(path), Failing())
    assert quarantine.listed(5) == ((), 0)
    quarantine.keep(damage(b"<<<<<<< HEAD\n", b"\xff\xfe", b"t" * 5_000, file="experiences.2.jsonl"))
    path.write_bytes(path.read_bytes() + b'garbage\n[]\n{"at":"x"}\n{"digest":"12')
    found, total = quarantine.listed(2)
    assert total == 3
    assert found == (
        Quarantined(AT, "experiences.2.jsonl", 2, 5_000, "r", "t" * 2_000),
        Quarantined(AT, "experiences.2.jsonl", 1, 2, "r", "\\xff\\xfe"),
    )
    assert quarantine.listed(5)[0][-1].text == "<<<<<<< HEAD\n"
    assert quarantine.listed(0) == ((), 3)
