"""An engine in the test's own process, with one project that is indexed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from foveal.daemon.config.settings import EmbeddingConfig, Environment, UserConfig
from foveal.daemon.core.system import System
from foveal.daemon.engine.service import Engine
from foveal.daemon.workspace.service import Project

from tests.conftest import write_files

GENEROUS_S = 60.0


@asynccontextmanager
async def running_engine(
    base: Path, files: Mapping[str, str | bytes], *, embedding: bool = False
) -> AsyncIterator[tuple[Engine, Project]]:
    """Run an engine with a project of these files."""
    (base / "state").mkdir(exist_ok=True)
    root = str(write_files(base / "p", files))
    environment = Environment(str(base / "home"), str(base / "state"), str(base / "config"), 0)
    engine = Engine(environment, UserConfig(embedding=EmbeddingConfig(enabled=embedding)), System())
    started = asyncio.Event()
    async with asyncio.timeout(GENEROUS_S):
        task = asyncio.create_task(engine.run(started))
        await started.wait()
        try:
            project = await engine.projects.at(root)
            while project.state != "ready":
                await project.index_state.wait_changed()
            yield engine, project
        finally:
            await engine.close(GENEROUS_S)
            await task
