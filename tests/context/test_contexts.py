"""With a deadline the best context so far comes back, whatever is slow, and says what is missing of it."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from foveal.daemon.context import service as contexts
from foveal.daemon.context import sources
from foveal.daemon.context.assembly import build
from foveal.daemon.context.build_state import GatheredSources
from foveal.daemon.context.built import SEARCH_UNFINISHED, Built
from foveal.daemon.context.item_plans import plan_items
from foveal.daemon.context.requests import ContextRequest
from foveal.daemon.context.scoping import ScopeSelector
from foveal.daemon.core.work import BUILD_THREADS, Deadline
from foveal.daemon.engine.service import Engine
from foveal.daemon.index.records import TreeDelta
from foveal.daemon.project.service import Tree
from foveal.daemon.sessions.records import Scope
from foveal.daemon.workspace import freshness
from foveal.daemon.workspace.service import Project, TreeFreshness

from tests.conftest import write_files
from tests.engine_cases import GENEROUS_S, running_engine

SOON_MS = 300
"""A deadline that what hangs in these tests never meets."""

LATE_MS = 60_000
PROMPT = ContextRequest(prompt="how is the cart paid?")


@asynccontextmanager
async def running(base: Path) -> AsyncIterator[tuple[Engine, Project, Scope]]:
    files: dict[str, str | bytes] = {
        "a.py": "import b\n",
        "b.py": "def f(): ...\n",
        "cart.py": "def pay_cart():\n    return 'paid'\n",
        "CLAUDE.md": "Be kind.\n",
        ".git/HEAD": "ref: refs/heads/x\n",
    }
    async with running_engine(base, files) as (engine, project):
        selector = ScopeSelector(focus_paths=("a.py",))
        yield engine, project, await engine.scoping.scope_for(project, selector)


async def ask(
    engine: Engine,
    project: Project,
    scope: Scope,
    request: ContextRequest = PROMPT,
    deadline_ms: int = LATE_MS,
) -> dict[str, Any]:
    return await engine.contexts.get(project, scope, request, "shown", deadline_ms)


def check_whole(reply: dict[str, Any]) -> None:
    assert not reply["partial"]
    assert reply["gaps"] == []
    assert "pay_cart" in reply["context"]


async def test_fresh_tree_is_built_from_the_tree_that_was_compared_and_its_clock_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path) as (engine, project, scope):
        real = TreeFreshness.sync
        clocks = []

        async def sync(freshness: TreeFreshness, of: Project, deadline: Deadline) -> Tree | None:
            tree = await real(freshness, of, deadline)
            clocks.append(of.clock)
            # What the watcher saw in the middle of a move, before the request goes on.
            of.apply(TreeDelta(of.root, of.tree.generation + 1, (), ("cart.py",)))
            return tree

        monkeypatch.setattr(TreeFreshness, "sync", sync)
        reply = await engine.contexts.get(project, scope, ContextRequest(), "tree", LATE_MS)
        assert "cart.py" in reply["context"]
        assert reply["clock"] == clocks[0] != project.clock
        reply = await engine.contexts.get(project, scope, ContextRequest(), "shown", LATE_MS)
        assert "cart.py" not in reply["context"]
        assert reply["clock"] == project.clock


async def test_a_file_that_changes_while_it_is_shown_is_read_again_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freshness, "REFRESH_WAIT_S", GENEROUS_S)
    async with running(tmp_path) as (engine, project, scope):
        builds = itertools.count()

        def build_late(gathered: GatheredSources) -> Built:
            if not next(builds):
                write_files(Path(project.root), {"b.py": "def renamed_later(): ...\n"})
            return build(gathered)

        monkeypatch.setattr(contexts, "build", build_late)
        reply = await ask(engine, project, scope)
        assert "def renamed_later()" in reply["context"]
        assert reply["degraded"] == []
        assert next(builds) == 2


async def test_who_joins_a_build_that_runs_is_shown_what_changed_before_it_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path) as (engine, project, scope):
        built, go_on = asyncio.Event(), threading.Event()
        loop, run, asked = asyncio.get_running_loop(), engine.contexts._building.run, itertools.count(1)

        async def run_and_count(*arguments: Any) -> Any:
            if next(asked) == 2:
                loop.call_soon(go_on.set)
            return await run(*arguments)

        def build_and_wait(gathered: GatheredSources) -> Built:
            done = build(gathered)
            loop.call_soon_threadsafe(built.set)
            assert go_on.wait(GENEROUS_S)
            return done

        monkeypatch.setattr(contexts, "build", build_and_wait)
        monkeypatch.setattr(engine.contexts._building, "run", run_and_count)
        async with asyncio.TaskGroup() as tasks:
            first = tasks.create_task(ask(engine, project, scope, ContextRequest()))
            await built.wait()
            write_files(Path(project.root), {"a.py": "import b\nCHANGED = 1\n"})
            second = tasks.create_task(ask(engine, project, scope, ContextRequest()))
        assert "CHANGED" not in first.result()["context"]
        assert "CHANGED" in second.result()["context"]


async def test_a_search_that_takes_too_long_is_left_out_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path) as (engine, project, scope):
        search, go_on = engine.contexts._sources.searching.search, asyncio.Event()

        async def search_slowly(*arguments: Any) -> Any:
            await go_on.wait()
            return await search(*arguments)

        monkeypatch.setattr(engine.contexts._sources.searching, "search", search_slowly)
        reply = await ask(engine, project, scope, deadline_ms=SOON_MS)
        assert reply["partial"]
        assert SEARCH_UNFINISHED in reply["gaps"]
        assert "import b" in reply["context"]
        assert "Be kind." in reply["context"]
        assert "return 'paid'" not in reply["context"]
        go_on.set()
        check_whole(await ask(engine, project, scope))


async def test_a_search_of_items_that_takes_too_long_is_left_out_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path) as (engine, project, scope):

        async def search_never(known: Any, session: Any, request: ContextRequest, *rest: Any) -> Any:
            if request.prompt:
                await asyncio.Event().wait()
            return await plan_items(known, session, request, *rest)

        await ask(engine, project, scope, ContextRequest())  # rules are known from now on
        monkeypatch.setattr(sources, "plan_items", search_never)
        # A second for the sources, and for the build as long as it takes.
        monkeypatch.setattr(contexts, "BUILD_SHARE", 0.98)
        monkeypatch.setattr(contexts, "BUILD_S", GENEROUS_S)
        reply = await ask(engine, project, scope)
        assert any("items were not searched" in reason for reason in reply["degraded"])
        assert "Be kind." in reply["context"]
        assert "pay_cart" in reply["context"] or reply["partial"]


async def test_with_every_builder_taken_what_needs_none_comes_back(tmp_path: Path) -> None:
    async with running(tmp_path) as (engine, project, scope):
        await ask(engine, project, scope, ContextRequest())  # rules are known from now on
        go_on = threading.Event()
        busy = [asyncio.create_task(engine._work.in_builder(go_on.wait)) for _ in range(BUILD_THREADS)]
        try:
            reply = await ask(engine, project, scope, deadline_ms=SOON_MS)
            assert reply["partial"]
            assert {SEARCH_UNFINISHED, contexts.QUICK} <= set(reply["gaps"])
            assert "import b" in reply["context"]
            assert "Be kind." in reply["context"]
        finally:
            go_on.set()
        await asyncio.gather(*busy)
        check_whole(await ask(engine, project, scope))


async def test_a_build_that_takes_too_long_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    builds: list[bool] = []

    def build_slowly(gathered: GatheredSources) -> Built:
        builds.append(gathered.quick)
        if not gathered.quick:
            go_on.wait()
        return build(gathered)

    monkeypatch.setattr(contexts, "build", build_slowly)
    async with running(tmp_path) as (engine, project, scope):
        silent = ContextRequest()
        try:
            reply = await ask(engine, project, scope, silent, SOON_MS)
        finally:
            go_on.set()
        assert reply["partial"]
        assert reply["gaps"] == [contexts.QUICK]
        again = await ask(engine, project, scope, silent)
        assert not again["partial"]
        assert builds[:2] == [False, True]


async def test_what_was_found_is_named_if_there_is_no_time_to_show_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()

    def build_slowly(gathered: GatheredSources) -> Built:
        if not gathered.quick:
            go_on.wait()
        return build(gathered)

    monkeypatch.setattr(contexts, "build", build_slowly)
    monkeypatch.setattr(contexts, "SPARE_SHARE", 1e6)
    at_once = staticmethod(lambda deadline: contexts._Times(deadline, deadline, Deadline(0)))
    monkeypatch.setattr(contexts._Times, "until", at_once)
    async with running(tmp_path) as (engine, project, scope):
        run, build_quickly, spared = (
            engine.contexts._building.run,
            engine.contexts._build_quickly,
            asyncio.Event(),
        )

        async def build_spare(*arguments: Any) -> Built:
            spared.set()
            return await build_quickly(*arguments)

        async def run_too_long(*arguments: Any) -> Any:
            task = asyncio.create_task(run(*arguments))
            await spared.wait()
            whole.append(task)
            raise TimeoutError

        whole: list[asyncio.Task[Any]] = []
        monkeypatch.setattr(engine.contexts, "_build_quickly", build_spare)
        with monkeypatch.context() as patched:
            patched.setattr(engine.contexts._building, "run", run_too_long)
            try:
                reply = await ask(engine, project, scope)
            finally:
                go_on.set()
        await asyncio.gather(*whole)
        assert SEARCH_UNFINISHED not in reply["gaps"]
        assert contexts.QUICK in reply["gaps"]
        assert [part["path"] for part in reply["slices"] if part["type"] == "place"] == ["cart.py"]
        assert "pay_cart" in reply["context"]
        assert "def pay_cart" not in reply["context"]
        check_whole(await ask(engine, project, scope))


async def test_no_time_at_all_still_gives_the_files_in_focus(tmp_path: Path) -> None:
    async with running(tmp_path) as (engine, project, scope):
        reply = await ask(engine, project, scope, deadline_ms=0)
        assert "import b" in reply["context"]
        assert reply["partial"]
        check_whole(await ask(engine, project, scope))
