"""What the budget promises for any slices, with either counter: never too much, nothing lost to a larger one,
the same choice for the same slices, nothing dropped that would have had room, nothing in it twice."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import foveal
import pytest
from foveal.daemon.context.requests import ContextRequest
from foveal.daemon.context.scoping import ScopeSelector
from foveal.daemon.context.selection import (
    LAYERS,
    LEAST_TOKENS,
    SHARES,
    Form,
    Limits,
    Selection,
    Slice,
    SliceType,
    decided,
    fixed,
    select,
)
from foveal.daemon.context.tokens import ESTIMATE, TokenCounter
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine_cases import running_engine
from tests.properties import examples

TYPES: list[SliceType] = list(SHARES)
HEAVY = 0.4


class Words(TokenCounter):
    """Counts runs of characters: a counter for which the tokens of a text say little about its length."""

    name = "words"

    def count(self, text: str) -> int:
        return len(text.split())

    def characters(self, tokens: int) -> int:
        return tokens * 6


def counters() -> list[TokenCounter]:
    return [ESTIMATE, Words()]


COUNTERS = st.sampled_from(counters())
TEXTS = ["a", "é", "漢", "😀", "aé漢", "word ", "x = 1\n", "\n", "=-"]


def growing(text: str, least: str, step: int) -> tuple[Form, Callable[[int], Form]]:
    def grow(characters: int) -> Form:
        if characters >= len(text):
            return Form(text)
        length = max(characters // step * step, 0)
        return Form(text[:length], compressed=True) if length > len(least) else Form(least, compressed=True)

    return grow(0), grow


@st.composite
def slices(draw: st.DrawFn, *, bulky: bool = True, competing: bool = False) -> list[Slice]:
    """Return up to a dozen slices; what is required is never bulky, and the others only if asked for."""
    found = []
    for index in range(draw(st.integers(0, 12))):
        text = draw(st.sampled_from(TEXTS)) * draw(st.integers(1, 400))
        competes = draw(st.booleans()) if competing else False
        required = not competes and draw(st.booleans())
        least = "·" * draw(st.integers(1, 900 if bulky and not required else LEAST_TOKENS // 3))
        smallest, grow = growing(text, least, draw(st.sampled_from([1, 7, 100])))
        path = draw(st.sampled_from(["", "", "a.py", "b/c.py", f"{index}.py"]))
        found.append(
            Slice(
                id=draw(st.sampled_from([f"s{index}", f"s{index}", "same"])),
                type=draw(st.sampled_from(TYPES)),
                layer=draw(st.sampled_from(LAYERS)),
                weight=draw(st.sampled_from([0.0, 0.2, 0.4, 0.41, 0.95, 1.0])),
                order=(draw(st.integers(0, 3)), index),
                smallest=smallest,
                grow=grow,
                full_characters=len(text),
                path=path,
                required=required,
                lines=draw(st.sampled_from([None, None, (1, 9), (3, 5)])) if path else None,
                content=draw(st.sampled_from(["", "", "k1", "k2"])),
                competes=competes,
                frame=draw(st.sampled_from([None, ("### a\n", "```\n")])) if competes else None,
            )
        )
    return found


LIMITS = st.builds(Limits, st.integers(0, 1_200), st.integers(0, 6_000))


def ids(selection: Selection) -> set[str]:
    return {one.id for one, _ in selection.chosen}


def spent(selection: Selection, counter: TokenCounter) -> Limits:
    texts = [form.text for _, form in selection.chosen]
    return Limits(sum(map(counter.count, texts)), sum(len(text.encode()) for text in texts))


@given(slices(), LIMITS, COUNTERS)
@settings(max_examples=examples(1_200))
def test_neither_limit_is_ever_exceeded(given_: list[Slice], limits: Limits, counter: TokenCounter) -> None:
    selection = select(given_, limits, counter)
    cost = spent(selection, counter)
    assert cost.tokens <= limits.tokens
    assert cost.bytes <= limits.bytes
    assert cost.tokens == sum(one.tokens for one in selection.costs.values())
    assert cost.bytes == sum(one.bytes for one in selection.costs.values())


@given(slices(competing=True), LIMITS, COUNTERS)
@settings(max_examples=examples(200))
def test_what_competes_comes_last_with_its_frame_and_within_the_limits(
    given_: list[Slice], limits: Limits, counter: TokenCounter
) -> None:
    selection = select(given_, limits, counter)
    cost = spent(selection, counter)
    frames = {one.frame for one, _ in selection.chosen if one.frame}
    around = sum(counter.count("".join(frame)) for frame in frames)
    assert cost.tokens + around <= limits.tokens
    assert cost.bytes + sum(len("".join(frame)) for frame in frames) <= limits.bytes
    without = select([one for one in given_ if not one.competes], limits, counter)
    if not any(one.path or one.content or one.id == "same" for one in given_):
        assert ids(without) == {one.id for one, _ in selection.chosen if not one.competes}


@given(slices(), LIMITS, st.integers(0, 600), st.integers(0, 4_000), COUNTERS)
@settings(max_examples=examples(200))
def test_a_larger_budget_never_loses_a_slice(
    given_: list[Slice], limits: Limits, tokens: int, size: int, counter: TokenCounter
) -> None:
    less = select(given_, limits, counter)
    more = select(given_, Limits(limits.tokens + tokens, limits.bytes + size), counter)
    assert ids(less) <= ids(more)


@given(slices(), LIMITS, st.integers(), COUNTERS)
def test_the_choice_depends_on_nothing_but_slices_and_limits(
    given_: list[Slice], limits: Limits, seed: int, counter: TokenCounter
) -> None:
    first = select(given_, limits, counter)
    assert select(given_, limits, counter) == first
    shuffled = list(given_)
    random.Random(seed).shuffle(shuffled)
    again = select(shuffled, limits, counter)
    assert {(one.id, form) for one, form in again.chosen} == {(one.id, form) for one, form in first.chosen}
    assert sorted((one.slice.id, one.reason) for one in again.dropped) == sorted(
        (one.slice.id, one.reason) for one in first.dropped
    )


@given(slices(), LIMITS, COUNTERS)
@settings(max_examples=examples(200))
def test_nothing_heavy_is_dropped_while_it_could_have_been_compressed(
    given_: list[Slice], limits: Limits, counter: TokenCounter
) -> None:
    selection = select(given_, Limits(limits.tokens, 1_000_000), counter)
    admitted = sum(counter.count(one.smallest.text) for one, _ in selection.chosen)
    # The first that doesn't fit ends the choice, and those with a large smallest form come last.
    largest = max((counter.count(one.smallest.text) for one in given_), default=0)
    for one in selection.dropped:
        if one.reason == "budget" and one.slice.weight > HEAVY:
            assert limits.tokens - admitted < max(LEAST_TOKENS, largest)


@given(slices(competing=True), LIMITS, COUNTERS)
@settings(max_examples=examples(200))
def test_nothing_heavy_that_was_found_is_dropped_while_a_shorter_form_fits(
    given_: list[Slice], limits: Limits, counter: TokenCounter
) -> None:
    selection = select(given_, Limits(limits.tokens, 1_000_000), counter)
    if any(not one.slice.competes and one.reason == "budget" for one in selection.dropped):
        return  # what was asked for ends the choice
    frames = {one.frame for one, _ in selection.chosen if one.frame}
    around = sum(counter.count("".join(frame)) for frame in frames)
    left = limits.tokens - around - sum(one.tokens for one in selection.costs.values())
    shortest = [one.slice.grow(0) for one in selection.dropped if one.reason == "budget"]
    largest = max((counter.count(form.text) for form in shortest), default=0)
    for one, form in zip((one for one in selection.dropped if one.reason == "budget"), shortest, strict=True):
        if one.slice.weight > HEAVY and len(form.text) < len(one.slice.smallest.text):
            assert left < largest + counter.count("".join(one.slice.frame or ()))


def test_weights_of_what_was_asked_for_and_of_what_was_found_fall_in_the_order_of_entering() -> None:
    def piece(identifier: str, weight: float, **fields: Any) -> Slice:
        return Slice(identifier, "document", "focus", weight, (0,), *fixed(Form(identifier)), **fields)

    given_ = [
        piece("rule", 0.3, required=True),
        piece("asked", 0.2),
        piece("best", 1.0, competes=True),
        piece("next", 0.3, competes=True),
        piece("used", 0.9, competes=True, beside="next"),
        piece("second", 0.9, competes=True, tier=1),
        piece("third", 0.45, competes=True, tier=1),
        piece("last", 0.5, competes=True, tier=1_000),
    ]
    weights = {one.id: one.weight for one in decided(given_)}
    assert weights["rule"] == 1
    assert (weights["asked"], weights["best"], weights["next"], weights["used"]) == (0.2, 1.0, 0.3, 0.3)
    assert 0.3 >= weights["second"] > weights["third"] >= weights["last"] > 0


@given(slices(), LIMITS, COUNTERS)
def test_what_is_required_is_in_before_anything_else(
    given_: list[Slice], limits: Limits, counter: TokenCounter
) -> None:
    selection = select(given_, limits, counter)
    missed = [one.slice for one in selection.dropped if one.slice.required and one.reason == "budget"]
    if missed:
        assert all(one.required for one, _ in selection.chosen)


@given(slices(), LIMITS, COUNTERS)
def test_nothing_is_in_twice(given_: list[Slice], limits: Limits, counter: TokenCounter) -> None:
    chosen = [one for one, _ in select(given_, limits, counter).chosen]
    for keys in (
        [one.id for one in chosen],
        [(one.path, one.lines) for one in chosen if one.path],
        [one.content for one in chosen if one.content],
    ):
        assert len(keys) == len(set(keys))


@given(slices(), LIMITS, COUNTERS)
def test_every_slice_is_chosen_or_dropped_in_the_order_given(
    given_: list[Slice], limits: Limits, counter: TokenCounter
) -> None:
    selection = select(given_, limits, counter)
    chosen, dropped = [one for one, _ in selection.chosen], [one.slice for one in selection.dropped]
    assert len(chosen) + len(dropped) == len(given_)
    for found in (chosen, dropped):
        places = [next(place for place, one in enumerate(given_) if one is wanted) for wanted in found]
        assert places == sorted(places)


@given(slices(bulky=False), COUNTERS)
def test_with_room_for_everything_everything_is_whole(given_: list[Slice], counter: TokenCounter) -> None:
    selection = select(given_, Limits(1_000_000, 10_000_000), counter)
    assert all(one.reason == "duplicate" for one in selection.dropped)
    assert all(not form.compressed for _, form in selection.chosen)


@pytest.mark.parametrize("tokens", [0, 1, 99, 100, 101])
def test_with_nothing_to_choose_nothing_is_chosen(tokens: int) -> None:
    assert select([], Limits(tokens, tokens), ESTIMATE) == Selection((), {}, ())


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
        smallest, grow = growing("x" * (100 + index), "·" * 20, 1)
        many.append(
            Slice(f"s{index}", "focus", "focus", 0.5, (index,), smallest, counting(grow), 100 + index)
        )
    selection = select(many, Limits(6_000, 100_000), ESTIMATE)
    assert len(selection.chosen) == 500
    assert calls <= 2 * 500


def test_a_rule_is_not_asked_for_forms_longer_than_the_context() -> None:
    asked: list[int] = []

    def grow(characters: int) -> Form:
        asked.append(characters)
        return Form("x" * 1_000_000) if characters >= 1_000_000 else Form("·", compressed=True)

    rule = Slice("rule", "rule", "anchor", 1.0, (0,), Form("·", compressed=True), grow, 1_000_000)
    smallest, longer = growing("y" * 3_000, "·", 1)
    reference = Slice("other", "reference", "focus", 0.5, (1,), smallest, longer, 3_000)
    selection = select([rule, reference], Limits(1_000, 100_000), ESTIMATE)
    assert ids(selection) == {"rule", "other"}
    assert len(asked) < 30


FOLDERS = ("daemon/context", "ipc")
"""Folders of this package that are a real project of some 45 files."""

PROMPTS = (
    ("how is a context cut down to its budget, and what is dropped first?", ""),
    ("add a limit on the number of hits for each folder to the search", "daemon/context/selection.py"),
    ("render_markdown puts an empty line too many between two sections", ""),
)

BUDGETS = (*range(500, 3_000, 250), *range(3_000, 6_001, 1_000))


async def test_a_larger_budget_shows_whole_what_a_smaller_one_does(tmp_path: Path) -> None:
    """Contexts of a real project, with rules, found definitions and those that they use."""
    package = Path(foveal.__file__).parent
    files: dict[str, str | bytes] = {
        path.relative_to(package).as_posix(): path.read_bytes()
        for folder in FOLDERS
        for path in (package / folder).glob("*.py")
    }
    rules = "".join(f"## Part {part}\n\n{'Say it in plain words. ' * 20}\n\n" for part in range(9))
    async with running_engine(tmp_path, {**files, "AGENTS.md": rules}) as (engine, project):
        for prompt, focus in PROMPTS:
            selector = ScopeSelector(focus_paths=(focus,)) if focus else ScopeSelector()
            scope = await engine.scoping.scope_for(project, selector)
            whole: dict[str, int] = {}
            for budget in BUDGETS:
                request = ContextRequest(prompt=prompt, max_tokens=budget, reserve_tokens=0)
                reply = await engine.contexts.get(project, scope, request, "shown", 60_000)
                sizes = {one["id"]: one["span"][1] - one["span"][0] for one in reply["slices"]}
                lost = {name: size for name, size in whole.items() if sizes.get(name, 0) < size}
                assert not lost, f"{prompt} at {budget}"
                shown = {one["id"] for one in reply["slices"] if not one["compressed"]}
                whole |= {name: sizes[name] for name in shown if name != "skeleton"}
            assert len(whole) > 5


@pytest.mark.parametrize("kind", ["focus", "reference"])
def test_what_was_found_is_shortened_before_it_is_left_out(kind: SliceType) -> None:
    def piece(number: int, size: int, name: SliceType, weight: float, *, competes: bool) -> Slice:
        least, grow = growing("x" * size, "·" * 60, 1)
        smallest = grow(size) if competes else least
        identifier = f"{name}{number}"
        return Slice(identifier, name, "focus", weight, (number,), smallest, grow, size, competes=competes)

    found = [piece(number, 1_600, "document", 1 - number / 10, competes=True) for number in range(5)]
    given_ = [piece(number, 9_000, kind, 0.5, competes=False) for number in range(25)]
    selection = select([*given_, *found], Limits(480, 100_000), ESTIMATE)
    assert {piece.id for piece in found} <= ids(selection)


@pytest.mark.parametrize("tokens", [500, 980, 1_000, 1_100, 1_500])
def test_a_long_found_slice_leaves_room_for_the_others_that_weigh_much(tokens: int) -> None:
    def piece(number: int, size: int) -> Slice:
        _, grow = growing("x" * size, "·" * 240, 1)
        whole = grow(size)
        form = (whole, grow, size)
        return Slice(f"d{number}", "document", "focus", 0.95 - number / 11, (0,), *form, competes=True)

    found = [piece(0, 3_900), *(piece(number, 1_500) for number in range(1, 6))]
    assert ids(select(found, Limits(tokens, 100_000), ESTIMATE)) == {one.id for one in found}


@pytest.mark.parametrize("bound", ["tokens", "bytes"])
def test_a_larger_budget_shows_no_less_of_any_file_in_focus(bound: str) -> None:
    def piece(number: int, size: int, name: SliceType, *, competes: bool) -> Slice:
        least, grow = growing("x" * size, "·" * 60, 1)
        smallest = grow(size) if competes else least
        identifier = f"{name}{number}"
        return Slice(identifier, name, "focus", 0.5, (number,), smallest, grow, size, competes=competes)

    found = [piece(number, 800, "document", competes=True) for number in range(4)]
    files = [piece(number, 4_000 * number, "focus", competes=False) for number in range(1, 5)]
    shown = {one.id: 0 for one in files}
    for size in range(2_000, 48_000, 2_000):
        limits = Limits(size // 4, 1_000_000) if bound == "tokens" else Limits(1_000_000, size)
        forms = {one.id: form for one, form in select([*files, *found], limits, ESTIMATE).chosen}
        for name, least in shown.items():
            assert len(forms[name].text) >= least * 0.95, (size, name)
        shown = {name: len(forms[name].text) for name in shown}
    assert shown == {one.id: one.full_characters for one in files}
