"""Settings are read strictly, later levels go before earlier ones, and presets differ in the way they say."""

from __future__ import annotations

import pytest
from foveal.daemon.config.page import render_page
from foveal.daemon.core.errors import InvalidRequest
from foveal.daemon.rules.selection import (
    RULE_PROFILES,
    TOOL_PROFILES,
    ItemSelection,
    KindSettings,
    Profile,
    Profiles,
    parse_selection,
    resolve,
)
from msgspec.structs import replace

NORMAL = Profiles(RULE_PROFILES["normal"], TOOL_PROFILES["normal"])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({}, ItemSelection()),
        ({"unknown": 1, "rules": {"also": 2}, "tools": None, "floor": None}, ItemSelection()),
        ("off", ItemSelection(KindSettings("off"), KindSettings("off"))),
        ({"rules": "aggressive"}, ItemSelection(KindSettings("aggressive"))),
        ({"tools": {"preset": "off"}}, ItemSelection(tools=KindSettings("off"))),
        ({"top_n": 3, "tools": {"floor": 0.5}}, ItemSelection(KindSettings(top_n=3), KindSettings(top_n=3, floor=0.5))),
        ({"preset": "conservative", "top_k": 9, "rules": "normal"}, ItemSelection(KindSettings("normal"), KindSettings("conservative", top_k=9))),
        ({"rules": {"include_score": 1, "floor": 0, "top_n": 0}}, ItemSelection(KindSettings(None, None, 0, 1.0, 0.0))),
    ],
)  # fmt: skip
def test_reading(value: object, expected: ItemSelection) -> None:
    assert parse_selection(value) == expected


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
def test_what_can_not_be_read_names_its_field(value: object, field: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        parse_selection(value)
    assert raised.value.field == field


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ([], NORMAL),
        ([{}, {}], NORMAL),
        (["aggressive"], Profiles(RULE_PROFILES["aggressive"], TOOL_PROFILES["aggressive"])),
        (["off"], Profiles(None, None)),
        (["off", "normal"], NORMAL),
        ([{"tools": "off"}, {"tools": {"top_n": 3}}], Profiles(NORMAL.rules, None)),
        ([{"rules": {"top_n": 9}}, {"rules": "normal"}], NORMAL),
        (
            [{"rules": {"top_n": 9}}, {"tools": "off"}],
            Profiles(replace(RULE_PROFILES["normal"], top_n=9), None),
        ),
        (
            ["conservative", {"rules": {"floor": 0.1}}, {"top_k": 7}],
            Profiles(
                replace(RULE_PROFILES["conservative"], floor=0.1, near_best=0.0, top_k=7),
                replace(TOOL_PROFILES["conservative"], top_k=7),
            ),
        ),
    ],
)
def test_later_levels_go_before_earlier_ones(levels: list[object], expected: Profiles) -> None:
    assert resolve(*map(parse_selection, levels)) == expected


@pytest.mark.parametrize("profiles", [RULE_PROFILES, TOOL_PROFILES])
def test_presets_go_from_the_smallest_context_to_the_largest(profiles: dict[str, object]) -> None:
    ordered = [profiles[name] for name in ("aggressive", "normal", "conservative")]
    for name, falling in (("top_k", False), ("top_n", False), ("floor", True)):
        values = [getattr(one, name) for one in ordered]
        assert values == sorted(set(values), reverse=falling), name


def test_references_go_with_rules() -> None:
    profiles = resolve(parse_selection({"tools": "off"}))
    assert (profiles.of("rule"), profiles.of("reference"), profiles.of("tool")) == (
        NORMAL.rules,
        NORMAL.rules,
        None,
    )


@pytest.mark.parametrize("kind", ["rules", "tools"])
def test_the_page_about_settings_shows_the_presets(kind: str) -> None:
    profiles = RULE_PROFILES if kind == "rules" else TOOL_PROFILES
    for name, profile in profiles.items():
        row = next(line for line in render_page().split("\n") if line.startswith(f"| `{name}` |"))
        cells = [cell.strip() for cell in row.strip("|").split("|")][1:]
        top_n, *rules_and_tools, top_k = map(float, cells)
        floor, near_best = rules_and_tools[:2] if kind == "rules" else rules_and_tools[2:]
        assert Profile(int(top_k), int(top_n), floor, near_best) == profile
