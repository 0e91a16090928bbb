"""What requests ask of sessions is believed for a moment, never older than a change here, and tells of damage."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from foveal.daemon.config.settings import EmbeddingConfig, Environment, UserConfig
from foveal.daemon.core.errors import InvalidRequest, NotFound
from foveal.daemon.core.system import System
from foveal.daemon.engine.service import Engine
from foveal.daemon.rules.records import ItemKey
from foveal.daemon.sessions import service as sessions_file
from foveal.daemon.sessions.service import FOLDER, SessionChange, Sessions
from foveal.daemon.sessions.session import NOBODY, Session, SessionState
from foveal.daemon.workspace.service import Project

from tests.conftest import write_files

RULE = ItemKey("rule", "AGENTS.md")
HOUSE = ItemKey("rule", "house")


@dataclass
class Desk:
    """The sessions of an engine with a project."""

    engine: Engine
    project: Project
    folder: Path

    @property
    def sessions(self) -> Sessions:
        return self.engine.sessions

    async def create(self, session_id: str = "s") -> Session:
        return await self.sessions.create(self.project, session_id, name="", agent_name="", selection=None)

    def meta(self, session_id: str = "s") -> Path:
        return self.folder / FOLDER / session_id / "meta.json"


@asynccontextmanager
async def desk(base: Path) -> AsyncIterator[Desk]:
    for name in ("home", "state"):
        (base / name).mkdir()
    root = write_files(base / "p", {"AGENTS.md": "Be kind.\n", ".git/HEAD": "x"})
    environment = Environment(str(base / "home"), str(base / "state"), str(base / "config"), 0)
    engine = Engine(environment, UserConfig(embedding=EmbeddingConfig(enabled=False)), System())
    started = asyncio.Event()
    task = asyncio.create_task(engine.run(started))
    await started.wait()
    try:
        yield Desk(engine, await engine.projects.at(str(root)), base / "state")
    finally:
        await engine.close(60)
        await task


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path.resolve()


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Believe nothing that was read before."""
    monkeypatch.setattr(sessions_file, "CACHED_S", 0.0)


async def test_what_was_made_or_changed_here_is_known_without_a_thread(base: Path) -> None:
    async with desk(base) as at:
        assert at.sessions.known("s") is None
        assert await at.sessions.find("s") == NOBODY
        assert at.sessions.known("s") == NOBODY
        made = await at.create()
        assert at.sessions.known("s") == SessionState(made)
        assert [one.key for one in made.items] == [RULE]
        changed, _ = await at.sessions.update("s", SessionChange(name="new"))
        assert at.sessions.known("s") == SessionState(changed)
        assert await at.sessions.find("../s") == NOBODY, "what can't be an id is no session's"


async def test_an_update_is_all_or_nothing_and_the_events_tell_the_difference(base: Path) -> None:
    async with desk(base) as at:
        await at.create()
        heard: list[Any] = []

        def publish(topic: str, data: Any) -> None:
            if topic == "context.changed":  # the project may still be read, which is told too
                heard.append((topic, data))

        at.engine.events.publish = publish  # type: ignore[method-assign]  # to listen
        await at.sessions.update("s", SessionChange(sets=(("ports", ["80", "81"], "replace"),)))
        await at.sessions.update("s", SessionChange(name="other"))
        wrong = SessionChange(name="lost", sets=(("ports", ["82"], "merge"), ("ports", ["x"], "merge")))
        with pytest.raises(InvalidRequest):
            await at.sessions.update("s", wrong)
        session = await at.sessions.get("s")
        assert (session.name, session.context) == ("other", {"ports": ("80", "81")})
        await at.sessions.update("s", SessionChange(sets=(("ports", ["81"], "replace"),)))
        assert [topic for topic, _ in heard] == ["context.changed", "context.changed"]
        assert [(data["added"], data["removed"]) for _, data in heard] == [
            ({"ports": ["80", "81"]}, {}),
            ({}, {"ports": ["80"]}),
        ]


async def test_damage_is_told_until_a_session_is_made_anew(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desk(base) as at:
        await at.create()
        at.meta().write_text("{")
        assert (await at.sessions.find("s")).session is not None, "a moment ago it was whole"
        forget(monkeypatch)
        for said in ("Expecting property", "is kept as", "is kept as"):
            met = await at.sessions.find("s")
            assert met.session is None
            assert met.problem.startswith("the session s can't be read: ")
            assert said in met.problem
        with pytest.raises(NotFound, match="is kept as"):
            await at.sessions.get("s")
        made = await at.create()
        assert await at.sessions.find("s") == SessionState(made)
        at.meta().write_text('{"version": 99}')
        assert "newer foveal (version 99" in (await at.sessions.find("s")).problem
        assert at.meta().read_text() == '{"version": 99}'


async def test_one_that_is_gone_is_nobody_and_its_use_is_no_error(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desk(base) as at:
        session = await at.create()
        shutil.rmtree(at.meta().parent)
        at.sessions.note_use(session)
        while at.sessions.known("s") is not None:  # noqa: ASYNC110 - the end of background work is no event
            await asyncio.sleep(0)
        assert await at.sessions.find("s") == NOBODY


async def test_its_use_is_written_down_now_and_then(base: Path) -> None:
    async with desk(base) as at:
        session = await at.create()
        at.sessions.note_use(session)
        at.sessions.note_use(session)
        while (await at.sessions.get("s")).revision == session.revision:  # noqa: ASYNC110 - the end of background work is no event
            await asyncio.sleep(0)
        assert (await at.sessions.get("s")).last_observed >= session.last_observed


async def test_items_by_hand_go_by_the_modes_of_today(base: Path) -> None:
    async with desk(base) as at:
        await at.create()
        rule = {"type": "rule", "name": "house", "text": "Wipe your feet."}
        await at.engine.items.put(at.project, {**rule, "include": "manual"})
        assert not (await at.sessions.remove_item("s", HOUSE))[1].changed
        await at.engine.items.put(at.project, {**rule, "include": "agent"})
        session, outcome = await at.sessions.remove_item("s", HOUSE)
        assert (outcome.changed, session.removed) == (True, (HOUSE,))
        session, outcome = await at.sessions.add_item("s", HOUSE)
        assert (outcome.changed, session.removed) == (True, ())
        assert not (await at.sessions.add_item("s", HOUSE))[1].changed
        with pytest.raises(NotFound):
            await at.sessions.add_item("s", ItemKey("rule", "nope"))


async def test_where_its_project_is_gone_items_can_still_be_removed(base: Path) -> None:
    async with desk(base) as at:
        await at.create()
        await at.engine.close_project(at.project.root)
        shutil.rmtree(at.project.root)
        session, outcome = await at.sessions.remove_item("s", RULE)
        assert (outcome.changed, session.items, session.removed) == (True, (), (RULE,))
        resumed, _ = await at.sessions.resume("s")
        assert resumed.removed == (RULE,)


async def test_a_person_that_resumes_one_is_no_sign_of_its_agent(base: Path) -> None:
    async with desk(base) as at:
        made = await at.create()
        await at.sessions.end("s")
        looked_at, _ = await at.sessions.resume("s", is_heard=False)
        assert (looked_at.ended, looked_at.last_observed) == ("", made.last_observed)
        assert (await at.sessions.resume("s"))[0].last_observed > made.last_observed
