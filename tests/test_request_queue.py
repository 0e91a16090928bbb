"""Requests wait in their order, a bounded number of bytes; those lost are counted."""

from __future__ import annotations

from foveal.daemon.ledger.messages import Sent
from foveal.daemon.ledger.request_queue import RequestQueue

from tests.ledger_cases import record_of


def ids(queue: RequestQueue, session_id: str | None = None) -> list[str]:
    return [one.record.id for one in queue.all(session_id)]


def test_requests_wait_in_their_order() -> None:
    queue = RequestQueue()
    queue.add(record_of(1), Sent())
    queue.add(record_of(2, "ses_b"), Sent())
    queue.add(record_of(3), Sent())
    assert ids(queue) == ["req_1", "req_2", "req_3"]
    assert ids(queue, "ses_a") == ["req_1", "req_3"]
    found = queue.find("ses_b", "req_2")
    assert found is not None
    assert found.record == record_of(2, "ses_b")
    assert queue.find("ses_a", "req_2") is None
    assert queue.counts() == (3, 0)


def test_what_was_replaced_meanwhile_goes_on_waiting() -> None:
    queue = RequestQueue()
    queue.add(record_of(1), Sent())
    queue.add(record_of(2), Sent())
    taken = queue.all()
    queue.add(record_of(1), Sent("new"))
    queue.remove(taken)
    assert [one.sent for one in queue.all()] == [Sent("new")]


def test_those_that_waited_longest_are_lost_and_counted() -> None:
    queue = RequestQueue(max_bytes=20_000)
    for number in range(4):
        queue.add(record_of(number), Sent("x" * 4_000))
    assert ids(queue) == ["req_2", "req_3"]
    assert queue.counts() == (2, 2)
    queue.add(record_of(9), Sent("x" * 100_000))
    assert ids(queue) == ["req_9"]
    queue.lose(queue.all()[0])
    assert queue.counts() == (0, 5)
    queue.add(record_of(1), Sent("x" * 4_000))
    queue.add(record_of(2), Sent("x" * 4_000))
    assert ids(queue) == ["req_1", "req_2"]
