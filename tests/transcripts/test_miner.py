"""The process that mines answers one request and ends, also when whoever asked is gone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from foveal.daemon.core.errors import InvalidRequest
from foveal.daemon.transcripts.extraction import mined_in
from foveal.daemon.transcripts.miner import mine
from msgspec import to_builtins

from tests.transcript_cases import Claude, append, write

DECISION = "I decided to use SQLite instead of a JSON file because concurrent writers must not interleave."


def conversation(path: Path) -> tuple[str, Claude]:
    """Write a conversation with one decision."""
    chat = Claude()
    records = [
        chat.user("Store the sessions"),
        chat.call("Edit", {"file_path": "/w/app/src/store.py", "old_string": "1", "new_string": "2"}),
        chat.result("ok"),
        chat.text(DECISION),
    ]
    return write(path, records), chat


def ask(request: bytes) -> tuple[Any, int]:
    """Run the process with one request; returns its answer and its exit code."""
    done = subprocess.run(
        [sys.executable, "-m", "foveal.daemon.transcripts.miner"],
        input=request,
        stdout=subprocess.PIPE,
        check=False,
        cwd="/",
    )
    return json.loads(done.stdout or b"null"), done.returncode


def test_a_decision_is_found_and_crosses_whole(tmp_path: Path) -> None:
    path, _ = conversation(tmp_path / "t.jsonl")
    mined = mine(path, None)
    assert (mined.source, mined.cwd, mined.finished, mined.skipped) == ("claude-code", "/w/app", True, ())
    (finding,) = mined.findings
    assert "SQLite" in finding.decision
    assert (finding.line, finding.session_id) == (4, "s1")
    assert mined_in(json.loads(json.dumps(to_builtins(mined)))) == mined


def test_what_was_mined_is_not_mined_again(tmp_path: Path) -> None:
    path, chat = conversation(tmp_path / "t.jsonl")
    cursor = mine(path, None).cursor
    again = mine(path, cursor)
    assert (again.findings, again.cursor, again.finished) == ((), cursor, True)
    append(path, chat.user("Thanks"))
    assert not mine(path, cursor).finished


def test_the_process_answers_like_the_function(tmp_path: Path) -> None:
    path, _ = conversation(tmp_path / "t.jsonl")
    process = subprocess.Popen(
        [sys.executable, "-m", "foveal.daemon.transcripts.miner"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd="/",
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process, process.stdin, process.stdout:
        process.stdin.write(json.dumps({"path": path, "cursor": None}).encode() + b"\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
    assert mined_in(answer["mined"]) == mine(path, None)
    assert process.returncode == 0


def test_bad_input_is_an_answer(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest) as caught:
        mine(str(tmp_path), None)
    process = subprocess.Popen(
        [sys.executable, "-m", "foveal.daemon.transcripts.miner"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd="/",
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process, process.stdin, process.stdout:
        process.stdin.write(json.dumps({"path": str(tmp_path), "cursor": None}).encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline()) == {
            "problem": str(caught.value),
            "field": "transcript_path",
        }


def test_without_anybody_asking_it_ends() -> None:
    _, code = ask(b"")
    assert code != 0
