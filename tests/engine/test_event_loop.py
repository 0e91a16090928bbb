"""The event loop builds, lists and writes nothing: threads and the indexer do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from os import DirEntry
from pathlib import Path

import pytest
from foveal.daemon.config.settings import EmbeddingConfig, Environment, UserConfig
from foveal.daemon.context import service
from foveal.daemon.context.records import ContextRequest, ScopeSelector
from foveal.daemon.context.service import Built, GatheredSources, build
from foveal.daemon.core.system import System
from foveal.daemon.engine.engine import Engine
from foveal.daemon.memory.records import Draft
from foveal.daemon.sessions.service import SessionChange

from tests.conftest import DEADLINE_S, write_files


class WatchedSystem(System):
    """Counts what it does, and notes what it does on an event loop."""

    def __init__(self) -> None:
        self.calls: dict[str, int] = {}
        self.on_loop: list[str] = []

    def note(self, call: str, subject: object) -> None:
        self.calls[call] = self.calls.get(call, 0) + 1
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return
        self.on_loop.append(f"{call} {subject}")

    @contextmanager
    def scandir(self, path: str) -> Iterator[Iterator[DirEntry[str]]]:
        self.note("scandir", path)
        with super().scandir(path) as entries:
            yield entries

    def write_atomic(self, path: str, data: bytes, *, mode: int = 0o600) -> None:
        self.note("write", path)
        super().write_atomic(path, data, mode=mode)

    def fsync(self, descriptor: int) -> None:
        self.note("fsync", descriptor)
        super().fsync(descriptor)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    for name in ("home", "state"):
        (tmp_path / name).mkdir()
    return tmp_path.resolve()


async def test_the_event_loop_builds_lists_and_writes_nothing(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = WatchedSystem()
    files: dict[str, str | bytes] = {
        "a.py": "import b\n",
        "b.py": "def f(): ...\n",
        "CLAUDE.md": "Log all.\n",
    }
    root = str(write_files(base / "p", files | {".git/HEAD": "ref: refs/heads/x\n"}))

    def build_noted(gathered: GatheredSources) -> Built:
        system.note("build", gathered.request.prompt)
        return build(gathered)

    monkeypatch.setattr(service, "build", build_noted)
    environment = Environment(str(base / "home"), str(base / "state"), str(base / "config"), 0)
    engine = Engine(environment, UserConfig(embedding=EmbeddingConfig(enabled=False)), system)
    started = asyncio.Event()
    async with asyncio.timeout(DEADLINE_S):
        running = asyncio.create_task(engine.run(started))
        await started.wait()
        project = await engine.projects.at(root)
        while project.state != "ready":
            await project.index_state.wait_changed()
        await engine.sessions.create(project, "s", name="", agent_name="", selection=None)
        await engine.sessions.update("s", SessionChange(current_intent="sell"))
        await engine.experiences.graft(project, Draft("Sell shoes", "x", "s", files_touched=("a.py",)))
        await engine.items.put(
            project, {"type": "rule", "name": "x", "text": "No bags.", "include": "always"}
        )
        scope = await engine.scoping.scope_for(project, ScopeSelector(session_id="s", focus_paths=("a.py",)))
        request = ContextRequest(prompt="what does f sell?")
        for cached in (False, True):
            reply = await engine.contexts.get(project, scope, request, "shown", None)
            assert reply["cached"] is cached
        await engine.close(DEADLINE_S)
        await running
    assert "Sell shoes" in reply["context"]
    assert min(system.calls[call] for call in ("build", "scandir", "write", "fsync")) > 0
    assert not system.on_loop
