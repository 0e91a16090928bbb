"""The budget is never exceeded, in tokens or in bytes; a larger one loses no slice; the choice is the same
whenever it is made; what can be shown whole is."""

from __future__ import annotations

from collections.abc import Callable

from foveal.daemon.context.budget import SHARES, Limits, Selection, select
from foveal.daemon.context.slices import LAYERS, Form, Slice, SliceType
from hypothesis import given, settings
from hypothesis import strategies as st

TYPES: list[SliceType] = list(SHARES)


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


@st.composite
def slices(draw: st.DrawFn) -> list[Slice]:
    found = []
    for index in range(draw(st.integers(0, 12))):
        text = draw(st.sampled_from(["a", "é", "漢", "😀", "aé漢"])) * draw(st.integers(1, 300))
        smallest, grow = growing(text, draw(st.integers(1, 60)), draw(st.sampled_from([1, 7, 100])))
        found.append(
            Slice(
                id=f"s{index}",
                type=draw(st.sampled_from(TYPES)),
                layer=draw(st.sampled_from(LAYERS)),
                weight=draw(st.sampled_from([0.2, 0.4, 0.5, 0.95, 1.0])),
                order=(draw(st.integers(0, 3)), index),
                smallest=smallest,
                grow=grow,
                full_characters=len(text),
            )
        )
    return found


LIMITS = st.builds(Limits, st.integers(0, 500), st.integers(0, 3_000))


def cost(selection: Selection) -> tuple[int, int]:
    forms = [form for _, form in selection.chosen]
    return sum(form.tokens for form in forms), sum(form.bytes for form in forms)


@given(slices(), LIMITS)
@settings(max_examples=300)
def test_neither_limit_is_ever_exceeded(given_slices: list[Slice], limits: Limits) -> None:
    tokens, size = cost(select(given_slices, limits))
    assert tokens <= limits.tokens
    assert size <= limits.bytes


@given(slices(), LIMITS, st.integers(0, 300), st.integers(0, 2_000))
def test_a_larger_budget_never_loses_a_slice(
    given_slices: list[Slice], limits: Limits, more_tokens: int, more_bytes: int
) -> None:
    less = select(given_slices, limits)
    more = select(given_slices, Limits(limits.tokens + more_tokens, limits.bytes + more_bytes))
    assert {one.id for one, _ in less.chosen} <= {one.id for one, _ in more.chosen}


@given(slices(), LIMITS, st.randoms(use_true_random=False))
def test_the_choice_depends_on_nothing_but_slices_and_limits(
    given_slices: list[Slice], limits: Limits, random: object
) -> None:
    first = select(given_slices, limits)
    assert select(given_slices, limits) == first
    shuffled = list(given_slices)
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis gives a random.Random
    again = select(shuffled, limits)
    assert {one.id: form for one, form in again.chosen} == {one.id: form for one, form in first.chosen}


@given(slices(), LIMITS)
def test_every_slice_is_chosen_or_dropped_in_the_order_given(
    given_slices: list[Slice], limits: Limits
) -> None:
    selection = select(given_slices, limits)
    chosen = [one.id for one, _ in selection.chosen]
    dropped = [one.id for one in selection.dropped]
    order = [one.id for one in given_slices]
    assert chosen == [name for name in order if name in chosen]
    assert dropped == [name for name in order if name not in chosen]


@given(slices(), LIMITS)
def test_nothing_is_dropped_while_its_smallest_form_would_have_fit(
    given_slices: list[Slice], limits: Limits
) -> None:
    selection = select(given_slices, limits)
    smallest = [one.smallest for one, _ in selection.chosen]
    tokens = limits.tokens - sum(form.tokens for form in smallest)
    size = limits.bytes - sum(form.bytes for form in smallest)
    heaviest = max((one.weight for one in selection.dropped), default=0.0)
    if selection.dropped:
        first = [one for one in selection.dropped if one.weight == heaviest]
        assert any(one.smallest.tokens > tokens or one.smallest.bytes > size for one in first)


@given(slices())
def test_with_room_for_everything_everything_is_whole(given_slices: list[Slice]) -> None:
    selection = select(given_slices, Limits(100_000, 1_000_000))
    assert not selection.dropped
    assert all(not form.compressed for _, form in selection.chosen)


def test_one_huge_slice_leaves_room_for_other_types_first() -> None:
    rule = slice_of("rule", "r" * 100_000, type_="rule", weight=1.0)
    skeleton = slice_of("skeleton", "s" * 400, type_="skeleton", weight=0.4)
    chosen = {one.id: form for one, form in select([rule, skeleton], Limits(1_000, 100_000)).chosen}
    assert not chosen["skeleton"].compressed
    assert chosen["rule"].tokens >= 890


def test_slices_of_one_type_share_and_small_ones_are_whole() -> None:
    given_slices = [slice_of(f"f{size}", "x" * size) for size in (40, 4_000, 4_400)]
    chosen = {one.id: form for one, form in select(given_slices, Limits(1_000, 100_000)).chosen}
    assert not chosen["f40"].compressed
    assert abs(chosen["f4000"].tokens - chosen["f4400"].tokens) <= 2


def test_a_tiny_text_is_shown_whole_though_its_summary_is_no_shorter() -> None:
    tiny = slice_of("tiny", "x = 1", least=40)
    ((_, form),) = select([tiny], Limits(10, 100)).chosen
    assert form.text == "x = 1"


def test_a_text_of_wide_characters_grows_up_to_the_bytes_there_are() -> None:
    wide = slice_of("wide", "漢" * 60_000)
    ((_, form),) = select([wide], Limits(10_000_000, 100_000)).chosen
    assert 99_000 < form.bytes <= 100_000


def test_a_slice_enters_once_though_it_is_given_twice() -> None:
    twice = [slice_of("same", "x" * 100, weight=0.4), slice_of("same", "y" * 100, weight=0.9)]
    selection = select(twice, Limits(1_000, 10_000))
    assert [form.text[0] for _, form in selection.chosen] == ["y"]
    assert not selection.dropped


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
