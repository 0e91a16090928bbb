"""The process that mines answers one request and ends, also when whoever asked is gone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from foveal.daemon.core.errors import InvalidRequest
from foveal.daemon.transcripts.miner import mine

from tests.transcript_cases import Claude, write

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


def answer(path: str) -> tuple[dict[str, Any], int]:
    """Ask the process about a path, its input open until it answers; return its answer and exit code."""
    argv = [sys.executable, "-m", "foveal.daemon.transcripts.miner"]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/")
    assert process.stdin is not None
    assert process.stdout is not None
    with process, process.stdin, process.stdout:
        process.stdin.write(json.dumps({"path": path, "cursor": None, "speaker": None}).encode() + b"\n")
        process.stdin.flush()
        told: dict[str, Any] = json.loads(process.stdout.readline())
    return told, process.returncode


def test_miner_reports_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest) as caught:
        mine(str(tmp_path), None)
    assert answer(str(tmp_path))[0] == {"problem": str(caught.value), "field": "transcript_path"}


def test_miner_ends_with_its_input() -> None:
    argv = [sys.executable, "-m", "foveal.daemon.transcripts.miner"]
    assert subprocess.run(argv, input=b"", capture_output=True, check=False, cwd="/").returncode != 0
