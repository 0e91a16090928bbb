"""A tail grows and shrinks without changing for those who read an older one."""

from __future__ import annotations

import numpy as np
from foveal.daemon.embedding.exact import as_ids
from foveal.daemon.embedding.vector_state import Tail, empty_tail
from hypothesis import given
from hypothesis import strategies as st


def rows(ids: list[int]) -> np.ndarray:
    return np.array(ids, dtype=np.float32).reshape(-1, 1)


def content(tail: Tail) -> list[tuple[int, float]]:
    return [(number, float(row[0])) for number, row in zip(tail.ids.tolist(), tail.matrix, strict=True)]


@given(st.lists(st.tuples(st.booleans(), st.lists(st.integers(0, 40), max_size=8)), max_size=30))
def test_each_tail_stays_what_it_was(changes: list[tuple[bool, list[int]]]) -> None:
    tail, expected = empty_tail(1), list[int]()
    past = []
    for appends, ids in changes:
        if appends:
            new = [number for number in dict.fromkeys(ids) if number not in expected]
            tail = tail.appended(as_ids(new), rows(new))
            expected = expected + new
        else:
            tail = tail.without(as_ids(sorted(set(ids))))
            expected = [number for number in expected if number not in ids]
        past.append((tail, expected))
    for older, held in past:
        assert content(older) == [(number, float(number)) for number in held]
        assert len(older) == len(held)
        assert older.contains(as_ids(range(41))).tolist() == [number in held for number in range(41)]
        even = as_ids(range(0, 41, 2))
        assert older.ids[older.rows_in(even)].tolist() == [number for number in held if number % 2 == 0]


def test_nothing_is_copied_where_nothing_changes() -> None:
    tail = empty_tail(1).appended(as_ids([1]), rows([1]))
    assert tail.without(as_ids([2])) is tail
    room = tail.appended(as_ids([2]), rows([2]))
    assert np.shares_memory(tail.matrix, room.matrix)
