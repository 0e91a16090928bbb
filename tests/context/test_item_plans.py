"""The items of a request: the session's or the `always` ones, what matches, what is found, what it names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from foveal.daemon.config.settings import ProjectConfig
from foveal.daemon.context.item_plans import MISSING_MAX, plan_items, profiles_for, selection_of
from foveal.daemon.context.requests import ContextRequest
from foveal.daemon.rules.records import (
    AgentItems,
    IncludeMode,
    Item,
    ItemKey,
    ItemMatches,
    ItemPlan,
    ItemScore,
)
from foveal.daemon.rules.selection import Reason
from foveal.daemon.rules.service import key_of
from foveal.daemon.sessions.records import Session
from foveal.daemon.sessions.session import IncludedItem
from msgspec.structs import replace

MODES: Mapping[str, IncludeMode] = {
    "a": "always",
    "b": "always",
    "m": "manual",
    "g": "glob",
    "s": "agent",
    "t": "agent",
}


class Search:
    """Stands in for the search, which has a model: takes what it is told to, and keeps what it was asked."""

    def __init__(self, *taken: str, reason: Reason = "floor") -> None:
        self.taken = taken
        self.reason: Reason = reason
        self.asked: list[list[str]] = []
        self.barred: Mapping[ItemKey, str] = {}

    async def search(self, items: Sequence[Item], message: str, profiles: object, **more: Any) -> ItemMatches:
        self.asked.append([one.name for one in items])
        self.barred = more["barred"]
        taken = tuple(ItemScore(one, 0.7, 0.6, 0.2, True, "top_n") for one in items if one.name in self.taken)
        left = [one for one in items if one.name not in self.taken]
        considered = tuple(ItemScore(one, 0.1, 0.1, 0.0, False, self.reason) for one in left)
        return ItemMatches(taken, considered, ("slow",) if "slow" in self.taken else ())


def rule(name: str) -> ItemKey:
    return ItemKey("rule", name)


def known() -> AgentItems:
    globs = {"glob": ("*.py",)}
    items = tuple(
        Item("rule", name, mode, f"Text of {name}", "PutItem", globs=globs.get(mode, ()))
        for name, mode in MODES.items()
    )
    return AgentItems(items, ("a warning",), by_key={key_of(item): item for item in items})


def session(*names: str, removed: tuple[str, ...] = ()) -> Session:
    items = tuple(IncludedItem.of(rule(name), "manual" if name == "m" else "always") for name in names)
    context = {"files": ("/p/a.py",)}
    return Session("s", "/p", "", items=items, removed=tuple(map(rule, removed)), context=context)


async def planned(search: Search, one: Session | None, **request: Any) -> ItemPlan:
    profiles = profiles_for(ProjectConfig(), "", selection_of(one)[0])
    asked = ContextRequest(**{"prompt": "a question"} | request)
    return await plan_items(known(), one, asked, profiles, search, 1.0)  # type: ignore[arg-type]  # it has the same method


def told(plan: ItemPlan) -> dict[str, tuple[IncludeMode, float | None]]:
    return {one.item.name: (one.include, one.score) for one in plan.items}


async def test_always_items_are_planned_without_a_session() -> None:
    plan = await planned(Search("s"), None)
    assert told(plan) == {
        "a": ("always", None),
        "b": ("always", None),
        "g": ("glob", None),
        "s": ("agent", 0.7),
    }
    assert [(one.item.name, one.reason) for one in plan.left_out] == [("t", "floor")]
    assert (plan.files, plan.gaps, plan.degraded) == ((), ("a warning",), ())


async def test_session_adds_its_items() -> None:
    search = Search("t")
    plan = await planned(search, session("b", "m", "s", removed=("a", "g")))
    assert told(plan) == {
        "b": ("always", None),
        "m": ("manual", None),
        "t": ("agent", 0.7),
    }
    assert search.asked == [["s", "t"]], "today's mode holds for what came into the session by its own"
    assert plan.removed == (known().by_key[rule("a")], known().by_key[rule("g")])
    assert search.barred == {rule("a"): "removed", rule("g"): "removed"}
    assert plan.files == ("/p/a.py",)


async def test_without_a_prompt_nothing_is_searched() -> None:
    search = Search("s")
    assert "s" not in told(await planned(search, None, prompt=" "))
    assert search.asked == []


async def test_current_modes_count_except_for_items_added_by_hand() -> None:
    """Each item came into the session as `always`, or never did, and has another mode by now."""
    by_hand = replace(session("a"), items=tuple(IncludedItem.of(rule(name), "manual") for name in MODES))
    assert told(await planned(Search(), by_hand)) == dict.fromkeys(MODES, ("manual", None))
    on_its_own = replace(by_hand, items=tuple(IncludedItem.of(rule(name), "always") for name in MODES))
    for one in (on_its_own, replace(by_hand, items=())):
        assert told(await planned(Search(), one)) == {
            "a": ("always", None),
            "b": ("always", None),
            "g": ("glob", None),
        }


def test_unusable_selection_is_reported_and_ignored() -> None:
    for selection in ({"preset": "huge"}, {"top_n": "many"}, {"preset": [1]}, {"rules": 3}):
        one = replace(session("a"), selection=selection)
        own, problem = selection_of(one)
        assert problem.startswith("the selection of the session s is ignored: selection")
        assert profiles_for(ProjectConfig(), "", own) == profiles_for(ProjectConfig(), "")
    assert selection_of(session("a")) == selection_of(None)


async def test_a_request_names_items() -> None:
    search = Search("t")
    wanted: dict[str, Any] = {
        "include_items": (("rule", "m", ""), ("rule", "s", "")),
        "exclude_items": (("rule", "a", ""),),
    }
    plan = await planned(search, None, **wanted)
    assert told(plan)["m"] == ("manual", None)
    assert told(plan)["s"] == ("agent", None)
    assert "a" not in told(plan)
    assert search.barred == {rule("a"): "denied"}


async def test_missing_items_are_reported_up_to_a_limit() -> None:
    plan = await planned(Search(), session("a", *(f"gone{number}" for number in range(MISSING_MAX + 2))))
    assert set(told(plan)) == {"a", "b", "g"}
    assert plan.gaps[1] == "the rule gone0 isn't there (any more)"
    assert plan.gaps[-1] == "2 more items aren't there"


async def test_failed_search_is_reported() -> None:
    assert (await planned(Search("slow"), None)).degraded == ("slow",)
