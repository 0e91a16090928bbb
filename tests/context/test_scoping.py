"""Scopes are kept within their limits, also those that come from the disk, and expanded at a known cost."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path

import pytest
from foveal.daemon.config.settings import EmbeddingConfig, Environment, UserConfig
from foveal.daemon.context import scoping
from foveal.daemon.context.focus import GLOBS_MAX
from foveal.daemon.context.scopes import ScopeStore, ScopeTable
from foveal.daemon.context.scoping import ScopeSelector, ScopeService
from foveal.daemon.core.events import EventHub
from foveal.daemon.core.storage import DatabaseError
from foveal.daemon.core.system import System, stamp_of
from foveal.daemon.core.work import Work
from foveal.daemon.embedding.service import EmbedderClient
from foveal.daemon.index.records import TreeDelta
from foveal.daemon.project.records import FileRecord
from foveal.daemon.sessions.records import Scope
from foveal.daemon.workspace.service import IndexerClient, OpenProjects

from tests.conftest import write_files


class Desk:
    """Scopes with what they need; no indexer runs."""

    def __init__(self, base: Path, most: int) -> None:
        self.state = str(base / "state")
        environment = Environment(str(base), self.state, str(base), 0)
        system = System()
        self.work = Work()
        self.events = EventHub(system)
        self.scopes = ScopeTable(1 << 20, most)
        semantics = EmbedderClient(EmbeddingConfig(enabled=False), self.state, self.work, self.events)
        indexing = IndexerClient(self.work, self.events, semantics)
        self.projects = OpenProjects(environment, UserConfig(), system, self.work, indexing)
        self.scoping = ScopeService(self.scopes, self.projects, self.work, self.events, system)


@asynccontextmanager
async def desk(base: Path, most: int = 100) -> AsyncIterator[Desk]:
    made = Desk(base, most)
    async with asyncio.TaskGroup() as tasks:
        made.work.begin(tasks)
        assert await made.scoping.load(made.state) == ""
        yield made
        await made.scoping.persist()
        await made.scoping.close()
    made.projects.close_all()
    made.work.close()


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "state").mkdir()
    write_files(tmp_path / "p", {"a.py": "x = 1\n", "b.py": "", "[id].py": ""})
    return tmp_path.resolve()


async def make(desk: Desk, base: Path, *agents: str) -> list[str]:
    project = await desk.projects.open_root(str(base / "p"))
    selectors = [ScopeSelector(session_id="s", agent_id=agent) for agent in agents]
    return [(await desk.scoping.scope_for(project, selector)).id for selector in selectors]


async def test_loading_keeps_the_latest_scopes_within_the_limits(base: Path) -> None:
    async with desk(base) as first:
        ids = await make(first, base, "a", "b", "c")
    async with desk(base, most=2) as second:
        assert [scope.id for scope in second.scopes.of_project(None)] == ids[:0:-1]
    async with desk(base) as third:
        assert len(third.scopes) == 2, "those that went are gone from the disk too"


async def test_so_many_globs_are_matched_and_the_others_are_unknown(base: Path) -> None:
    async with desk(base) as made:
        (scope,) = await make(made, base, "a")
        project = await made.projects.open_root(str(base / "p"))
        stamp = stamp_of((base / "p" / "a.py").stat())
        known = tuple(FileRecord(path, stamp) for path in ("[id].py", "a.py"))
        project.apply(TreeDelta(project.root, 1, upserted=known))
        globs = [f"**/{'?' * n}*.py" for n in range(2)] + [f"{'*' * n}.py" for n in range(3, GLOBS_MAX + 11)]
        paths = ["[id].py", "a.py"]
        reply = await made.scoping.expand(scope, [*globs, *globs, *paths])
        assert reply == {
            "expanded": [*globs[:GLOBS_MAX], *paths],
            "already": [],
            "unknown": globs[GLOBS_MAX:],
        }


def limit_pages(desk: Desk, pages: int) -> None:
    """Let SQLite find no room beyond so many pages, as on a disk that is full."""
    store = desk.scoping._store
    assert store is not None
    store._db.execute(f"PRAGMA max_page_count = {pages}")


async def test_a_full_disk_keeps_nobody_from_a_scope_and_is_told_until_it_was_written(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoping, "RETRY_S", 0.0)
    async with desk(base) as first:
        ids = await make(first, base, "a")
        limit_pages(first, 1)
        long = "x" * 100_000
        ids += await make(first, base, f"b{long}")
        assert "full" in first.scoping.problem
        with suppress(DatabaseError):  # it may be written together with what has no room
            await first.scoping.expand(ids[0], ["a.py"])
        limit_pages(first, 1_000_000)
        async with asyncio.timeout(20):
            while first.scoping.problem:  # noqa: ASYNC110 - it is written by itself, which is no event
                await asyncio.sleep(0)
    async with desk(base) as second:
        assert sorted(scope.id for scope in second.scopes.of_project(None)) == sorted(ids)
        assert second.scopes.get(ids[0]).expanded == ("a.py",)


def test_scopes_that_can_not_be_read_are_kept_elsewhere_and_the_others_are_used(tmp_path: Path) -> None:
    path = str(tmp_path / "scopes.sqlite")
    store = ScopeStore(path, System())
    store.write({name: Scope(name, "/srv", name) for name in ("s_1", "s_2", "s_3")})
    store._db.execute("UPDATE scopes SET record = '{}' WHERE id = 's_2'")
    store.close()
    store = ScopeStore(path, System())
    assert {scope.id for scope in store.load()} == {"s_1", "s_3"}
    assert store.unreadable == 1
    store.close()
    store = ScopeStore(path, System())
    assert (len(store.load()), store.unreadable, store.replaced) == (2, 0, "")
    store.close()
    (kept,) = tmp_path.glob("scopes.sqlite.damaged-*[0-9]")
    with closing(sqlite3.connect(kept)) as database:
        assert database.execute("SELECT COUNT(*) FROM scopes").fetchone() == (3,)
