"""What changed between two contexts is told by slice and by line, and a huge one doesn't take for ever."""

from __future__ import annotations

import pytest
from foveal.dashboard.pages.difference import (
    LINES_MAX,
    SHOWN_MAX,
    WIDTH_MAX,
    by_kind,
    line_changes,
    slice_changes,
)

from tests.context_cases import context_map, slice_map


def test_slices_come_in_go_grow_shrink_and_say_something_else() -> None:
    before = context_map(
        [
            slice_map("focus:gone.py", 10),
            slice_map("focus:grows.py", 10),
            slice_map("focus:shrinks.py", 30),
            slice_map("focus:same.py", 5, span=[0, 4]),
            slice_map("focus:other.py", 5, span=[4, 8]),
        ],
        "sameold ",
    )
    after = context_map(
        [
            slice_map("focus:grows.py", 90),
            slice_map("focus:shrinks.py", 3),
            slice_map("focus:new.py", 7),
            slice_map("focus:same.py", 5, span=[0, 5]),
            slice_map("focus:other.py", 5, span=[5, 9]),
        ],
        "same\nnew ",
    )
    changes, same = slice_changes(before, after)
    assert [(change.change, change.row.path, change.tokens_before, change.tokens) for change in changes] == [
        ("new", "new.py", 0, 7),
        ("gone", "gone.py", 10, 0),
        ("grown", "grows.py", 10, 90),
        ("shrunk", "shrinks.py", 30, 3),
        ("rewritten", "other.py", 5, 5),
    ]
    assert same == 1
    assert by_kind(changes)[2].words == "shows more"


def test_changes_stand_by_kind_and_file_the_largest_first() -> None:
    before = context_map([slice_map("document:a.py#f", 9), slice_map("document:a.py#g", 8)])
    after = context_map(
        [slice_map("document:b.py#f", 5), *[slice_map(f"document:c.py#{n}", 3) for n in "fg"]]
    )
    found = [
        (kind.slices, kind.words, kind.where, [[one.row.symbol for one in some] for some in kind.files])
        for kind in by_kind(slice_changes(before, after)[0])
    ]
    assert found == [
        (3, "came in", "in 2 files", [["f", "g"], ["f"]]),
        (2, "are gone", "in 1 file", [["f", "g"]]),
    ]


def test_lines_are_told_with_those_around_them() -> None:
    before = "\n".join(f"line {number}" for number in range(20))
    found = line_changes(before, before.replace("line 10\n", "line ten\n"))
    assert list(found.lines) == [
        ("where", "@@ -8,7 +8,7 @@"),
        *[("same", f"line {number}") for number in (7, 8, 9)],
        ("gone", "line 10"),
        ("added", "line ten"),
        *[("same", f"line {number}") for number in (11, 12, 13)],
    ]
    assert (found.added, found.gone, found.left_out, found.problem) == (1, 1, 0, "")
    assert line_changes(before, before).lines == ()


@pytest.mark.parametrize("width", [1, WIDTH_MAX * 2])
def test_only_so_much_is_shown_and_the_rest_is_counted(width: int) -> None:
    found = line_changes("", "\n".join(f"{number:05}" + "x" * width for number in range(SHOWN_MAX + 100)))
    assert found.added == SHOWN_MAX + 100
    assert len(found.lines) + found.left_out == SHOWN_MAX + 101
    assert found.left_out > 0
    assert max(len(text) for _, text in found.lines) < WIDTH_MAX


def test_texts_of_too_many_lines_are_not_compared() -> None:
    assert "more than 20,000 lines" in line_changes("", "x\n" * (LINES_MAX + 1)).problem
