"""The daemon's end of embedding: projects are followed, questions answered, and failures said, never fatal."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from foveal.daemon.config.settings import EmbeddingConfig
from foveal.daemon.core import child as linking
from foveal.daemon.core.errors import ChildDied, FovealError, Unsupported
from foveal.daemon.core.events import EventHub
from foveal.daemon.core.system import System
from foveal.daemon.core.work import Work
from foveal.daemon.embedding import embedder_client as client_file
from foveal.daemon.embedding.embedder_client import FOLDER, EmbedderClient, progress_map
from foveal.daemon.embedding.messages import (
    DEFAULT_DIMENSIONS,
    DEFAULT_MODEL,
    SearchVectors,
    TextScores,
    VectorProgress,
)
from foveal.daemon.index.store import Store

from tests.model_cases import SECOND_MODEL, hanging_hub
from tests.search_cases import chunk, put

GENEROUS_S = 60.0
CONFIG = EmbeddingConfig(threads=2)


class Running:
    """A client whose process runs, and an index for each root. `told` is every event's data."""

    def __init__(self, base: Path, config: EmbeddingConfig) -> None:
        self.base = base
        self.work = Work()
        self.told: list[dict[str, Any]] = []
        self.events = EventHub(System())
        self.events.subscribe(self, ["index.progress"], self._hear)
        self.client = EmbedderClient(config, str(base), self.work, self.events)
        self.stores: dict[str, Store] = {}
        self._news = asyncio.Event()

    def put(self, root: str, path: str, *names: str) -> None:
        store = self.stores.setdefault(root, Store(self.folder(root), System()))
        put(store, path, [chunk(f"def {name}(): return {name!r}", name) for name in names])

    def folder(self, root: str) -> str:
        return str(self.base / "indexes" / root.strip("/"))

    def keep(self, root: str) -> None:
        self.client.keep(root, self.folder(root))

    async def search(self, root: str, text: str = "alpha") -> int:
        return len((await self.client.search(SearchVectors(root, (text,), 9, wait_s=GENEROUS_S))).hits)

    async def until(self, known: Callable[[], bool]) -> None:
        """Wait until something is so: it is looked at with each event, and often, as not all is told."""
        while not known():
            self._news.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), 0.02)

    async def embedded(self, root: str, contents: int) -> None:
        def done() -> bool:
            progress = self.client.progress(root)
            return progress is not None and (progress.chunks, progress.pending) == (contents, 0)

        await self.until(done)

    def is_ready(self, former_pid: int) -> bool:
        """Whether another process than the former one answers."""
        child = self.client.child
        return child.is_ready and child.pid != former_pid

    def _hear(self, event: dict[str, Any]) -> None:
        self.told.append(event["data"])
        self._news.set()


@asynccontextmanager
async def running(base: Path, config: EmbeddingConfig = CONFIG) -> AsyncIterator[Running]:
    one = Running(base, config)
    async with asyncio.timeout(GENEROUS_S), asyncio.TaskGroup() as tasks:
        one.work.begin(tasks)
        task = tasks.create_task(one.client.run())
        try:
            yield one
        finally:
            one.work.cancel()
            await one.client.stop(GENEROUS_S)
            await task
            one.work.close()
            for store in one.stores.values():
                store.close()


def process(one: Running) -> psutil.Process:
    assert one.client.child.pid is not None
    return psutil.Process(one.client.child.pid)


async def test_nothing_is_started_before_it_is_needed_and_then_all_works(tmp_path: Path) -> None:
    async with running(tmp_path) as one:
        one.put("/p", "a.py", "alpha", "beta")
        assert one.client.child.pid is None
        assert one.client.describe() == {
            "model": DEFAULT_MODEL, "dim": DEFAULT_DIMENSIONS, "source": "bundled", "loaded": False,
            "loading": None, "former": "", "paused": False, "pid": None, "degraded": "",
        }  # fmt: skip
        assert (one.client.keeps("/p"), one.client.progress("/p")) == (False, None)
        one.keep("/p")
        await one.embedded("/p", 2)
        assert await one.search("/p") == 2
        described = one.client.describe()
        assert described is not None
        assert (described["loaded"], described["pid"]) == (True, one.client.child.pid)
        assert (one.client.problem("/p"), one.client.loading) == ("", None)
        phases = [data["model"]["phase"] for data in one.told if "model" in data]
        assert (phases[0], phases[-1]) == ("loading", "ready")


async def test_progress_of_loading_the_model_is_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def described(one: Running) -> dict[str, Any]:
        found = one.client.describe()
        assert found is not None
        return found

    with hanging_hub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub)
        async with running(tmp_path, dataclasses.replace(CONFIG, model=SECOND_MODEL)) as one:
            one.put("/p", "a.py", "alpha")
            one.keep("/p")
            fetching = {"phase": "fetching", "fraction": 0.1}
            await one.until(lambda: described(one)["loading"] == fetching)
            assert described(one)["loaded"] is False
            with pytest.raises(FovealError, match=r"is being made ready \(fetching\)"):
                await one.search("/p")
            await one.client.stop(GENEROUS_S / 2)
            await one.until(lambda: one.client.child.pid is None)
            assert described(one)["loading"] is None
    assert "was killed" not in caplog.text, "its end doesn't wait for the model"


async def test_nothing_is_called_done_while_the_process_hears_of_changes(tmp_path: Path) -> None:
    async with running(tmp_path) as one:
        one.put("/p", "a.py", "alpha")
        one.keep("/p")
        await one.embedded("/p", 1)
        one.told.clear()
        one.client.note_change("/p")
        assert one.client.progress("/p") is None
        await one.until(lambda: one.client.progress("/p") is not None)
        assert (one.told[-1]["project"], one.told[-1]["pending"]) == ("/p", 0), "who asks then gets the truth"
        for n in range(20):
            one.put("/p", f"f{n}.py", f"name{n}")
            one.client.note_change("/p")
        await one.embedded("/p", 21)
        one.client.note_change("/unknown")


async def test_two_projects_and_a_killed_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linking, "BACKOFF_S", (0.001,))
    async with running(tmp_path) as one:
        for name in ("/p", "/q"):
            one.put(name, "a.py", "alpha", name[1:])
            one.keep(name)
        await one.embedded("/p", 2)
        await one.embedded("/q", 2)
        former = process(one)
        one.told.clear()
        former.kill()
        await one.until(lambda: one.is_ready(former.pid))
        assert await one.search("/p") == 2, "the next one was told of both"
        assert await one.search("/q") == 2
        assert process(one).pid != former.pid
        assert one.client.problem("/p") == ""
        assert all(data.get("pending", 0) == 0 for data in one.told), "nothing is embedded twice"


@pytest.mark.parametrize("obstacle", ["model", "folder"])
async def test_an_unavailable_model_is_reported_and_stops_nothing_else(tmp_path: Path, obstacle: str) -> None:
    config = dataclasses.replace(CONFIG, model="no/such-model") if obstacle == "model" else CONFIG
    if obstacle == "folder":
        (tmp_path / FOLDER).write_bytes(b"in the way")
    async with running(tmp_path, config) as one:
        one.put("/p", "a.py", "alpha")
        one.keep("/p")
        await one.until(lambda: one.client.problem("/p") != "")
        with pytest.raises(FovealError):
            await one.search("/p")
        process(one).kill()
        await one.until(lambda: one.client.problem("/p") != "")
        described = one.client.describe()
        assert described is not None
        assert described["source"] == ("fastembed" if obstacle == "model" else "bundled")


async def test_a_question_does_not_wait_for_a_process_that_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linking, "BACKOFF_S", (10 * GENEROUS_S,))
    monkeypatch.setattr(client_file, "ARGV", (sys.executable, "-c", ""))
    async with running(tmp_path) as one:
        one.put("/p", "a.py", "alpha")
        one.keep("/p")
        await one.until(lambda: "being started again" in one.client.problem("/p"))
        with pytest.raises(ChildDied, match="ended by itself and is being started again"):
            await one.search("/p")
        assert (one.client.child.pid, one.client.loading) == (None, None)


async def scored(one: Running, queries: tuple[str, ...], documents: tuple[str, ...]) -> TextScores:
    """Compare texts, again and again while the model is loaded: an answer waits two seconds for that."""
    async with asyncio.timeout(GENEROUS_S):
        while True:
            try:
                return await one.client.score_texts(queries, documents, GENEROUS_S)
            except FovealError as error:
                if "is being made ready" not in str(error):
                    raise


async def test_texts_of_no_project_are_compared_with_no_project_kept(tmp_path: Path) -> None:
    async with running(tmp_path) as one:
        rules = ("Take a screenshot of the page", "Write a commit message")
        scores = await scored(one, ("what do I write when I commit?",), rules)
        ((screenshot, commit),) = scores.rows
        assert (scores.pending, screenshot < commit) == ((), True)
    async with running(tmp_path, dataclasses.replace(CONFIG, enabled=False)) as one:
        with pytest.raises(Unsupported, match="switched off"):
            await one.client.score_texts(("a",), rules, GENEROUS_S)


async def test_when_it_is_switched_off_nothing_runs(tmp_path: Path) -> None:
    async with running(tmp_path, dataclasses.replace(CONFIG, enabled=False)) as one:
        one.put("/p", "a.py", "alpha")
        one.keep("/p")
        one.client.note_change("/p")
        one.client.prefer("/p", ["a.py"])
        one.client.drop("/p")
        assert (one.client.enabled, one.client.keeps("/p"), one.client.describe()) == (
            False,
            False,
            None,
        )
        assert one.client.problem("/p") == ""
        with pytest.raises(Unsupported, match="switched off"):
            await one.search("/p")
        assert one.client.child.pid is None
    assert not (tmp_path / FOLDER / "embeddings.sqlite").exists()


@pytest.mark.parametrize(
    ("progress", "expected"),
    [
        (VectorProgress("/p", 10, 4, 2.0), (6, 4, 2.0, 2_000)),
        (VectorProgress("/p", 10, 0, 0.0), (10, 0, 0.0, None)),
        (VectorProgress("/p", 10, 10, 0.0, "no model"), (0, 10, 0.0, None)),
    ],
)
def test_progress_in_numbers(progress: VectorProgress, expected: tuple[object, ...]) -> None:
    told = progress_map(progress)
    assert told["project"] == "/p"
    assert (told["embedded"], told["pending"], told["chunks_per_second"], told["eta_ms"]) == expected
