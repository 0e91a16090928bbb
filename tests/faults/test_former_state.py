"""A state folder that an earlier version wrote opens with everything in it.

`tests/former_state` was written by a version whose values were dataclasses; databases are in it as SQL.
"""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest
from foveal.daemon.context.scopes import ScopeStore
from foveal.daemon.core.system import System
from foveal.daemon.memory.experience import ExperienceMark, Provenance
from foveal.daemon.memory.pool import Pool
from foveal.daemon.memory.pool_filters import ExperienceListing
from foveal.daemon.memory.recall import decoded, sketch_of
from foveal.daemon.rules.approvals import Approvals
from foveal.daemon.rules.item_store import ItemStore
from foveal.daemon.rules.items import ItemKey
from foveal.daemon.rules.server_config import McpServer, ServerFile
from foveal.daemon.rules.tool_lists import ListedTool, ToolList, ToolLists
from foveal.daemon.sessions.request_log import Recalled
from foveal.daemon.sessions.scope import Scope
from foveal.daemon.sessions.session import IncludedItem
from foveal.daemon.sessions.session_store import SessionStore
from foveal.daemon.workspace.hot_files import HotNode

from tests.ledger_cases import STYLE, opened, record_of, sent_for

WRITTEN = Path(__file__).parents[1] / "former_state"
SERVER = McpServer(
    name="github", host="cursor", scope="project", source="/srv/shop/.cursor/mcp.json", line=3, base="/srv/shop", command="npx",
    arguments=("-y", "server"), environment=(("TOKEN", "${env:T}"),),
)  # fmt: skip


@pytest.fixture
def state(tmp_path: Path) -> Path:
    shutil.copytree(WRITTEN, tmp_path / "state")
    for name, target in (("requests.sql", "requests.db"), ("scopes.sql", "scopes.sqlite")):
        database = sqlite3.connect(tmp_path / "state" / target)
        database.executescript((WRITTEN / name).read_text("utf-8"))
        database.close()
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
    assert (statistics.experiences, statistics.deleted, statistics.edits) == (3, 1, 3)
    assert (statistics.bad_lines, statistics.unknown_lines, statistics.problem) == (0, 0, "")
    assert path.read_bytes() == before


def test_a_session_of_a_former_version_opens_whole(state: Path) -> None:
    store = SessionStore(str(state / "sessions"), System())
    session = store.get("ses_a")
    assert (session.name, session.agent_name, session.project_root) == ("Shop", "planner", "/srv/shop")
    assert (session.current_intent, session.env_hint) == ("Find the leak\nin the pool", "macOS")
    assert session.context == {"files": ("/srv/shop/src/db.py",), "applet": ("board", "tab=2")}
    assert session.items == (
        IncludedItem(ItemKey("rule", "docs/style.md"), "always"),
        IncludedItem(ItemKey("tool", "search_issues", "github"), "manual"),
    )
    assert session.removed == (ItemKey("rule", "AGENTS.md"),)
    assert session.selection == {"preset": "conservative", "tools": "off"}
    assert (bool(session.ended), session.revision) == (True, 2)
    assert store.take_warnings() == ()


def test_items_modes_tools_and_approvals_of_a_former_version_open(state: Path) -> None:
    stored = ItemStore(str(state / "project" / "items.json"), System()).load()
    naming, guide = stored.drafts.values()
    assert (naming.key, naming.include, naming.globs) == (ItemKey("rule", "naming"), "glob", ("src/**/*.py",))
    assert (naming.text, naming.priority_level) == ("Name it well.", 150)
    assert (guide.key, guide.description) == (ItemKey("reference", "guide"), "How to")
    assert stored.server_modes == {"github": "agent"}
    assert stored.tool_modes == {("github", "search_issues"): "manual"}
    tools = ToolLists(str(state / "tools"), System()).load(SERVER)
    assert tools == ToolList(
        (ListedTool("search_issues", "Finds issues", '{"type":"object"}'),), "", 1, "2026-03-01T12:00:00Z"
    )
    approved = Approvals(str(state / "approvals.json"), System()).load()
    file = ServerFile(SERVER.source, "mcpServers", "cursor", "project", "ab" * 32, (SERVER,))
    assert approved.covers(file)


def test_requests_of_a_former_version_come_back_exactly(state: Path) -> None:
    with opened(state) as at:
        assert at.file.take_warnings() == ()
        first = Recalled(record_of(1), sent_for(record_of(1)), "", (STYLE,))
        assert at.ledger.get("ses_a", "req_1") == first
        assert at.ledger.get("ses_a", "req_2") == Recalled(record_of(2), sent_for(record_of(2)))
        assert [one.id for one in at.ledger.list("ses_a")] == ["req_2", "req_1"]
        counts = {
            one.key: (one.requests, one.reported, one.referred)
            for one in at.usage.items("/home/user/project")
        }
        assert counts[STYLE] == (2, 1, 1)


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
