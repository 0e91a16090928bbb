"""Settings are read strictly, later levels go before earlier ones, and presets differ in the way they say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import pytest
from foveal.daemon.config.item_selection import parse_selection
from foveal.daemon.core.errors import InvalidRequest
from foveal.daemon.rules.items import Item, ItemKey, ItemType, key_of
from foveal.daemon.rules.selection import (
    RULE_PROFILES,
    TOOL_PROFILES,
    ItemEvidence,
    Profile,
    Profiles,
    choose,
    resolve,
)
from foveal.docs.configuration_tables import PAGE


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ("tiny", "selection"),
        (3, "selection"),
        ([], "selection"),
        (None, "selection"),
        ({"preset": "tiny"}, "selection.preset"),
        ({"preset": ["normal"]}, "selection.preset"),
        ({"rules": 3}, "selection.rules"),
        ({"rules": "tiny"}, "selection.rules"),
        ({"tools": {"top_k": -1}}, "selection.tools.top_k"),
        ({"tools": {"top_k": 10**9}}, "selection.tools.top_k"),
        ({"top_n": True}, "selection.top_n"),
        ({"top_n": 2.5}, "selection.top_n"),
        ({"rules": {"floor": "0.3"}}, "selection.rules.floor"),
        ({"rules": {"floor": float("nan")}}, "selection.rules.floor"),
        ({"include_score": float("inf")}, "selection.include_score"),
        ({"include_score": 7}, "selection.include_score"),
        ({"include_score": False}, "selection.include_score"),
    ],
)
def test_unreadable_settings_name_their_field(value: object, field: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        parse_selection(value)
    assert raised.value.field == field


@pytest.mark.parametrize("profiles", [RULE_PROFILES, TOOL_PROFILES])
def test_presets_go_from_the_smallest_context_to_the_largest(profiles: dict[str, object]) -> None:
    ordered = [profiles[name] for name in ("aggressive", "normal", "conservative")]
    for name, falling in (("top_k", False), ("top_n", False), ("floor", True)):
        values = [getattr(one, name) for one in ordered]
        assert values == sorted(set(values), reverse=falling), name


@pytest.mark.parametrize("kind", ["rules", "tools"])
def test_the_page_about_settings_shows_the_presets(kind: str) -> None:
    profiles = RULE_PROFILES if kind == "rules" else TOOL_PROFILES
    for name, profile in profiles.items():
        row = next(
            line
            for line in PAGE.with_name("configuration.md").read_text(encoding="utf-8").split("\n")
            if line.startswith(f"| `{name}` |")
        )
        cells = [cell.strip() for cell in row.strip("|").split("|")][1:]
        top_n, *rules_and_tools, top_k = map(float, cells)
        floor, near_best = rules_and_tools[:2] if kind == "rules" else rules_and_tools[2:]
        assert Profile(int(top_k), int(top_n), floor, near_best) == profile


PROFILE = Profile(top_k=20, top_n=2, floor=0.3, near_best=0.7, include_score=0.6)


def evidence(name: str, *totals: float, kind: ItemType = "rule", named: bool = False) -> ItemEvidence:
    server = "s" if kind == "tool" else ""
    return ItemEvidence(Item(kind, name, "agent", "", "s", server_name=server), totals, totals, 0.0, named)


def check(
    found: list[ItemEvidence],
    expected: dict[str, str],
    profile: Profile = PROFILE,
    barred: Mapping[ItemKey, Literal["removed", "denied"]] | None = None,
) -> None:
    """Compare with what becomes of each item, in order: a reason, with a + for one that is taken."""
    scores = choose(found, Profiles(profile, profile), barred or {})
    scores.sort(key=lambda score: not score.taken)
    told = {score.item.name: ("+" if score.taken else "") + score.reason for score in scores}
    assert list(told.items()) == list(expected.items())


def test_a_floor_that_is_set_decides_alone() -> None:
    found = [evidence(name, score) for name, score in {"a": 0.5, "b": 0.32, "c": 0.31, "d": 0.1}.items()]
    check(found, {"a": "+top_n", "b": "near_best", "c": "near_best", "d": "floor"}, _rules("normal"))
    lower = _rules({"preset": "normal", "floor": 0.31})
    check(found, {"a": "+top_n", "b": "+top_n", "c": "+top_n", "d": "floor"}, lower)
    all_of_them = _rules({"floor": -1})
    below = [*found, evidence("e", -0.2)]
    check(below, dict.fromkeys("abcde", "+top_n"), all_of_them)


def test_include_score_takes_all_from_it_on() -> None:
    found = [evidence(name, score) for name, score in {"a": 0.9, "b": 0.61, "c": 0.6, "d": 0.59996}.items()]
    above = Profile(top_k=1, top_n=0, floor=0.95, near_best=0.99, include_score=0.6)
    check(found, dict.fromkeys("abcd", "+include_score"), above)
    check([*found, evidence("e", 0.599)], dict.fromkeys("abcd", "+include_score"), above)
    check(found[:2], {"b": "+include_score", "a": "denied"}, above, {key_of(found[0].item): "denied"})


def test_presets_take_more_from_the_smallest_to_the_largest() -> None:
    scores = {"a": 0.5, "b": 0.48, "c": 0.4, "d": 0.32}
    found = [evidence(name, score) for name, score in scores.items()]
    taken = {
        preset: [one.item.name for one in choose(found, resolve(parse_selection(preset)), {}) if one.taken]
        for preset in ("aggressive", "normal", "conservative")
    }
    assert taken == {
        "aggressive": ["a", "b"],
        "normal": ["a", "b", "c"],
        "conservative": ["a", "b", "c", "d"],
    }


def _rules(selection: object) -> Profile:
    profile = resolve(parse_selection(selection)).rules
    assert profile is not None
    return profile


def test_score_has_similarity_and_lexical_share() -> None:
    tool = Item("tool", "git_log", "agent", "", "s", server_name="git")
    (one,) = choose([ItemEvidence(tool, (0.2, 0.51239), (0.3, 0.7), 0.25)], Profiles(PROFILE, PROFILE), {})
    assert (one.score, one.similarity, one.lexical) == (0.7, 0.5124, 0.25)
    assert one.key == key_of(tool) == ItemKey("tool", "git_log", "git")
