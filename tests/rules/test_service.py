"""A project's items are those on the disk, whoever changed them, and tools only of files as they were approved."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import tomllib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from foveal.daemon.config.settings import EmbeddingConfig, Environment, UserConfig
from foveal.daemon.core.errors import InvalidRequest, NotFound, StateError
from foveal.daemon.core.events import EventHub
from foveal.daemon.core.system import System
from foveal.daemon.core.work import Work
from foveal.daemon.embedding.service import EmbedderClient
from foveal.daemon.rules.items import ItemKey
from foveal.daemon.rules.service import ITEMS_FILE, MAX_WARNINGS, ConfiguredItems, Items, items_in
from foveal.daemon.rules.tool_lists import ToolLister
from foveal.daemon.workspace.service import IndexerClient, OpenProjects, Project

from tests.conftest import write_files
from tests.server_cases import RAW_SERVER

KIND = ItemKey("rule", "AGENTS.md")


@dataclass
class Desk:
    """The items of a project, of which no indexer runs."""

    items: Items
    project: Project
    root: Path
    home: Path

    def names(self) -> dict[str, str]:
        return {item.name: item.include for item in self.project.instructions.items.items}

    async def refreshed(self) -> dict[str, str]:
        await self.items.refresh(self.project)
        return self.names()

    def holds(self) -> bool:
        return self.items.holds(self.project, asyncio.get_running_loop().time())

    async def put(self, name: str, **fields: Any) -> None:
        await self.items.put(self.project, {"type": "rule", "name": name, "include": "always", **fields})


@asynccontextmanager
async def desk(base: Path) -> AsyncIterator[Desk]:
    """Give the items of a project with one rule."""
    home, state = base / "home", base / "state"
    for folder in (home, state):
        folder.mkdir(exist_ok=True)
    root = write_files(base / "p", {"AGENTS.md": "Be kind.\n", ".git/HEAD": "x"})
    environment, system, work = (
        Environment(str(home), str(state), str(base / "config"), 0),
        LaterSystem(),
        Work(),
    )
    events = EventHub(system)
    semantics = EmbedderClient(EmbeddingConfig(enabled=False), str(state), work, events)
    indexing = IndexerClient(work, events, semantics)
    projects = OpenProjects(environment, UserConfig(), system, work, indexing)
    items = Items(environment, system, work, ToolLister({"PATH": os.environ["PATH"]}, str(home), system))
    async with asyncio.TaskGroup() as tasks:
        work.begin(tasks)
        project = await projects.at(str(root))
        yield Desk(items, project, root, home)
        work.cancel()
        items.close()
    projects.close_all()
    work.close()


class LaterSystem(System):
    """An hour later, so that no file was modified a moment ago and stamps prove something."""

    def time_ns(self) -> int:
        return super().time_ns() + 3_600 * 10**9


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path.resolve()


async def test_they_hold_until_a_file_changes(base: Path) -> None:
    async with desk(base) as at:
        assert not at.holds(), "nothing was read yet"
        assert await at.refreshed() == {"AGENTS.md": "always"}
        assert at.holds()
        (at.root / "AGENTS.md").write_text("Be brief.\n")
        assert not at.holds()
        await at.refreshed()
        assert at.project.instructions.items.by_key[KIND].text == "Be brief."


@pytest.mark.parametrize("place", ["home/.claude/CLAUDE.md", "config/config.toml"])
async def test_what_does_not_hold_is_not_taken_for_checked(base: Path, place: str) -> None:
    async with desk(base) as at:
        await at.refreshed()
        now = asyncio.get_running_loop().time()
        write_files(base, {place: '[[items]]\ntype = "rule"\nname = "new"\ntext = "Be new."\n'})
        for later in (1.0, 1.1, 1.2):  # a request that was answered from the cache asks again before it reads
            assert not at.items.holds(at.project, now + later)
        assert len(await at.refreshed()) == 2
        assert at.items.holds(at.project, now + 2.0)


async def test_put_item_replaces_a_file_until_deleted(base: Path) -> None:
    async with desk(base) as at:
        await at.put("AGENTS.md", include="manual")
        assert at.names() == {"AGENTS.md": "manual"}
        assert at.holds()
        own = await at.items.delete(at.project, KIND)
        assert own is not None
        assert own.include == "always"
        with pytest.raises(InvalidRequest):
            await at.items.delete(at.project, KIND)
        with pytest.raises(NotFound):
            await at.items.delete(at.project, ItemKey("rule", "nope"))


async def test_concurrent_puts_lose_nothing(base: Path) -> None:
    async with desk(base) as at:
        await asyncio.gather(*(at.put(f"r{n}", text=f"Text {n}.") for n in range(8)))
        assert at.names().keys() == {"AGENTS.md", *(f"r{n}" for n in range(8))}


async def test_damaged_items_file_is_never_overwritten(base: Path) -> None:
    async with desk(base) as at:
        await at.put("mine", text="Mine.")
        path = Path(at.project.folder) / ITEMS_FILE
        path.write_text("{")
        assert await at.refreshed() == {"AGENTS.md": "always"}
        assert at.project.problems["items"]
        with pytest.raises(StateError):
            await at.put("other", text="Other.")
        assert path.read_text() == "{"
        path.unlink()
        await at.refreshed()
        assert "items" not in at.project.problems


async def with_tools(at: Desk) -> Path:
    """Approve a server of the project and list its tools; returns the file that defines it."""
    write_files(at.root, {"server.py": RAW_SERVER})
    path = at.root / ".mcp.json"
    write_server(path, "pages")
    (state,) = await at.items.servers(at.project)
    assert not state.approved
    assert await at.items.approve(at.project, str(path), None, state.file.digest) == 1
    ((_, found),) = await at.items.list_tools(at.project, again=False)
    assert not found.problem
    assert await at.refreshed() == {"AGENTS.md": "always"} | dict.fromkeys(
        ("page0", "page1", "page2"), "always"
    )
    return path


def write_server(path: Path, mode: str) -> None:
    command = {"command": sys.executable, "args": [str(path.parent / "server.py"), mode]}
    path.write_text(json.dumps({"mcpServers": {"raw": command}}))


@pytest.mark.parametrize("change", [lambda path: write_server(path, "others"), Path.unlink])
async def test_a_file_that_changed_or_went_takes_its_tools_away_at_once(
    base: Path, change: Callable[[Path], None]
) -> None:
    async with desk(base) as at:
        path = await with_tools(at)
        write_files(at.home, {".cursor/mcp.json": "{}"})
        assert at.holds(), "no tool of that file is in use: it is checked now and then"
        assert len(await at.refreshed()) == 4
        change(path)
        assert not at.holds()
        assert await at.refreshed() == {"AGENTS.md": "always"}


async def test_modes_of_tools_and_taking_an_approval_back(base: Path) -> None:
    async with desk(base) as at:
        path = await with_tools(at)
        assert await at.items.set_tool_mode(at.project, "raw", "", "agent")
        assert not await at.items.set_tool_mode(at.project, "raw", "", "agent")
        assert set(at.names().values()) == {"always", "agent"}
        with pytest.raises(NotFound):
            await at.items.set_tool_mode(at.project, "row", "", "agent")
        with pytest.raises(NotFound, match=r"\.mcp\.json"):
            await at.items.approve(at.project, "/elsewhere", None, "")
        assert await at.items.revoke(at.project, str(path)) == 1
        assert at.names() == {"AGENTS.md": "always"}


TEXT = '''
[context]
max_tokens = 1000

[[items]]
type = "rule"
name = "commits"
text = """
Sign every commit.
"""

[[ "items" ]]
type = "reference"
name = "api"
include = "glob"
globs = ["src/api/**"]
description = "The public interface"
priority_level = 120
text = "GET /v1"
'''


def read(text: str, *, trusted: bool = False) -> ConfiguredItems:
    return items_in("/p/foveal.toml", text, tomllib.loads(text), None, trusted=trusted)


def test_a_projects_items_come_after_the_users() -> None:
    assert [item.priority_level for item in read(TEXT).items] == [300, 300]
    assert [item.priority_level for item in read(TEXT.replace("120", "700")).items] == [300, 700]


def item(**fields: Any) -> str:
    given = {"type": "rule", "name": "a", "text": "x", **fields}
    return "[[items]]\n" + "\n".join(
        f"{key} = {value!r}" for key, value in given.items() if value is not None
    )


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        (item(type="tool", server_name="web"), "tools come from MCP servers"),
        (item(type="command"), "type must be one of"),
        (item(text=None), "text is missing"),
        (item(text="  "), "text is missing"),
        (item(name=None), "name"),
        (item(include="sometimes"), "include must be one of"),
        (item(include="glob"), "globs must name"),
        (item(priority_level=1000), "priority_level must be from 1 to 999"),
        (item() + "\n" + item(text="y"), "line 1 has a rule 'a' already"),
        ("items = 3", r"begin with \[\[items\]\]"),
        ("items = [1]", r"begin with \[\[items\]\]"),
        ("[items]\na = 1", r"begin with \[\[items\]\]"),
    ],
)
def test_what_cannot_be_used_is_left_out(text: str, warning: str) -> None:
    found = read(text + "\n" + item(name="good") if "items]]" in text else text)
    assert len(found.warnings) == 1
    assert found.warnings[0].startswith("/p/foveal.toml")
    assert re.search(warning, found.warnings[0])
    if "items]]" in text:
        assert found.items[-1].name == "good"


def test_a_hostile_file_costs_little() -> None:
    found = read("items = [" + "{type = 1}," * 2_000 + "]")
    assert found.items == ()
    assert len(found.warnings) == MAX_WARNINGS + 1


def test_without_items_there_are_none() -> None:
    assert read("[context]\n") == ConfiguredItems()
