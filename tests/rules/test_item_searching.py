"""Items are made ready for the first prompt in the background, once at a time, and only where prompts may come."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from foveal.daemon.core.errors import ChildDied
from foveal.daemon.core.work import Work
from foveal.daemon.rules.item_search import WarmItemSearch
from foveal.daemon.rules.items import IncludeMode, Item


class Scores:
    """What an embedder answers that has embedded all."""

    rows = ((),)
    pending = ()


class Embedder:
    """Stands in for the process with the model: keeps what it was asked, and answers when it may."""

    def __init__(self) -> None:
        self.enabled = True
        self.asked: list[tuple[str, ...]] = []
        self.may_answer = asyncio.Event()
        self.fails = False

    async def score_texts(
        self, queries: tuple[str, ...], documents: tuple[str, ...], within_s: float
    ) -> Scores:
        assert queries == ()
        self.asked.append(documents)
        await self.may_answer.wait()
        if self.fails:
            raise ChildDied("no model")
        return Scores()


def items(*names: str, include: IncludeMode = "agent") -> list[Item]:
    return [Item("rule", name, include, f"Text of {name}.", "PutItem") for name in names]


def named(documents: tuple[str, ...]) -> str:
    return "".join(text[0] for text in documents)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - the end of background work is no event
            await asyncio.sleep(0)


async def test_one_at_a_time_and_what_changed_meanwhile_after_it() -> None:
    work, embedder = Work(), Embedder()
    searching = WarmItemSearch(embedder, work)  # type: ignore[arg-type]  # it has what is used of it
    async with asyncio.TaskGroup() as tasks:
        work.begin(tasks)
        searching.warm_again("/p", items("a"))
        searching.warm("/p", items("x", include="always"))
        searching.warm("/p", items("a"))
        await until(lambda: bool(embedder.asked))
        searching.warm_again("/p", items("a", "b"))
        searching.warm_again("/p", items("a", "b", "c"))
        embedder.may_answer.set()
        await until(lambda: len(embedder.asked) == 2 and not searching._wanted)
        assert [named(one) for one in embedder.asked] == ["a", "abc"]
        searching.warm("/p", items("a"))
        await until(lambda: len(embedder.asked) == 3 and not searching._wanted)
        embedder.enabled = False
        searching.warm("/p", items("b"))
        assert not searching._wanted
    work.close()


async def test_a_failure_is_nobodys_and_the_next_time_it_is_tried_again() -> None:
    work, embedder = Work(), Embedder()
    searching = WarmItemSearch(embedder, work)  # type: ignore[arg-type]  # as above
    embedder.may_answer.set()
    embedder.fails = True
    async with asyncio.TaskGroup() as tasks:
        work.begin(tasks)
        searching.warm("/p", items("a"))
        await until(lambda: len(embedder.asked) == 1 and not searching._wanted)
        embedder.fails = False
        searching.warm_again("/p", items("a"))
        await until(lambda: len(embedder.asked) == 2 and not searching._wanted)
    work.close()
