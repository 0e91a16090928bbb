"""The engine computes a thing once for all who ask, and answers without the parts that are missing."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from foveal.daemon.config.settings import EmbeddingConfig, Environment, UserConfig
from foveal.daemon.context import service as contexts
from foveal.daemon.context import sources
from foveal.daemon.context.records import ContextRequest, ScopeSelector
from foveal.daemon.context.service import Built, build
from foveal.daemon.core import child as child_process
from foveal.daemon.core.child import ChildProcess
from foveal.daemon.core.errors import ChildDied, FovealError, ProjectUnavailable
from foveal.daemon.core.system import System
from foveal.daemon.core.work import Deadline
from foveal.daemon.engine.engine import Engine
from foveal.daemon.memory.experience import Draft
from foveal.daemon.project.service import Tree
from foveal.daemon.search.query import SearchQuery
from foveal.daemon.sessions.records import Scope
from foveal.daemon.workspace import freshness, indexer_client
from foveal.daemon.workspace.index_view import read_tree
from foveal.daemon.workspace.service import Project

from tests.conftest import git, write_files
from tests.engine_cases import running_engine

GENEROUS_S = 60.0
DIES = (sys.executable, "-c", "")
HANGS = (sys.executable, "-c", "import signal; signal.pause()")


@asynccontextmanager
async def running(
    base: Path, config: UserConfig | None = None, argv: tuple[str, ...] = ()
) -> AsyncIterator[Engine]:
    """Run an engine; `argv` is what it takes for its indexer."""
    home = base / "home"
    home.mkdir(exist_ok=True)
    environment = Environment(str(home), str(base / "state"), str(base / "config"), 0)
    engine = Engine(environment, config or UserConfig(embedding=EmbeddingConfig(enabled=False)), System())
    started, linked = asyncio.Event(), asyncio.Event()
    if argv:
        link = engine.indexing.link

        async def on_started() -> None:
            linked.set()
            await link._on_started()

        engine.indexing.link = ChildProcess("indexer", argv, link._on_event, on_started, link._on_died)
    async with asyncio.timeout(GENEROUS_S):
        task = asyncio.create_task(engine.run(started))
        await started.wait()
        if argv == HANGS:
            await linked.wait()
        try:
            yield engine
        finally:
            await engine.close(0.1 if argv else GENEROUS_S)
            await task


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "state").mkdir()
    return tmp_path.resolve()


@pytest.fixture
def root(base: Path) -> str:
    files: dict[str, str | bytes] = {
        "a.py": "import b\n",
        "b.py": "def f(): ...\n",
        ".git/HEAD": "ref: refs/heads/x\n",
    }
    return str(write_files(base / "p", files))


async def ready(project: Project) -> None:
    while project.state != "ready":
        await project.index_state.wait_changed()


async def test_a_project_is_not_ready_without_an_indexer(base: Path, root: str) -> None:
    async with running(base) as engine:
        project = await engine.projects.open_root(root)
        await ready(project)
        pid = engine.indexing.link.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        while project.state == "ready":
            await project.index_state.wait_changed()
        assert project.state == "scanning"
        assert "the indexer process ended" in " ".join(project.degraded)
        await ready(project)


async def test_a_project_is_not_ready_before_the_tree_of_its_index_is_read(
    base: Path, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An indexer that was killed committed more than it announced; the next one is ready at once."""
    reads, read_on = threading.Event(), threading.Event()

    def read_later(*args: str) -> object:
        reads.set()
        assert read_on.wait(GENEROUS_S)
        return read_tree(*args)

    async with running(base) as engine:
        project = await engine.projects.open_root(root)
        await ready(project)
        known = project.tree
        project.tree = Tree(root, known.generation - 1)
        monkeypatch.setattr(indexer_client, "read_tree", read_later)
        reopened = asyncio.create_task(engine.indexing.reopen(project))
        await asyncio.to_thread(reads.wait, GENEROUS_S)
        try:
            for _ in range(20):  # it answers, and by the last of these it has long been ready itself
                assert await engine.indexing.sync(project) is None, "what it took in isn't in the tree yet"
            assert str(project.state) == "scanning"
        finally:
            read_on.set()
        await reopened
        await ready(project)
        assert project.tree.files == known.files


async def test_request_during_an_indexer_restart_gets_busy(base: Path, root: str) -> None:
    async with running(base) as engine:
        project = await engine.projects.open_root(root)
        await ready(project)
        assert engine.indexing.link.pid is not None
        os.kill(engine.indexing.link.pid, signal.SIGKILL)
        while engine.indexing.link.pid is not None:
            await project.index_state.wait_changed()
        with pytest.raises(ChildDied, match="can't be indexed now"):
            await engine.indexing.reindex(project, full=True)
        await ready(project)


FATAL = """
import os, signal
from foveal.daemon.index import project_index, worker
step = project_index.BulkWork.step
def fatal(self):
    if os.path.exists(self._index.command.root + "/fatal"):
        os.kill(os.getpid(), signal.SIGKILL)
    step(self)
project_index.BulkWork.step = fatal
worker.main()
"""


@pytest.mark.parametrize("asked", ["reindexed", "opened again"])
async def test_a_project_that_ends_the_indexer_is_left_out_while_others_go_on(
    base: Path, root: str, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_process, "BACKOFF_S", (0.001,))
    monkeypatch.setattr(indexer_client, "DEATHS_MAX", 3)
    write_files(base, {"bad/fatal": "", "bad/a.py": "def f(): ...\n"})
    async with running(base, argv=(sys.executable, "-c", FATAL)) as engine:
        bad = await engine.projects.open_named(str(base / "bad"))
        while not engine.indexing.is_left_out(bad):
            await bad.index_state.wait_changed()
        assert bad.state == "degraded"
        (problem,) = bad.degraded
        assert "the indexer ended 3 times at work on this project" in problem
        assert f"foveal reindex {bad.root}" in problem
        good = await engine.projects.open_root(root)
        await ready(good)
        write_files(Path(root), {"new.py": "def new(): ...\n"})
        tree = await engine.indexing.sync(good)
        assert tree is not None
        assert tree.files["new.py"].parsed
        with pytest.raises(FovealError, match="not open in the indexer"):
            await engine.indexing.sync(bad)
        # It is tried again when somebody asks for it.
        (base / "bad/fatal").unlink()
        if asked == "reindexed":
            await engine.indexing.reindex(bad, full=False)
        else:
            assert await engine.projects.open_named(bad.root) is bad
        await ready(bad)
        assert not bad.degraded


async def test_stopped_indexer_is_replaced(base: Path, root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(base) as engine:
        project = await engine.projects.open_root(root)
        await ready(project)
        monkeypatch.setattr(child_process, "BEAT_S", 0.1)
        pid = engine.indexing.link.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        while "was stopped for" not in " ".join(project.degraded):
            await project.index_state.wait_changed()
        await ready(project)
        assert not project.degraded
        assert engine.indexing.link.pid != pid


async def ask(engine: Engine, project: Project, scope: Scope, **options: Any) -> dict[str, Any]:
    request, fresh = options.get("request", ContextRequest()), options.get("fresh", "shown")
    return await engine.contexts.get(project, scope, request, fresh, options.get("deadline_ms"))


def counted(monkeypatch: pytest.MonkeyPatch, owner: ModuleType, real: Callable[..., Any]) -> list[Any]:
    """Note the calls of a function that one of its parts uses; returns the list of their first arguments."""
    calls: list[Any] = []

    def call(*arguments: Any) -> Any:
        calls.append(arguments[0])
        return real(*arguments)

    monkeypatch.setattr(owner, real.__name__, call)
    return calls


async def test_the_first_prompt_waits_for_names_and_words(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freshness, "NEW_S", GENEROUS_S)
    monkeypatch.setattr(sources, "METADATA_WAIT_S", GENEROUS_S)
    files: dict[str, str | bytes] = {
        f"pkg{number % 8}/module{number}.py": f"def work{number}(item):\n    return item + {number}\n"
        for number in range(80)
    }
    files["pkg9/ledger.py"] = "def reconcile_ledger(entries):\n    return sum(entries)\n"
    files["package.json"] = '{"name": "kite", "description": "Flies kites."}'
    root = write_files(base / "cold", files)
    request = ContextRequest(prompt="Where are ledger entries reconciled?")
    async with running(base) as engine:  # its indexer isn't there yet
        project = await engine.projects.at(str(root))
        scope = await engine.scoping.scope_for(project, ScopeSelector())
        searching = engine.contexts._sources.searching
        search = searching.search

        async def search_then_link(*arguments: Any, **named: Any) -> Any:
            found = await search(*arguments, **named)
            await ready(project)  # links aren't waited for: an answer before them would name a gap
            return found

        monkeypatch.setattr(searching, "search", search_then_link)
        reply = await ask(engine, project, scope, request=request, deadline_ms=60_000)
    assert "def reconcile_ledger" in reply["context"]
    assert "Flies kites." in reply["context"]
    assert (reply["partial"], reply["gaps"], reply["degraded"]) == (False, [], [])


# Once for all


async def test_concurrent_requests_share_a_build(
    base: Path, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    builds = counted(monkeypatch, contexts, build)
    async with running(base) as engine:
        project = await engine.projects.at(root)
        await ready(project)
        scope = await engine.scoping.scope_for(project, ScopeSelector(focus_paths=("a.py",)))
        replies = await asyncio.gather(*(ask(engine, project, scope) for _ in range(20)))
        assert {reply["context"] for reply in replies} == {replies[0]["context"]}
        assert "def f()" in replies[0]["context"]
        assert len(builds) == 1
        again = await ask(engine, project, scope)
        assert (again["cached"], again["context"]) == (True, replies[0]["context"])
        assert len(builds) == 1
        await ask(engine, project, scope, request=ContextRequest(max_tokens=5_000))
        assert len(builds) == 2


async def test_cancelled_request_does_not_cancel_a_shared_build(
    base: Path, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, begun = asyncio.get_running_loop(), asyncio.Event()

    def build_slowly(*arguments: Any) -> Built:
        loop.call_soon_threadsafe(begun.set)
        return build(*arguments)

    monkeypatch.setattr(contexts, "build", build_slowly)
    async with running(base) as engine:
        project = await engine.projects.at(root)
        await ready(project)
        scope = await engine.scoping.scope_for(project, ScopeSelector(focus_paths=("a.py",)))
        impatient, patient = (asyncio.create_task(ask(engine, project, scope)) for _ in range(2))
        await begun.wait()
        impatient.cancel()
        assert "def f()" in (await patient)["context"]
        assert impatient.cancelled()


# Parts that are missing


async def test_without_an_indexer_files_are_shown_and_the_answer_says_so(base: Path, root: str) -> None:
    async with running(base, argv=DIES) as engine:
        project = await engine.projects.at(root)
        scope = await engine.scoping.scope_for(project, ScopeSelector(focus_paths=("a.py",)))
        for fresh in ("shown", "tree", "no"):
            reply = await ask(engine, project, scope, fresh=fresh)
            assert "import b" in reply["context"]
            assert any("indexer" in reason for reason in reply["degraded"])
            assert reply["partial"]


async def test_an_indexer_that_hangs_costs_no_more_than_the_deadline(base: Path, root: str) -> None:
    async with running(base, argv=HANGS) as engine:
        opening = await begin_to_open(engine, root)
        project = engine.projects.get(root)
        assert project is not None
        scope = await engine.scoping.scope_for(project, ScopeSelector(focus_paths=("a.py",)))
        reply = await ask(engine, project, scope, fresh="tree", deadline_ms=50)
        assert "import b" in reply["context"]
        assert reply["partial"]
        assert any("not compared with the disk in time" in reason for reason in reply["degraded"])
        due = Deadline(asyncio.get_running_loop().time())
        found = await engine._searching.search(project, SearchQuery("zebra", 3), due)
        assert found.degraded == ("the project isn't indexed yet: ask again in a moment",)
        opening.cancel()


async def test_a_root_that_is_gone_is_an_error_and_is_not_kept(base: Path, root: str) -> None:
    async with running(base) as engine:
        with pytest.raises(ProjectUnavailable):
            await engine.projects.open_root(str(base / "nowhere"))
        assert list(engine.projects) == []
        await engine.projects.open_root(root)


# Scopes


# The end


async def begin_to_open(engine: Engine, root: str) -> asyncio.Task[Project]:
    """Begin to open a project whose indexer doesn't answer, up to where that is waited for."""
    real, asked = engine.indexing.link.request, asyncio.Event()

    async def request(command: Any, at_reply: Any = None) -> Any:
        asked.set()
        return await real(command, at_reply)

    engine.indexing.link.request = request  # type: ignore[method-assign]  # to see when it is asked
    opening = asyncio.create_task(engine.projects.at(root))
    await asked.wait()
    return opening


async def test_work_trees_that_git_removed_leave_only_decisions(tmp_path: Path) -> None:
    """A root that is only gone may be on a drive that isn't mounted, and keeps all."""
    async with running_engine(tmp_path, {"a.py": "def a(): ...\n"}) as (engine, project):
        first = Path(project.root)
        git(first, "init", "-q", "-b", "main")
        git(first, "add", ".")
        git(first, "commit", "-q", "-m", "first")
        folders = {}
        for name in ("bare", "decided", "unmounted"):
            git(first, "worktree", "add", "-q", "--detach", str(tmp_path / name))
            tree = await engine.projects.at(str(tmp_path / name))
            while tree.state != "ready":
                await tree.index_state.wait_changed()
            folders[name] = Path(tree.folder)
        (folders["decided"] / "experiences.jsonl").write_text("")
        for name in ("bare", "decided"):
            git(first, "worktree", "remove", "--force", str(tmp_path / name))
        shutil.rmtree(tmp_path / "unmounted")
        await engine.forgetting.forget_removed_trees()
        assert not folders["bare"].exists()
        assert sorted(path.name for path in folders["decided"].iterdir()) == [
            "experiences.jsonl",
            "project.json",
        ]
        assert (folders["unmounted"] / "index.sqlite").exists()
        assert engine.projects.get(str(tmp_path / "bare")) is None
        assert project.state == "ready"
        git(first, "worktree", "prune")
        (first / ".git").rename(tmp_path / "elsewhere")
        await engine.forgetting.forget_removed_trees()
        assert (folders["unmounted"] / "index.sqlite").exists(), "its repository can't be asked"
        (tmp_path / "elsewhere").rename(first / ".git")
        await engine.forgetting.forget_removed_trees()
        assert not folders["unmounted"].exists()


async def test_who_opens_a_work_tree_keeps_the_pool_that_is_forgotten(tmp_path: Path) -> None:
    """Also a main one whose record is of a version without families, or can't be read, and one that opens
    only when another is to be forgotten."""
    async with running_engine(tmp_path, {"a.py": "def a(): ...\n"}) as (engine, other):
        first = write_files(tmp_path / "first", {"a.py": ""})
        git(first, "init", "-q", "-b", "main")
        git(first, "commit", "-q", "--allow-empty", "-m", "first")
        linked, projects = str(tmp_path / "linked"), engine.projects
        git(first, "worktree", "add", "-q", "--detach", linked)
        await projects.at(linked)

        @asynccontextmanager
        async def pause(belongs: object) -> AsyncIterator[None]:
            main = await projects.at(str(first))
            await engine.experiences.graft(main, Draft("Use WAL", "ann", "s1"))
            yield

        engine.forgetting.pause = pause
        kept = f"1 of the repository's decisions stay, for its other work trees: {first}"
        assert (await engine.forgetting.forget(linked, dry_run=False)).kept == kept
        record = Path(projects.folder_of(str(first)), "project.json")
        for former in (json.dumps({"root": str(first)}), "{"):
            await projects.at(linked)
            write_files(record.parent, {record.name: former})
            assert (await engine.forgetting.forget(linked, dry_run=True)).kept == kept
            assert (await projects.family_of(linked))[1] == (str(first),)
        await projects.close(str(first))
        await projects.close(other.root)
        async with projects.closed_meanwhile(linked):
            opening = asyncio.create_task(projects.at(str(first)))
            await projects.at(other.root)
            await projects.at(other.root)
            assert not opening.done()
        assert (await opening).root == str(first)
