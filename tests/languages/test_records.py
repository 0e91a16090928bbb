"""Each line belongs to the innermost definition around it, each definition to the one around that."""

from __future__ import annotations

import pytest
from foveal.daemon.languages.shared.records import Owners, Symbol


def owners(*lines: tuple[int, int]) -> Owners:
    return Owners([Symbol(f"s{start}", "function", start, end, "", "", 0) for start, end in lines])


@pytest.mark.parametrize(
    ("symbols", "innermost"),
    [
        ([], [-1, -1, -1]),
        ([(2, 2)], [-1, 0, -1]),
        ([(1, 3), (2, 2)], [0, 1, 0]),
        ([(1, 2), (3, 3)], [0, 0, 1]),
        ([(1, 3), (1, 3), (2, 2)], [1, 2, 1]),
        ([(1, 1), (1, 1), (3, 9)], [1, -1, 2]),
    ],
)
def test_a_line_belongs_to_the_innermost_around_it(
    symbols: list[tuple[int, int]], innermost: list[int]
) -> None:
    found = owners(*symbols)
    assert [found.around(line) for line in range(1, len(innermost) + 1)] == innermost


@pytest.mark.parametrize(
    ("symbols", "outer"),
    [
        ([(1, 9), (2, 5), (3, 3), (6, 7)], [-1, 0, 1, 0]),
        ([(1, 2), (3, 4)], [-1, -1]),
        ([(1, 3), (1, 3)], [-1, 0]),
    ],
)
def test_a_definition_lies_in_the_one_around_it(symbols: list[tuple[int, int]], outer: list[int]) -> None:
    found = owners(*symbols)
    assert [found.outer(index) for index in range(len(symbols))] == outer
