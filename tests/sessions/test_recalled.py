"""A recalled request says what of it is gone or damaged, and gives the rest."""

from __future__ import annotations

import lzma
from collections.abc import Iterator
from pathlib import Path

import pytest
from foveal.daemon.sessions.request_log import Recalled
from foveal.daemon.sessions.stored_contents import LOST, forget, line_of

from tests.ledger_cases import STYLE, Opened, opened, record_of, sent_for

RECORD = record_of()
SENT = sent_for(RECORD)


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Opened]:
    with opened(tmp_path) as at:
        at.put(RECORD)
        yield at


def recall(at: Opened) -> Recalled:
    return at.ledger.get("ses_a", "req_1")


def test_whole(at: Opened) -> None:
    assert recall(at) == Recalled(RECORD, SENT)


def test_pruned(at: Opened) -> None:
    with at.file.writing() as database:
        forget(database, [1], "it was older than 30 days")
    problem = "What was sent is not kept any more: it was older than 30 days."
    assert recall(at) == Recalled(RECORD, None, problem)
    assert at.ledger.export().requests[0].problem == problem


@pytest.mark.parametrize("value", ["X'00'", "substr(data, 1, 100)", "zeroblob(40)", "'text'"])
def test_damaged_content(at: Opened, value: str) -> None:
    at.alter(f"UPDATE packs SET data = {value}")
    assert recall(at) == Recalled(RECORD, None, LOST)
    assert at.ledger.export(content=True).requests[0].problem == LOST


def test_one_bit_that_turned_is_met(at: Opened) -> None:
    with at.file.reading() as database:
        (data,) = database.execute("SELECT data FROM packs").fetchone()
    for place in range(0, len(data) - 1, 7):
        turned = data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :]
        at.alter("UPDATE packs SET data = ?", turned)
        assert recall(at).sent in (None, SENT)


def test_content_of_another_layout_is_said(at: Opened) -> None:
    line = line_of(SENT).replace(b"[1,", b"[99,", 1)
    at.alter("UPDATE packs SET data = ?", lzma.compress(b"1 " + line))
    assert recall(at).sent == SENT
    assert "another version" in recall(at).problem


def test_a_damaged_record(at: Opened) -> None:
    at.usage.report("ses_a", "req_1", used=[STYLE])
    assert recall(at).referred == (STYLE,)
    at.alter("UPDATE requests SET record = X'00'")
    found = recall(at)
    assert found.problem == "The record is damaged: its items and slices are lost."
    assert found.sent == SENT
    assert (found.record.id, found.record.tokens, found.record.items) == ("req_1", 52, ())
    assert found.referred == ()


def test_content_that_is_gone(at: Opened) -> None:
    at.alter("DELETE FROM packs")
    assert recall(at) == Recalled(RECORD, None, LOST)
