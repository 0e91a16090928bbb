"""What remains of a budget is shared: by types, by weights, the small ones first; what can be shown whole is.

What holds for any slices is in test_budget_properties.py.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from foveal.daemon.context.selection import (
    GROWTH_POWER,
    NOTHING,
    Cost,
    Form,
    Limits,
    Selection,
    Slice,
    SliceType,
    fixed,
)
from foveal.daemon.context.selection import select as select_counted
from foveal.daemon.context.tokens import ESTIMATE
from msgspec.structs import replace


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


def slice_of(
    name: str, text: str, least: int = 10, *, type_: SliceType = "focus", weight: float = 0.5, step: int = 1
) -> Slice:
    smallest, grow = growing(text, least, step)
    return Slice(name, type_, "focus", weight, (0,), smallest, grow, len(text))


def test_one_huge_slice_leaves_room_for_other_types_first() -> None:
    rule = slice_of("rule", "r" * 100_000, type_="rule", weight=1.0)
    skeleton = slice_of("skeleton", "s" * 400, type_="skeleton", weight=0.4)
    selection = select([rule, skeleton], Limits(1_000, 100_000))
    chosen = {one.id: form for one, form in selection.chosen}
    assert not chosen["skeleton"].compressed
    assert selection.costs["rule"].tokens >= 890


def test_slices_of_one_type_share_and_small_ones_are_whole() -> None:
    given_slices = [slice_of(f"f{size}", "x" * size) for size in (40, 4_000, 4_400)]
    selection = select(given_slices, Limits(1_000, 100_000))
    assert not next(form for one, form in selection.chosen if one.id == "f40").compressed
    assert abs(selection.costs["f4000"].tokens - selection.costs["f4400"].tokens) <= 2


def test_the_heavier_of_two_gets_more() -> None:
    heavy, light = slice_of("heavy", "x" * 8_000, weight=0.9), slice_of("light", "x" * 8_000, weight=0.3)
    costs = select([light, heavy], Limits(1_000, 100_000)).costs
    assert costs["heavy"].tokens / costs["light"].tokens == pytest.approx(3**GROWTH_POWER, rel=0.1)


def test_what_is_required_comes_before_what_is_heavier() -> None:
    required = replace(slice_of("required", "x" * 400, weight=0.1), required=True)
    heavy = slice_of("heavy", "x" * 400, weight=1.0)
    selection = select([heavy, required], Limits(4, 1_000))
    assert [one.id for one, _ in selection.chosen] == ["required"]
    assert [(one.slice.id, one.reason) for one in selection.dropped] == [("heavy", "budget")]


def test_a_bulky_smallest_form_stands_behind_all_others() -> None:
    bulky = slice_of("bulky", "x" * 4_000, least=800, weight=1.0)
    light = slice_of("light", "x" * 400, weight=0.1)
    assert [one.id for one, _ in select([bulky, light], Limits(150, 1_000)).chosen] == ["light"]


def test_what_is_withheld_lets_nothing_grow_and_keeps_nothing_out() -> None:
    given_slices = [slice_of(name, "x" * 4_000) for name in "abc"]
    all_of_it = select(given_slices, Limits(500, 10_000))
    part = select(given_slices, Limits(500, 10_000), withheld=Cost(100, 0))
    assert len(part.chosen) == len(all_of_it.chosen) == 3
    assert sum(cost.tokens for cost in part.costs.values()) <= 400
    assert sum(cost.tokens for cost in all_of_it.costs.values()) > 490


def test_a_tiny_text_is_shown_whole_though_its_summary_is_no_shorter() -> None:
    tiny = slice_of("tiny", "x = 1", least=40)
    ((_, form),) = select([tiny], Limits(10, 100)).chosen
    assert form.text == "x = 1"


def test_a_text_of_wide_characters_grows_up_to_the_bytes_there_are() -> None:
    wide = slice_of("wide", "漢" * 60_000)
    costs = select([wide], Limits(10_000_000, 100_000)).costs
    assert 99_000 < costs["wide"].bytes <= 100_000


def test_a_slice_enters_once_though_it_is_given_twice() -> None:
    twice = [slice_of("same", "x" * 100, weight=0.4), slice_of("same", "y" * 100, weight=0.9)]
    selection = select(twice, Limits(1_000, 10_000))
    assert [form.text[0] for _, form in selection.chosen] == ["y"]
    assert [(one.slice.weight, one.reason) for one in selection.dropped] == [(0.4, "duplicate")]


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


def test_a_fixed_form_never_grows() -> None:
    form, grow, full = fixed(Form("abc"))
    assert grow(0) is grow(1_000) is form
    assert full == 3
