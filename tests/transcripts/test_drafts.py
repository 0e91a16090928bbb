"""A finding becomes a draft that says whose it is, where it stands, and which files of the project it names."""

from __future__ import annotations

from pathlib import Path

from foveal.daemon.memory.experience import Draft, Provenance
from foveal.daemon.transcripts.cursor import Cursor
from foveal.daemon.transcripts.extraction import Mined, MinedDecision, draft_of
from msgspec.structs import replace

FINDING = MinedDecision(
    "Use WAL", "Readers wait", ("src/db.py",), "failure", "it locked", 7, "2026-11-20T10:00:00.000Z",
    "ab12", "s1",
)  # fmt: skip
MINED = Mined("claude-code", "ab12", "", Cursor(1, 2, "", 0, 0), (FINDING,), (), 0, finished=True)


def draft(mined: Mined = MINED, *, root: str = "/w/app", agent_id: str = "", session_id: str = "") -> Draft:
    """Return the draft of what was mined."""
    return draft_of(mined.findings[0], mined, "/t.jsonl", root, agent_id, session_id)


def found(**changes: object) -> Mined:
    """Return a mined finding with other fields."""
    return replace(MINED, findings=(replace(FINDING, **changes),))


def test_draft_holds_the_finding() -> None:
    assert draft() == Draft(
        "Use WAL", "ab12", "s1", "Readers wait", ("src/db.py",), "failure", "it locked",
        "2026-11-20T10:00:00.000Z", provenance=Provenance("claude-code", "/t.jsonl:7", "normal"),
    )  # fmt: skip
    assert draft(found(at="yesterday")).timestamp == ""


def test_draft_agent_and_session() -> None:
    def check(mined: Mined, given: str, expected: str) -> None:
        assert draft(mined, agent_id=given).agent_id == expected

    check(MINED, "", "ab12")
    check(MINED, "coder", "coder")
    check(found(agent_id=""), "", "claude-code")
    check(found(agent_id=""), "coder", "coder")
    check(found(agent_id="other"), "coder", "other")
    check(replace(found(agent_id="ab12"), owner=""), "main", "ab12")
    assert draft(session_id="mine").session_id == "mine"


def test_files_are_placed_in_the_project(tmp_path: Path) -> None:
    root = tmp_path.resolve() / "app"
    (root / "sub").mkdir(parents=True)
    (tmp_path / "link").symlink_to(root)

    def check(cwd: str, file: str, expected: str) -> None:
        mined = replace(found(files=(file,)), cwd=cwd)
        assert draft(mined, root=str(root)).files_touched == (expected,)

    check("", "a.py", "a.py")
    check("", "/x/a.py", "/x/a.py")
    check(str(root), "a.py", f"{root}/a.py")
    check(str(root), f"{root}/a.py", f"{root}/a.py")
    check(str(root / "sub"), "../a.py", f"{root}/sub/../a.py")
    check(str(root / "sub"), f"{root}/a.py", f"{root}/a.py")
    check(f"{tmp_path}/link", f"{tmp_path}/link/a.py", f"{root}/a.py")
    check(f"{tmp_path}/link/sub", "a.py", f"{root}/sub/a.py")
    check("/workspace", "a.py", "a.py")
    check("/workspace", "/workspace/a.py", "/workspace/a.py")
    check("relative", "a.py", "a.py")
