"""A transcript that is named becomes experiences, each once, with its agent, its place and its files."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from foveal.daemon.config.settings import UserConfig
from foveal.daemon.core.errors import FovealError, InvalidRequest
from foveal.daemon.core.events import EventHub
from foveal.daemon.core.system import System
from foveal.daemon.core.work import Work
from foveal.daemon.memory.records import Experience, Provenance
from foveal.daemon.memory.service import Pool
from foveal.daemon.transcripts import grafting as grafting_module
from foveal.daemon.transcripts.cursor import CursorStore
from foveal.daemon.transcripts.grafting import GraftService, SkippedLine, TranscriptResult
from foveal.daemon.workspace.project import load
from foveal.daemon.workspace.service import Project

from tests.transcript_cases import AT, Claude, append, write

DECISION = "I decided to use SQLite instead of a JSON file because concurrent writers must not interleave."
OTHER = "I chose a lock file over a daemon because it survives a crash of the writer."


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Make an empty project's folder."""
    path = tmp_path.resolve() / "app"
    path.mkdir()
    return path


@pytest.fixture
async def project(root: Path, tmp_path: Path) -> AsyncIterator[Project]:
    """Open an empty project."""
    folder, home = tmp_path / "state", tmp_path / "home"
    loaded = load(str(root), str(folder), UserConfig(), str(home), System())
    pool = Pool(str(folder / "experiences.jsonl"), System(), root=str(root))
    opened = Project(str(root), str(folder), loaded, pool, System())
    yield opened
    opened.close()


@pytest.fixture
def work() -> Any:
    """Threads for what blocks."""
    threads = Work()
    yield threads
    threads.close()


@pytest.fixture
def events() -> EventHub:
    """Return a hub that nobody listens to yet."""
    return EventHub(System())


@pytest.fixture
def grafting(work: Work, events: EventHub) -> GraftService:
    """Grafting that never waits for a host."""
    return GraftService(work, events, System(), pause=no_pause)


async def no_pause(seconds: float) -> None:
    """Let time pass at once."""


def conversation(
    project: Project, path: Path, decision: str = DECISION, *, agent_id: str = "", session_id: str = "s1"
) -> tuple[str, Claude]:
    """Write a conversation with one decision about one file of the project."""
    chat = Claude(session_id, agent_id, cwd=project.root)
    edited = {"file_path": f"{project.root}/src/store.py", "old_string": "1", "new_string": "2"}
    records = [
        chat.user("Store the sessions"),
        chat.call("Edit", edited),
        chat.result("ok"),
        chat.text(decision),
    ]
    return write(path, records), chat


def add(path: str, text: str) -> None:
    """Write more of a transcript."""
    with open(path, "a") as file:
        file.write(text)


def forget_cursors(project: Project) -> None:
    """Take away what is known of readings."""
    for file in Path(project.folder).glob("transcripts.db*"):
        file.unlink()


def kept(project: Project) -> tuple[Experience, ...]:
    """Return what the pool has, oldest first."""
    return project.pool.list()[0][::-1]


async def test_a_decision_becomes_an_experience(
    project: Project, grafting: GraftService, events: EventHub, tmp_path: Path
) -> None:
    told: list[dict[str, Any]] = []
    events.subscribe("me", ["experience.grafted"], told.append)
    path, _ = conversation(project, tmp_path / "t.jsonl")
    result = await grafting.graft(project, path)
    (one,) = kept(project)
    assert (result.grafted, result.duplicates, result.experience_ids) == (1, 0, [one.id])
    assert "SQLite" in one.decision
    assert (one.agent_id, one.session_id, one.timestamp) == ("claude-code", "s1", AT)
    assert one.files_touched == ("src/store.py",)
    assert one.provenance == Provenance("claude-code", f"{path}:4")
    assert [event["data"]["experience_ids"] for event in told] == [[one.id]]


async def test_the_same_transcript_adds_nothing_twice(
    project: Project, grafting: GraftService, tmp_path: Path
) -> None:
    path, chat = conversation(project, tmp_path / "t.jsonl")
    await grafting.graft(project, path)
    assert await grafting.graft(project, path) == TranscriptResult()
    # Without its cursor it is read again, and known.
    forget_cursors(project)
    again = await grafting.graft(project, path)
    assert (again.grafted, again.duplicates) == (0, 1)
    append(path, chat.user("And now the lock"), chat.text(OTHER))
    grown = await grafting.graft(project, path)
    assert grown.grafted == 1
    assert len(kept(project)) == 2


async def test_bad_files_are_refused_and_bad_lines_reported(
    project: Project, grafting: GraftService, tmp_path: Path
) -> None:
    for bad in (str(tmp_path), str(tmp_path / "missing"), "relative.jsonl", "/a\0b", "/\ud800"):
        with pytest.raises(InvalidRequest) as caught:
            await grafting.graft(project, bad)
        assert caught.value.field == "transcript_path"
    path, _ = conversation(project, tmp_path / "t.jsonl")
    add(path, "not JSON\n" * 60)
    result = await grafting.graft(project, path)
    assert result.grafted == 1
    assert result.skipped[0] == SkippedLine("it is no JSON object", 5)
    assert result.skipped[-1] == SkippedLine("10 more lines could not be read")


async def test_findings_that_the_pool_refuses_are_reported_with_their_line(
    project: Project, grafting: GraftService, tmp_path: Path
) -> None:
    path, _ = conversation(project, tmp_path / "t.jsonl")
    result = await grafting.graft(project, path, agent_id="a" * 500)
    assert result.grafted == 0
    (skipped,) = result.skipped
    assert skipped.line == 4
    assert "agent_id" in skipped.reason


async def test_a_host_that_writes_behind_its_events_is_waited_for(
    project: Project, work: Work, events: EventHub, tmp_path: Path
) -> None:
    chat = Claude(cwd=project.root)
    call = chat.call("Edit", {"file_path": f"{project.root}/a.py", "old_string": "1", "new_string": "2"})
    path = write(tmp_path / "t.jsonl", [chat.user("Store the sessions"), call])
    last = json.dumps(chat.text(DECISION)) + "\n"
    rest = [json.dumps(chat.result("ok")) + "\n", last[:50], last[50:]]
    pauses = 0

    async def pause(seconds: float) -> None:
        nonlocal pauses
        pauses += 1
        if rest:
            add(path, rest.pop(0))

    result = await GraftService(work, events, System(), pause).graft(project, path)
    assert (result.grafted, result.skipped, pauses) == (1, [], 3)


async def test_ungrafted_lines_are_read_again(
    project: Project, grafting: GraftService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _ = conversation(project, tmp_path / "t.jsonl")

    def refuse(drafts: object) -> None:
        raise FovealError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(project.pool, "graft", refuse)
        with pytest.raises(FovealError, match="disk is full"):
            await grafting.graft(project, path)
    assert CursorStore(project.folder, System()).find(path) is None
    assert (await grafting.graft(project, path)).grafted == 1


async def test_a_process_that_dies_or_hangs_is_an_error(
    project: Project, grafting: GraftService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _ = conversation(project, tmp_path / "t.jsonl")
    monkeypatch.setattr(grafting_module, "ARGV", (sys.executable, "-c", "raise SystemExit(3)"))
    with pytest.raises(FovealError, match="without an answer"):
        await grafting.graft(project, path)
    monkeypatch.setattr(grafting_module, "ARGV", (sys.executable, "-c", "import time; time.sleep(1_000)"))
    monkeypatch.setattr(grafting_module, "MINING_S", 0.01)
    with pytest.raises(FovealError, match="within"):
        await grafting.graft(project, path)


def test_miner_ends_with_its_input() -> None:
    assert subprocess.run(grafting_module.ARGV, input=b"", capture_output=True, check=False).returncode != 0


async def test_subagent_in_its_parents_transcript_is_grafted_by_its_name(
    project: Project, grafting: GraftService, tmp_path: Path
) -> None:
    sample = Path(__file__).parents[1] / "host_transcripts" / "copilot" / "events-subagent.jsonl"
    path = tmp_path / "events.jsonl"
    said = sample.read_text().replace("/home/dev/project", project.root)
    path.write_text(said.replace("The subagent is done.", OTHER))
    speaker = "0838d498-86a4-4047-835c-40a0ef49544b"
    result = await grafting.graft(project, str(path), "bc81", "general-purpose", speaker)
    assert (result.grafted, result.duplicates) == (1, 0)
    result = await grafting.graft(project, str(path), "bc81", "copilot", "")
    assert (result.grafted, result.duplicates) == (1, 0), "the cursor of the parent's words didn't move"
    gzip = ("starlette/middleware/gzip.py",)
    assert {(one.agent_id, one.session_id, one.files_touched) for one in kept(project)} == {
        ("general-purpose", "bc81", gzip), ("copilot", "bc81", ()),
    }  # fmt: skip
    assert (await grafting.graft(project, str(path), "bc81", "copilot", "")).grafted == 0
    again = await grafting.graft(project, str(path), "bc81", "general-purpose", speaker)
    assert (again.grafted, again.duplicates) == (0, 1), "its words lie before the cursor"
