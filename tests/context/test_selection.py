"""What remains of a budget is shared: by types, by weights, the small ones first; what can be shown whole is.

What holds for any slices is in test_budget_properties.py.
"""

from __future__ import annotations

from collections.abc import Callable

from foveal.daemon.context.selection import (
    NOTHING,
    Cost,
    Form,
    Limits,
    Selection,
    Slice,
)
from foveal.daemon.context.selection import select as select_counted
from foveal.daemon.context.tokens import ESTIMATE


def select(slices: list[Slice], limits: Limits, withheld: Cost = NOTHING) -> Selection:
    return select_counted(slices, limits, ESTIMATE, withheld=withheld)


def growing(text: str, least: int, step: int = 1) -> tuple[Form, Callable[[int], Form]]:
    """Return a smallest form of so many characters, and a grow that gives more of the text by steps."""

    def grow(characters: int) -> Form:
        if characters >= len(text):
            return Form(text)
        length = max(characters // step * step, 0)
        return Form(text[:length], compressed=True) if length > least else Form("·" * least, compressed=True)

    return grow(0), grow


def test_slices_are_asked_to_grow_a_few_times_only() -> None:
    calls = 0

    def counting(grow: Callable[[int], Form]) -> Callable[[int], Form]:
        def counted(characters: int) -> Form:
            nonlocal calls
            calls += 1
            return grow(characters)

        return counted

    many = []
    for index in range(500):
        smallest, grow = growing("x" * (100 + index), 20)
        many.append(
            Slice(f"s{index}", "focus", "focus", 0.5, (index,), smallest, counting(grow), 100 + index)
        )
    selection = select(many, Limits(6_000, 100_000))
    assert len(selection.chosen) == 500
    assert calls <= 2 * 500
