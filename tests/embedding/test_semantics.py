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
from foveal.daemon.embedding import semantics as semantics_file
from foveal.daemon.embedding.messages import (
    DEFAULT_DIMENSIONS,
    DEFAULT_MODEL,
    SearchVectors,
    TextScores,
    VectorProgress,
)
from foveal.daemon.embedding.model_cache import LOCK_WAIT_S
from foveal.daemon.embedding.semantics import FOLDER, Semantics, progress_map
from foveal.daemon.index.store import Store

from tests.conftest import link_models
from tests.model_cases import held_lock
from tests.search_cases import chunk, put

GENEROUS_S = 60.0
CONFIG = EmbeddingConfig(threads=2)


class Running:
    """Semantics that run, and an index for each root. `told` is every event's data."""

    def __init__(self, base: Path, config: EmbeddingConfig) -> None:
        self.base = base
        self.work = Work()
        self.told: list[dict[str, Any]] = []
        self.events = EventHub(System())
        self.events.subscribe(self, ["index.progress"], self._hear)
        self.semantics = Semantics(config, str(base), self.work, self.events)
        self.stores: dict[str, Store] = {}
        self._news = asyncio.Event()

    def put(self, root: str, path: str, *names: str) -> None:
        store = self.stores.setdefault(root, Store(self.folder(root), System()))
        put(store, path, [chunk(f"def {name}(): return {name!r}", name) for name in names])

    def folder(self, root: str) -> str:
        return str(self.base / "indexes" / root.strip("/"))

    def keep(self, root: str) -> None:
        self.semantics.keep(root, self.folder(root))

    async def search(self, root: str, text: str = "alpha") -> int:
        return len((await self.semantics.search(SearchVectors(root, (text,), 9, wait_s=GENEROUS_S))).hits)

    async def until(self, known: Callable[[], bool]) -> None:
        """Wait until something is so: it is looked at with each event, and often, as not all is told."""
        while not known():
            self._news.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), 0.02)

    async def embedded(self, root: str, contents: int) -> None:
        def done() -> bool:
            progress = self.semantics.progress(root)
            return progress is not None and (progress.chunks, progress.pending) == (contents, 0)

        await self.until(done)

    def is_ready(self, former_pid: int) -> bool:
        """Whether another process than the former one answers."""
        child = self.semantics.child
        return child.is_ready and child.pid != former_pid

    def _hear(self, event: dict[str, Any]) -> None:
        self.told.append(event["data"])
        self._news.set()


@asynccontextmanager
async def running(base: Path, config: EmbeddingConfig = CONFIG) -> AsyncIterator[Running]:
    one = Running(base, config)
    async with asyncio.timeout(GENEROUS_S), asyncio.TaskGroup() as tasks:
        one.work.begin(tasks)
        task = tasks.create_task(one.semantics.run())
        try:
            yield one
        finally:
            one.work.cancel()
            await one.semantics.stop(GENEROUS_S)
            await task
            one.work.close()
            for store in one.stores.values():
                store.close()


@pytest.fixture
def base(tmp_path: Path, models: Path) -> Path:
    link_models(models, tmp_path)
    return tmp_path


def process(one: Running) -> psutil.Process:
    assert one.semantics.child.pid is not None
    return psutil.Process(one.semantics.child.pid)


async def test_nothing_is_started_before_it_is_needed_and_then_all_works(base: Path) -> None:
    async with running(base) as one:
        one.put("/p", "a.py", "alpha", "beta")
        assert one.semantics.child.pid is None
        assert one.semantics.describe() == {
            "model": DEFAULT_MODEL, "dim": DEFAULT_DIMENSIONS, "source": "bundled", "loaded": False,
            "loading": None, "former": "", "paused": False, "pid": None, "degraded": "",
        }  # fmt: skip
        assert (one.semantics.keeps("/p"), one.semantics.progress("/p")) == (False, None)
        one.keep("/p")
        await one.embedded("/p", 2)
        assert await one.search("/p") == 2
        described = one.semantics.describe()
        assert described is not None
        assert (described["loaded"], described["pid"]) == (True, one.semantics.child.pid)
        assert (one.semantics.problem("/p"), one.semantics.loading) == ("", None)
        phases = [data["model"]["phase"] for data in one.told if "model" in data]
        assert (phases[0], phases[-1]) == ("loading", "ready")


async def test_the_first_request_finds_a_process_that_knows_everything(base: Path) -> None:
    async with running(base) as one:
        for name in ("/p", "/q"):
            one.put(name, "a.py", "alpha")
            one.keep(name)
        one.semantics.note_change("/p")
        assert await one.search("/q") <= 1
        assert len(one.told) >= 2
        assert "Error" not in str(one.told)


async def test_it_is_told_what_is_done_to_get_the_model(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def described(one: Running) -> dict[str, Any]:
        found = one.semantics.describe()
        assert found is not None
        return found

    with held_lock(tmp_path / FOLDER / "models"):
        async with running(tmp_path) as one:
            one.put("/p", "a.py", "alpha")
            one.keep("/p")
            await one.until(lambda: described(one)["loading"] is not None)
            assert described(one)["loading"] == {"phase": "waiting", "fraction": 0.0}
            assert described(one)["loaded"] is False
            with pytest.raises(FovealError, match=r"is being made ready \(waiting\)"):
                await one.search("/p")
            await one.semantics.stop(LOCK_WAIT_S / 2)
            await one.until(lambda: one.semantics.child.pid is None)
            assert described(one)["loading"] is None
    assert "was killed" not in caplog.text, "its end doesn't wait for the model"


async def test_a_model_that_could_not_be_had_is_not_being_loaded(base: Path) -> None:
    async with running(base, dataclasses.replace(CONFIG, model="no/such-model")) as one:
        one.put("/p", "a.py", "alpha")
        one.keep("/p")
        await one.until(lambda: {"model": {"phase": "failed", "fraction": 1.0}} in one.told)
        await one.until(lambda: "no/such-model" in one.semantics.problem("/p"))
        assert one.semantics.loading is None


async def test_nothing_is_called_done_while_the_process_hears_of_changes(base: Path) -> None:
    async with running(base) as one:
        one.put("/p", "a.py", "alpha")
        one.keep("/p")
        await one.embedded("/p", 1)
        one.told.clear()
        one.semantics.note_change("/p")
        assert one.semantics.progress("/p") is None
        await one.until(lambda: one.semantics.progress("/p") is not None)
        assert (one.told[-1]["project"], one.told[-1]["pending"]) == ("/p", 0), "who asks then gets the truth"


async def test_a_former_model_is_told(base: Path, models: Path) -> None:
    async with running(base) as one:
        one.put("/p", "a.py", "alpha", "beta")
        one.keep("/p")
        await one.embedded("/p", 2)
    async with running(base, dataclasses.replace(CONFIG, model="no/such-model")) as one:
        one.put("/p", "a.py", "alpha", "beta")
        one.keep("/p")
        await one.until(lambda: "no/such-model" in one.semantics.problem("/p"))
        assert one.semantics.problem("/p").endswith("all-minilm-l6-v2, the former model, answers meanwhile")
        described = one.semantics.describe()
        assert described is not None
        assert (described["model"], described["former"]) == ("no/such-model", "all-minilm-l6-v2")
        assert await one.search("/p") == 2


async def test_changes_are_followed_many_at_once_too(base: Path) -> None:
    async with running(base) as one:
        one.put("/p", "a.py", "alpha")
        one.keep("/p")
        for n in range(20):
            one.put("/p", f"f{n}.py", f"name{n}")
            one.semantics.note_change("/p")
        await one.embedded("/p", 21)
        one.semantics.note_change("/unknown")


async def test_a_project_that_is_dropped_is_forgotten(base: Path) -> None:
    async with running(base) as one:
        one.put("/p", "a.py", "alpha")
        one.keep("/p")
        await one.embedded("/p", 1)
        one.semantics.drop("/p")
        one.semantics.drop("/p")
        assert one.semantics.progress("/p") is None
        with pytest.raises(FovealError, match="not loaded yet"):  # noqa: PT012 - it is told in a task of its own
            while True:
                await one.search("/p")


async def test_two_projects_and_a_killed_process(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linking, "BACKOFF_S", (0.001,))
    async with running(base) as one:
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
        assert one.semantics.problem("/p") == ""
        assert all(data.get("pending", 0) == 0 for data in one.told), "nothing is embedded twice"


async def test_a_pause_holds_for_the_next_process_too(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linking, "BACKOFF_S", (0.001,))
    async with running(base) as one:
        await one.semantics.set_paused(paused=True)
        assert one.semantics.child.pid is None
        one.put("/p", "a.py", "alpha")
        one.keep("/p")
        assert await one.search("/p") == 0
        former = process(one)
        former.kill()
        await one.until(lambda: one.is_ready(former.pid))
        assert await one.search("/p") == 0
        described = one.semantics.describe()
        assert described is not None
        assert described["paused"] is True
        await one.semantics.set_paused(paused=False)
        await one.embedded("/p", 1)


async def test_an_idle_process_ends_and_comes_back(base: Path) -> None:
    async with running(base, dataclasses.replace(CONFIG, idle_minutes=0.004)) as one:
        one.put("/p", "a.py", "alpha")
        one.keep("/p")
        await one.embedded("/p", 1)
        former = process(one)
        await one.until(lambda: one.semantics.child.pid is None)
        assert not former.is_running() or former.status() == psutil.STATUS_ZOMBIE
        described = one.semantics.describe()
        assert described is not None
        assert (described["loaded"], one.semantics.problem("/p")) == (False, "")
        assert await one.search("/p") == 1
        one.put("/p", "b.py", "beta")
        one.semantics.note_change("/p")
        await one.embedded("/p", 2)


async def test_hot_files_come_first_from_the_start(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(base) as one:
        sent: list[str] = []
        request = one.semantics.child.request

        async def noted(command: object) -> Any:
            sent.append(type(command).__name__)
            return await request(command)

        monkeypatch.setattr(one.semantics.child, "request", noted)
        one.put("/p", "a.py", "alpha")
        one.keep("/p")
        one.semantics.prefer("/p", ["a.py"])
        one.semantics.prefer("/p", [])
        one.semantics.prefer("/unknown", ["a.py"])
        await one.embedded("/p", 1)
        one.semantics.prefer("/p", ["a.py"])
        assert await one.search("/p") == 1
        assert sent == ["PreferFiles", "SearchVectors"], "and nothing is said when all is embedded"


@pytest.mark.parametrize("obstacle", ["model", "folder"])
async def test_what_can_not_be_had_is_said_and_ends_nothing(base: Path, obstacle: str) -> None:
    config = dataclasses.replace(CONFIG, model="no/such-model") if obstacle == "model" else CONFIG
    if obstacle == "folder":
        (base / FOLDER / "models").unlink()
        (base / FOLDER).rmdir()
        (base / FOLDER).write_bytes(b"in the way")
    async with running(base, config) as one:
        one.put("/p", "a.py", "alpha")
        one.keep("/p")
        await one.until(lambda: one.semantics.problem("/p") != "")
        with pytest.raises(FovealError):
            await one.search("/p")
        process(one).kill()
        await one.until(lambda: one.semantics.problem("/p") != "")
        described = one.semantics.describe()
        assert described is not None
        assert described["source"] == ("fastembed" if obstacle == "model" else "bundled")


async def test_a_question_does_not_wait_for_a_process_that_is_started_again(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linking, "BACKOFF_S", (10 * GENEROUS_S,))
    monkeypatch.setattr(semantics_file, "ARGV", (sys.executable, "-c", ""))
    async with running(base) as one:
        one.put("/p", "a.py", "alpha")
        one.keep("/p")
        await one.until(lambda: "being started again" in one.semantics.problem("/p"))
        with pytest.raises(ChildDied, match="ended by itself and is being started again"):
            await one.search("/p")
        assert (one.semantics.child.pid, one.semantics.loading) == (None, None)


async def scored(one: Running, queries: tuple[str, ...], documents: tuple[str, ...]) -> TextScores:
    """Compare texts, again and again while the model is loaded: an answer waits two seconds for that."""
    async with asyncio.timeout(GENEROUS_S):
        while True:
            try:
                return await one.semantics.score_texts(queries, documents, GENEROUS_S)
            except FovealError as error:
                if "is being made ready" not in str(error):
                    raise


async def test_texts_of_no_project_are_compared_with_no_project_kept(base: Path) -> None:
    async with running(base) as one:
        rules = ("Take a screenshot of the page", "Write a commit message")
        scores = await scored(one, ("what do I write when I commit?",), rules)
        ((screenshot, commit),) = scores.rows
        assert (scores.pending, screenshot < commit) == ((), True)
    async with running(base, dataclasses.replace(CONFIG, enabled=False)) as one:
        with pytest.raises(Unsupported, match="switched off"):
            await one.semantics.score_texts(("a",), rules, GENEROUS_S)


async def test_when_it_is_switched_off_nothing_runs(base: Path) -> None:
    async with running(base, dataclasses.replace(CONFIG, enabled=False)) as one:
        one.put("/p", "a.py", "alpha")
        one.keep("/p")
        one.semantics.note_change("/p")
        one.semantics.prefer("/p", ["a.py"])
        one.semantics.drop("/p")
        assert (one.semantics.enabled, one.semantics.keeps("/p"), one.semantics.describe()) == (
            False,
            False,
            None,
        )
        assert one.semantics.problem("/p") == ""
        with pytest.raises(Unsupported, match="switched off"):
            await one.search("/p")
        assert one.semantics.child.pid is None
    assert not (base / FOLDER / "embeddings.sqlite").exists()


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
