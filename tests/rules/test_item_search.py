"""Items are found by meaning, words and names, with what was said before; failures are said, never raised."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import pytest
from foveal.daemon.core.errors import FovealError
from foveal.daemon.core.system import System
from foveal.daemon.embedding.lazy_model import LazyModel
from foveal.daemon.embedding.messages import DEFAULT_MODEL, ScoreTexts, TextScores
from foveal.daemon.embedding.text_scores import TextScorer
from foveal.daemon.rules import item_search as item_search_file
from foveal.daemon.rules.item_keys import ItemKey
from foveal.daemon.rules.item_search import ItemMatches, ItemSearch
from foveal.daemon.rules.items import Item
from foveal.daemon.rules.selection import Profile, Profiles, parse_selection, resolve

GENEROUS_S = 60.0
NORMAL = resolve()
T = TypeVar("T")


def rule(name: str, text: str, description: str = "") -> Item:
    return Item("rule", name, "agent", text, "s", description=description)


def tool(server: str, name: str, description: str) -> Item:
    return Item("tool", name, "agent", "{}", "s", description=description, server_name=server)


COMMITS = rule(
    "commits", "Write commit messages in the imperative, at most 72 characters.", "Commit messages"
)
MIGRATIONS = rule(
    "migrations", "Create indexes concurrently. Never lock a large table.", "Database migrations"
)
RETRIES = rule("captures", "The hourly job `retry_captures` tries failed payments again.", "Payments")
ACCESS = rule("access", "Every button can be reached with the keyboard and has a label.", "Accessibility")
GIT_LOG = tool("git", "git_log", "Shows the commit logs")
SCREENSHOT = tool("browser", "take_screenshot", "Take a screenshot of the current page")
ITEMS = (COMMITS, MIGRATIONS, RETRIES, ACCESS, GIT_LOG, SCREENSHOT)


async def in_thread(work: Callable[[], T]) -> T:
    return await asyncio.to_thread(work)


class RealScores:
    """The real model, in this process. `asked` holds what it was asked."""

    def __init__(self, folder: Path, models: Path) -> None:
        model = LazyModel(DEFAULT_MODEL, str(models), System(), lambda event: None, lambda: None)
        model.get(GENEROUS_S)
        self.scorer = TextScorer(str(folder), model, System())
        self.asked: list[tuple[tuple[str, ...], tuple[str, ...]]] = []

    async def score_texts(
        self, queries: tuple[str, ...], documents: tuple[str, ...], within_s: float
    ) -> TextScores:
        self.asked.append((queries, documents))
        return self.scorer.answer(ScoreTexts(queries, documents, within_s))


class FixedScores:
    """Says the same of all texts, but nothing of the first `pending`; or fails."""

    def __init__(self, score: float = 0.5, pending: int = 0, error: Exception | None = None) -> None:
        self.score, self.pending, self.error = score, pending, error
        self.asked = 0

    async def score_texts(
        self, queries: tuple[str, ...], documents: tuple[str, ...], within_s: float
    ) -> TextScores:
        self.asked += 1
        if self.error is not None:
            raise self.error
        row = tuple(0.0 if n < self.pending else self.score for n in range(len(documents)))
        return TextScores((row,) * len(queries), tuple(range(min(self.pending, len(documents)))))


class NeverScores:
    async def score_texts(
        self, queries: tuple[str, ...], documents: tuple[str, ...], within_s: float
    ) -> TextScores:
        await asyncio.get_running_loop().create_future()
        raise AssertionError


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory, models: Path) -> Iterator[RealScores]:
    scores = RealScores(tmp_path_factory.mktemp("texts"), models)
    yield scores
    scores.scorer.close()


def names(found: ItemMatches) -> set[str]:
    assert found.degraded == ()
    return {one.item.name for one in found.taken}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("how should I word this commit message?", "commits"),
        ("add an index to a big table in the database", "migrations"),
        ("make a screenshot of the page", "take_screenshot"),
        ("the button can't be used with the keyboard", "access"),
        ("why does retry_captures() fail?", "captures"),
        ("show the latest commits in the log", "git_log"),
    ],
)
async def test_what_a_message_is_about_is_taken(real: RealScores, message: str, expected: str) -> None:
    found = await ItemSearch(real, in_thread).search(ITEMS, message, NORMAL, within_s=GENEROUS_S)
    assert expected in names(found)
    assert len(found.taken) <= 3, "and little else"


@pytest.mark.parametrize("message", ["", " \n ", "good night", "thank you very much", "\ud800"])
async def test_nothing_is_taken_because_there_is_room(real: RealScores, message: str) -> None:
    found = await ItemSearch(real, in_thread).search(ITEMS, message, NORMAL, within_s=GENEROUS_S)
    assert names(found) == set()
    assert {one.reason for one in found.considered} <= {"floor"}


async def test_what_was_said_before_counts_less(real: RealScores) -> None:
    search = ItemSearch(real, in_thread)
    history = [{"role": "user", "content": "how should I word this commit message?"}]
    alone = await search.search(ITEMS, "yes, do it", NORMAL, within_s=GENEROUS_S)
    after = await search.search(ITEMS, "yes, do it", NORMAL, within_s=GENEROUS_S, history=history)
    itself = await search.search(ITEMS, str(history[0]["content"]), NORMAL, within_s=GENEROUS_S)
    assert "commits" not in names(alone)
    assert "commits" in names(after)
    score, best = (next(one.score for one in found.taken if one.item is COMMITS) for found in (after, itself))
    assert score < best


async def test_a_name_said_long_ago_names_nothing(real: RealScores) -> None:
    search = ItemSearch(real, in_thread)
    said = [{"role": "user", "content": "retry_captures"}, *[{"role": "assistant", "content": "ok"}] * 3]
    found = await search.search(ITEMS, "and now?", NORMAL, within_s=GENEROUS_S, history=said)
    assert "named" not in {one.reason for one in found.taken}


async def test_removed_and_denied_items_are_told_with_their_score(real: RealScores) -> None:
    barred = {ItemKey("rule", "commits"): "removed", ItemKey("tool", "git_log", "git"): "denied"}
    found = await ItemSearch(real, in_thread).search(
        ITEMS,
        "how should I word this commit message?",
        NORMAL,
        within_s=GENEROUS_S,
        barred=barred,  # type: ignore[arg-type] # the strings are literals
    )
    reasons = {one.item.name: one.reason for one in found.considered}
    assert (reasons["commits"], reasons["git_log"]) == ("removed", "denied")
    assert next(one.score for one in found.considered if one.item is COMMITS) > 0.5


async def test_a_long_rule_counts_by_its_best_part(real: RealScores) -> None:
    filler = "\n\n".join(
        f"Chapter {n}: the weather of the {n}th day was fine and the sea was calm." for n in range(60)
    )
    part = "Take a screenshot of the page for each visual change, before it and after it. " * 6
    long = rule("long", f"{filler}\n\n{part}\n\n{filler}")
    found = await ItemSearch(real, in_thread).search(
        [long, *ITEMS], "make a screenshot of the page", NORMAL, within_s=GENEROUS_S
    )
    assert "long" in names(found)


async def test_a_kind_that_is_off_is_not_even_embedded(real: RealScores) -> None:
    search = ItemSearch(real, in_thread)
    only_rules = resolve(parse_selection({"tools": "off"}))
    found = await search.search(ITEMS, "take a screenshot", only_rules, within_s=GENEROUS_S)
    assert all(one.item.type == "rule" for one in (*found.taken, *found.considered))
    assert not any("screenshot" in text for text in real.asked[-1][1])
    asked = len(real.asked)
    assert (
        await search.search(ITEMS, "take a screenshot", Profiles(None, None), within_s=GENEROUS_S)
        == ItemMatches()
    )
    assert await search.search([], "take a screenshot", NORMAL, within_s=GENEROUS_S) == ItemMatches()
    assert len(real.asked) == asked


async def test_the_same_text_is_compared_once(real: RealScores) -> None:
    twins = [rule("twin", "The same."), Item("reference", "twin", "agent", "The same.", "s")]
    found = await ItemSearch(real, in_thread).search(twins, "the same twin", NORMAL, within_s=GENEROUS_S)
    assert real.asked[-1][1] == ("twin\n\nThe same.",)
    assert {one.item.type for one in found.taken} == {"rule", "reference"}


async def test_warming_asks_for_no_query(real: RealScores) -> None:
    assert await ItemSearch(real, in_thread).warm(ITEMS, GENEROUS_S) == 0
    queries, documents = real.asked[-1]
    assert (queries, len(documents)) == ((), len(ITEMS))


@pytest.mark.parametrize(
    ("scoring", "within_s", "expected"),
    [
        (FixedScores(error=FovealError("there is no model")), GENEROUS_S, "there is no model"),
        (NeverScores(), 0.001, "didn't answer in time"),
        (NeverScores(), 0.0, "didn't answer in time"),
    ],
)
async def test_where_it_fails_nothing_is_taken(
    scoring: FixedScores | NeverScores, within_s: float, expected: str
) -> None:
    found = await ItemSearch(scoring, in_thread).search(
        ITEMS, "why does retry_captures fail?", NORMAL, within_s=within_s
    )
    assert (found.taken, found.considered) == ((), ())
    (reason,) = found.degraded
    assert reason.startswith("items of mode agent are left out")
    assert expected in reason


async def test_what_has_no_vector_yet_is_said_and_can_be_named() -> None:
    found = await ItemSearch(FixedScores(pending=3), in_thread).search(
        ITEMS, "why does retry_captures fail?", NORMAL, within_s=GENEROUS_S
    )
    assert found.degraded == (
        "3 of 6 items of mode agent were not compared: their texts are still being embedded",
    )
    taken = {one.item.name: (one.reason, one.similarity) for one in found.taken}
    assert taken["captures"] == ("named", 0.0)
    assert {"commits", "migrations"}.isdisjoint(taken)


async def test_too_many_items_are_searched_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(item_search_file, "MAX_DOCUMENTS", 4)
    found = await ItemSearch(FixedScores(), in_thread).search(ITEMS, "anything", NORMAL, within_s=GENEROUS_S)
    assert [one.item for one in found.taken] == [ACCESS, RETRIES, COMMITS, MIGRATIONS]
    (reason,) = found.degraded
    assert reason.startswith("2 items of mode agent were not searched")


async def test_what_is_remembered_is_bounded_and_never_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(item_search_file, "MAX_PREPARED", 2)
    monkeypatch.setattr(item_search_file, "MAX_BATCHES", 2)
    search = ItemSearch(FixedScores(), in_thread)
    everything = Profile(100, 100, -1, -1)

    async def lexical(items: Sequence[Item]) -> list[float]:
        found = await search.search(items, "keyboard", Profiles(everything, everything), within_s=GENEROUS_S)
        return [one.lexical for one in (*found.taken, *found.considered) if one.item.name == "access"]

    before = await lexical(ITEMS)
    for n in range(5):
        assert await lexical([rule(f"r{n}", "text"), *ITEMS]) != []
    changed = [rule("access", "Something else."), *ITEMS[:3]]
    assert (await lexical(ITEMS), await lexical(changed)) == (before, [0.0])
