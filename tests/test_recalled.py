"""A recalled request says what of it is gone or damaged, and gives the rest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from foveal.daemon.ledger.ledger_limits import forget_sent
from foveal.daemon.ledger.messages import Sent
from foveal.daemon.ledger.recalled import Recalled

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
        forget_sent(database, 1, "it was older than 30 days")
    problem = "What was sent is not kept any more: it was older than 30 days."
    assert recall(at) == Recalled(RECORD, None, problem)
    assert at.ledger.after(0, ("", ""))[0][1].problem == problem


def test_a_damaged_text(at: Opened) -> None:
    at.alter(
        "UPDATE piece_data SET data = X'00' WHERE id = (SELECT id FROM piece_data ORDER BY id LIMIT 1 OFFSET 2)"
    )
    found = recall(at)
    assert found.problem == "Not exact: damaged and left out: the user's message."
    assert isinstance(found.sent, Sent)
    assert (found.sent.user_prompt, found.sent.context) == ("", SENT.context)


def test_a_damaged_manifest(at: Opened) -> None:
    at.alter("UPDATE bodies SET manifest = X'00'")
    problem = "What was sent is lost: the list of its pieces is damaged."
    assert recall(at) == Recalled(RECORD, None, problem)
    assert at.ledger.after(0, ("", ""))[0][1].problem == problem


def test_a_damaged_record(at: Opened) -> None:
    at.usage.report("ses_a", "req_1", used=[STYLE])
    assert recall(at).referred == (STYLE,)
    at.alter("UPDATE bodies SET record = X'00'")
    found = recall(at)
    assert found.problem == "The record is damaged: its items and slices are lost."
    assert found.sent == SENT
    assert (found.record.id, found.record.tokens, found.record.items) == ("req_1", 52, ())
    assert found.referred == ()


def test_a_body_that_is_gone(at: Opened) -> None:
    at.alter("DELETE FROM bodies")
    assert recall(at).sent is None
    assert "damaged: its items" in recall(at).problem
    assert "What was sent is lost" in recall(at).problem
