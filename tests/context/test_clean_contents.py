"""A content that had nothing to mask is known again, by all of its digest, and the memory of it is bounded."""

from __future__ import annotations

from foveal.daemon.context.content import CleanContents


def test_a_content_is_known_for_the_length_that_was_looked_at() -> None:
    known = CleanContents()
    known.add((b"one", 100))
    assert (b"one", 100) in known
    assert (b"one", 200) not in known
    assert (b"two", 100) not in known
    assert None not in known


def test_all_are_forgotten_when_there_are_too_many() -> None:
    known = CleanContents(most=3)
    for number in range(10):
        known.add((bytes([number]), 1))
        assert (bytes([number]), 1) in known
        assert len(known) <= 3
