"""Pieces are the text again; texts that differ in one place share the other pieces; no piece is too large."""

from __future__ import annotations

import random

from foveal.daemon.ledger.pieces import MAX_PIECE_BYTES, MIN_PIECE_BYTES, digest_of, pieces
from hypothesis import given, settings
from hypothesis import strategies as st

LINES = st.lists(st.binary(max_size=200), max_size=60).map(b"\n".join)


def text(seed: int, lines: int = 1_000) -> bytes:
    numbers = random.Random(seed)
    return b"".join(b"line %d of it\n" % numbers.randrange(10**9) for _ in range(lines))


@settings(deadline=None)
@given(LINES, st.integers(1, 2_000))
def test_pieces_are_the_text_again(data: bytes, times: int) -> None:
    data = (data * times)[: 4 * MAX_PIECE_BYTES]
    cut = list(pieces(data))
    assert b"".join(cut) == data
    assert all(MIN_PIECE_BYTES <= len(one) <= MAX_PIECE_BYTES for one in cut[:-1])
    assert all(cut)


def test_a_change_in_the_middle_changes_few_pieces() -> None:
    before = text(1)
    for change in (b"", b"another line\n", b"x"):
        after = before[:9_000] + change + before[9_100:]
        old, new = set(pieces(before)), set(pieces(after))
        assert len(old) > 8
        assert len(new - old) <= 2


def test_what_stands_before_it_changes_few_pieces() -> None:
    context = text(2)
    assert len(set(pieces(b"You work on it.\n\n" + context)) - set(pieces(context))) <= 2


def test_a_text_without_lines_or_with_equal_ones_has_pieces_too() -> None:
    for data in (b"x" * 200_000, b"\n" * 200_000, b"same\n" * 50_000):
        assert len(list(pieces(data))) >= 3


def test_digests() -> None:
    assert digest_of(b"a") == digest_of(b"a") != digest_of(b"b")
    assert len(digest_of(b"")) == 16
