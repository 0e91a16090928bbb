"""A state folder that an earlier version wrote opens with everything in it.

`tests/former_state` was written by a version whose values were dataclasses; databases are in it as SQL.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from foveal.benchmarks.faults.home import NO_EMBEDDING, Home, home
from foveal.daemon.context.scopes import ScopeStore
from foveal.daemon.core.system import System
from foveal.daemon.memory.experience import ExperienceMark
from foveal.daemon.memory.file_sketches import decoded, sketch_of
from foveal.daemon.memory.records import ExperienceListing, Provenance
from foveal.daemon.memory.service import Pool
from foveal.daemon.rules.records import ItemKey, ServerFile
from foveal.daemon.rules.service import Approvals, ItemStore, McpServer, ToolList, ToolLists
from foveal.daemon.rules.tool_lists import ListedTool
from foveal.daemon.sessions.records import Scope
from foveal.daemon.sessions.service import SessionStore, move_former
from foveal.daemon.sessions.session import IncludedItem
from foveal.daemon.workspace.records import HotNode

WRITTEN = Path(__file__).parents[1] / "former_state"
VERSION_2 = WRITTEN / "version_2"
SERVER = McpServer(
    name="github", host="cursor", scope="project", source="/srv/shop/.cursor/mcp.json", line=3, base="/srv/shop", command="npx",
    arguments=("-y", "server"), environment=(("TOKEN", "${env:T}"),),
)  # fmt: skip


@pytest.fixture
def state(tmp_path: Path) -> Path:
    shutil.copytree(WRITTEN, tmp_path / "state")
    fill(tmp_path / "state" / "scopes.sqlite", WRITTEN / "scopes.sql")
    return tmp_path / "state"


def test_experiences_of_a_former_version_open_with_their_edits(state: Path) -> None:
    path = state / "project" / "experiences.jsonl"
    before = path.read_bytes()
    pool = Pool(str(path), System(), root="/srv/shop")
    reverted, failed, kept = pool.list()[0]
    assert (kept.decision, kept.agent_id, kept.session_id) == ("Use WAL", "planner", "ses_a")
    assert (kept.rationale, kept.outcome, kept.commit) == (
        "Readers wait\notherwise",
        "success",
        "0123456789abcdef",
    )
    assert kept.files_touched == ("src/db.py",)
    assert [(file, decoded(sketch)) for file, sketch in kept.sketches] == [
        ("src/db.py", sketch_of("a\nb\nc"))
    ]
    assert failed.provenance == Provenance("transcript", "t.jsonl:9", "normal")
    assert (failed.outcome, failed.error) == ("reverted", "it was worse")
    assert failed.marks == (ExperienceMark("reverted", reverted.timestamp, reverted.id),)
    (deleted,) = pool.list(ExperienceListing(deleted=True))[0]
    assert deleted.decision == "Drop the cache — é"
    statistics = pool.statistics()
    assert (statistics.experiences, statistics.deleted) == (3, 1)
    assert (statistics.bad_lines, statistics.unknown_lines, statistics.problem) == (0, 0, "")
    assert path.read_bytes() == before


def test_a_session_of_a_former_version_opens_whole(state: Path) -> None:
    store = SessionStore(str(state / "sessions"), System())
    session = store.get("ses_a")
    assert (session.name, session.agent_name, session.project_root) == ("Shop", "planner", "/srv/shop")
    assert (session.current_intent, session.env_hint) == ("Find the leak\nin the pool", "macOS")
    assert session.context == {"files": ("/srv/shop/src/db.py",), "applet": ("board", "tab=2")}
    assert session.items == (
        IncludedItem.of(ItemKey("rule", "docs/style.md"), "always"),
        IncludedItem.of(ItemKey("tool", "search_issues", "github"), "manual"),
    )
    assert session.removed == (ItemKey("rule", "AGENTS.md"),)
    assert session.selection == {"preset": "conservative", "tools": "off"}
    assert (bool(session.ended), session.revision) == (True, 2)
    assert store.list().warnings == ()


def test_items_modes_tools_and_approvals_of_a_former_version_open(state: Path) -> None:
    stored = ItemStore(str(state / "project" / "items.json"), System()).load()
    naming, guide = stored.drafts.values()
    assert (naming.key, naming.include, naming.globs) == (ItemKey("rule", "naming"), "glob", ("src/**/*.py",))
    assert (naming.text, naming.priority_level) == ("Name it well.", 150)
    assert (guide.key, guide.description) == (ItemKey("reference", "guide"), "How to")
    assert stored.modes == {("github", ""): "agent", ("github", "search_issues"): "manual"}
    tools = ToolLists(str(state / "tools"), System()).load(SERVER)
    assert tools == ToolList(
        (ListedTool("search_issues", "Finds issues", '{"type":"object"}'),), "", 1, "2026-03-01T12:00:00Z"
    )
    approved = Approvals(str(state / "approvals.json"), System()).load()
    file = ServerFile(SERVER.source, "mcpServers", "cursor", "project", "ab" * 32, (SERVER,))
    assert approved.covers(file)


def fill(path: Path, dump: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.executescript(dump.read_text("utf-8"))


@pytest.fixture
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """Give a user whose state has the requests and timelines of version 2, and whose project is gone."""
    config = f"{NO_EMBEDDING}[history]\ndays = 3650\n"
    with home(tmp_path_factory.mktemp("h"), config=config, files={}, TZ="UTC") as made:
        made.state.mkdir(mode=0o700)
        shutil.copy(VERSION_2 / "version.json", made.state)
        for name in ("requests", "timeline"):
            fill(made.state / f"{name}.sqlite", VERSION_2 / f"{name}.sql")
        yield made


def test_requests_contexts_timelines_and_usage_of_version_2_are_shown_as_before(user: Home) -> None:
    answers = json.loads((VERSION_2 / "answers.json").read_text("utf-8"))
    for _ in range(2):
        for method, params, answer in answers:
            now = user.call(method, **params)
            if "verdict" in answer:  # a sentence made of the record, not a part of it
                answer["verdict"] = now["verdict"]
            if "saved" in answer:  # an estimate of that version; what agents read is counted from its entries
                assert 0 < now["afterwards"]["files_given"] <= now["total"]["places_shown"]
                answer |= {name: now[name] for name in ("saved", "afterwards")}
            assert now == answer, (method, params)
        user.end()
        assert [path.name for path in user.state.glob("*damaged*")] == []
        assert {"requests.sqlite", "timeline.sqlite"}.isdisjoint(os.listdir(user.state))
        assert (user.state / "backups" / "v2" / "requests.sqlite").is_file()


def test_a_damaged_file_of_version_2_costs_only_what_it_has(user: Home) -> None:
    path = user.state / "requests.sqlite"
    path.write_bytes(b"no database" * 1_000)
    entries = user.call("GetTimeline", session_id="ses_shop")["entries"]
    assert [entry["kind"] for entry in entries] == ["end", "decision", "edit", "prompt", "start"]
    assert user.call("ListContexts")["contexts"] == []
    assert len(list(user.state.glob("requests.sqlite.damaged-*"))) == 1


def test_a_move_that_was_killed_is_made_again(user: Home) -> None:
    shutil.copy(user.state / "timeline.sqlite", user.state / "deliveries.sqlite.tmp")
    move_former(str(user.state), System())
    fill(user.state / "requests.sqlite", VERSION_2 / "requests.sql")  # it was killed before it removed that
    assert len(user.call("ListContexts")["contexts"]) == 22
    assert "requests.sqlite" not in os.listdir(user.state)


def test_what_could_not_be_moved_is_told_and_never_replaced(user: Home) -> None:
    user.call("Ping")
    user.end()
    (user.state / "deliveries.sqlite").unlink()
    fill(user.state / "timeline.sqlite", VERSION_2 / "timeline.sql")
    told = user.call("Status")["degraded"]
    assert any("isn't moved to" in text and "foveal down" in text for text in told)
    user.end()
    assert "deliveries.sqlite" not in os.listdir(user.state)


def test_scopes_of_a_former_version_open(state: Path) -> None:
    store = ScopeStore(str(state / "scopes.sqlite"), System())
    first, second = store.load()
    store.close()
    assert (store.replaced, store.unreadable) == ("", 0)
    assert first == Scope(
        "sc_1", "/srv/shop", "i1", "ses_a", "agent", "planner", "fix", ("src/db.py",), ("file:src/db.py",),
        ("Be short",), (), "", (HotNode("src/db.py", "edited"),), "2026-03-01T12:00:00.000Z", 3,
    )  # fmt: skip
    assert (second.id, second.parent_id, second.inherited) == ("sc_2", "sc_1", ("Be short",))
