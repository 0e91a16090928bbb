"""Items are found by meaning, words and names, with what was said before; failures are said, never raised."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from foveal.daemon.config.item_selection import parse_selection
from foveal.daemon.core.errors import ChildDied, FovealError
from foveal.daemon.core.system import System
from foveal.daemon.core.work import Work
from foveal.daemon.embedding.lazy_model import LazyModel
from foveal.daemon.embedding.messages import DEFAULT_MODEL, ScoreTexts, TextScores
from foveal.daemon.embedding.text_scores import TextScorer
from foveal.daemon.rules import item_search as item_search_file
from foveal.daemon.rules.item_search import (
    HISTORY_CHUNKS,
    MESSAGE_CHUNKS,
    NAMED_MAX,
    ItemMatches,
    ItemSearch,
    WordEvidence,
    item_words,
    query_texts,
)
from foveal.daemon.rules.items import CHUNK_CHARACTERS, IncludeMode, Item
from foveal.daemon.rules.selection import Profiles, resolve

from tests.both_loops import eventually

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


class Threads:
    async def in_builder(self, work: Callable[[], T]) -> T:
        return await asyncio.to_thread(work)


def searching(scoring: object) -> ItemSearch:
    return ItemSearch(scoring, Threads())  # type: ignore[arg-type]  # they have what is used of them


class RealScores:
    """The real model, in this process. `asked` holds what it was asked."""

    def __init__(self, folder: Path) -> None:
        model = LazyModel(DEFAULT_MODEL, str(folder), System(), lambda event: None, lambda: None)
        model.get(GENEROUS_S)
        self.scorer = TextScorer(str(folder), model, System())
        self.asked: list[tuple[tuple[str, ...], tuple[str, ...]]] = []

    async def score_texts(
        self, queries: tuple[str, ...], documents: tuple[str, ...], within_s: float
    ) -> TextScores:
        self.asked.append((queries, documents))
        return self.scorer.answer(ScoreTexts(queries, documents, within_s))


class FixedScores:
    """Says the same of all texts, but nothing of the first `pending`, once it may; or fails."""

    def __init__(self, pending: int = 0, error: Exception | None = None, *, answers: bool = True) -> None:
        self.pending, self.error = pending, error
        self.enabled = True
        self.asked: list[tuple[str, ...]] = []
        self.may_answer = asyncio.Event()
        if answers:
            self.may_answer.set()

    async def score_texts(
        self, queries: tuple[str, ...], documents: tuple[str, ...], within_s: float
    ) -> TextScores:
        self.asked.append(documents)
        await self.may_answer.wait()
        if self.error is not None:
            raise self.error
        row = tuple(0.0 if n < self.pending else 0.5 for n in range(len(documents)))
        return TextScores((row,) * len(queries), tuple(range(min(self.pending, len(documents)))))


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealScores]:
    scores = RealScores(tmp_path_factory.mktemp("texts"))
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
async def test_items_about_the_message_are_taken(real: RealScores, message: str, expected: str) -> None:
    found = await searching(real).search(ITEMS, message, NORMAL, within_s=GENEROUS_S)
    assert expected in names(found)
    assert len(found.taken) <= 3, "and little else"


async def test_a_kind_that_is_off_is_not_even_embedded(real: RealScores) -> None:
    search = searching(real)
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
    found = await searching(real).search(twins, "the same twin", NORMAL, within_s=GENEROUS_S)
    assert real.asked[-1][1] == ("twin\n\nThe same.",)
    assert {one.item.type for one in found.taken} == {"rule", "reference"}


@pytest.mark.parametrize(
    ("scoring", "within_s", "expected"),
    [
        (FixedScores(error=FovealError("there is no model")), GENEROUS_S, "there is no model"),
        (FixedScores(answers=False), 0.001, "didn't answer in time"),
        (FixedScores(answers=False), 0.0, "didn't answer in time"),
    ],
)
async def test_where_it_fails_nothing_is_taken(scoring: FixedScores, within_s: float, expected: str) -> None:
    found = await searching(scoring).search(ITEMS, "why does retry_captures fail?", NORMAL, within_s=within_s)
    assert (found.taken, found.considered) == ((), ())
    (reason,) = found.degraded
    assert reason.startswith("items of mode agent are left out")
    assert expected in reason


async def test_items_without_vectors_are_reported_and_can_be_named() -> None:
    found = await searching(FixedScores(pending=3)).search(
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
    items = [rule(f"rule_{n}", f"Text {n}.") for n in range(6)]
    found = await searching(FixedScores()).search(items, "anything", NORMAL, within_s=GENEROUS_S)
    assert sorted(one.item.name for one in found.taken) == ["rule_0", "rule_1", "rule_2", "rule_3"]
    (reason,) = found.degraded
    assert reason.startswith("2 items of mode agent were not searched")


def evidence(*texts: str, name: str = "n{}") -> WordEvidence:
    items = [Item("rule", name.format(n), "agent", text, "s") for n, text in enumerate(texts)]
    return WordEvidence([item_words(one) for one in items])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("why does retry_captures fail?", {0}),
        ("call retry_captures() again", {0}),
        ("RetryPolicy.delay is wrong", {1}),
        ("look at retry_captures and RetryPolicy.delay", {0, 1}),
        ("retry_captures_all is another name", set()),
        ("retry the captures", set()),
        ("Delay it", set()),
    ],
)
def test_identifiers_name_the_items_in_which_they_stand(text: str, expected: set[int]) -> None:
    found = evidence(
        "The job `retry_captures` runs hourly.", "RetryPolicy.delay(n) gives seconds", "retry and captures"
    )
    assert found.named(text) == expected


def test_an_identifier_in_many_items_names_none() -> None:
    assert evidence(*["uses parse_args"] * NAMED_MAX).named("parse_args") == set(range(NAMED_MAX))
    assert evidence(*["uses parse_args"] * (NAMED_MAX + 1)).named("parse_args") == set()


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("code-review", "please do a code-review", True),
        ("code-review", "see code-reviews", False),
        (".cursor/rules/code-review.mdc", "please do a code-review", True),
        ("docs/AGENTS.md", "what does docs/AGENTS.md say?", True),
        ("naming", "the naming of this class", False),
        ("git_log", "use git_log", True),
        ("a-b", "what a-b is", False),
    ],
)
def test_a_name_unlike_everyday_words_names_its_item(name: str, text: str, expected: bool) -> None:
    assert evidence("nothing", name=name).named(text) == ({0} if expected else set())


def said(*contents: str, role: str = "user") -> list[dict[str, object]]:
    return [{"role": role, "content": content} for content in contents]


def test_of_long_ones_beginning_and_end_count() -> None:
    long = "\n\n".join(f"{n} " + "x" * (CHUNK_CHARACTERS - 10) for n in range(2_000))
    texts = query_texts(long, said(long))
    assert len(texts) == MESSAGE_CHUNKS + HISTORY_CHUNKS
    assert [one.text.split()[0] for one in texts[:MESSAGE_CHUNKS][:2]] == ["0", "1"]
    assert texts[MESSAGE_CHUNKS - 1].text.split()[0] == "1999"
    assert [one.text.split()[0] for one in texts[MESSAGE_CHUNKS:]] == ["0", "1999"]


def items(*names: str, include: IncludeMode = "agent") -> list[Item]:
    return [Item("rule", name, include, f"Text of {name}.", "PutItem") for name in names]


def named(documents: tuple[str, ...]) -> str:
    return "".join(text[0] for text in documents)


async def test_warming_runs_once_and_again_after_changes() -> None:
    work, embedder = Work(), FixedScores(answers=False)
    searching = ItemSearch(embedder, work)  # type: ignore[arg-type]  # it has what is used of it
    async with asyncio.TaskGroup() as tasks:
        work.begin(tasks)
        searching.warm_again("/p", items("a"))
        searching.warm("/p", items("x", include="always"))
        searching.warm("/p", items("a"))
        await eventually(lambda: bool(embedder.asked))
        searching.warm_again("/p", items("a", "b"))
        searching.warm_again("/p", items("a", "b", "c"))
        embedder.may_answer.set()
        await eventually(lambda: len(embedder.asked) == 2 and not searching._wanted)
        assert [named(one) for one in embedder.asked] == ["a", "abc"]
        searching.warm("/p", items("a"))
        await eventually(lambda: len(embedder.asked) == 3 and not searching._wanted)
        embedder.enabled = False
        searching.warm("/p", items("b"))
        assert not searching._wanted
    work.close()


async def test_failed_warming_is_retried_next_time() -> None:
    work, embedder = Work(), FixedScores(error=ChildDied("no model"))
    searching = ItemSearch(embedder, work)  # type: ignore[arg-type]  # as above
    async with asyncio.TaskGroup() as tasks:
        work.begin(tasks)
        searching.warm("/p", items("a"))
        await eventually(lambda: len(embedder.asked) == 1 and not searching._wanted)
        embedder.error = None
        searching.warm_again("/p", items("a"))
        await eventually(lambda: len(embedder.asked) == 2 and not searching._wanted)
    work.close()
