"""A project that nobody knows yet is answered about as well as the time allows, and what is missing is said."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.conftest import DaemonProcess, write_files
from tests.hook_cases import context_of, payload

HOOK_MS = 4_000
"""A hook's time here: more than it has, so that a busy machine has enough for an answer without an index."""


@pytest.fixture
def cold(tmp_path: Path) -> Path:
    """Give a project of some eighty files that no daemon has seen."""
    files: dict[str, str | bytes] = {
        f"pkg{number % 8}/module{number}.py": f"def work{number}(item):\n    return item + {number}\n"
        for number in range(80)
    }
    files["pkg9/ledger.py"] = "def reconcile_ledger(entries):\n    return sum(entries)\n"
    files["package.json"] = '{"name": "kite", "description": "Flies kites."}'
    files["GEMINI.md"] = "Prices are whole cents.\n"
    return write_files(tmp_path / "cold", files)


@contextmanager
def stopped_indexer(daemon: DaemonProcess) -> Iterator[None]:
    """Let the indexer do nothing."""
    daemon.call("Ping")
    (indexer,) = psutil.Process(daemon.pid).children()
    indexer.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        indexer.send_signal(signal.SIGCONT)


def test_opening_does_not_wait_for_the_indexers_turn(daemon: DaemonProcess, cold: Path) -> None:
    with stopped_indexer(daemon):
        opened = daemon.call("OpenProject", path=str(cold))
        assert (opened["root"], opened["state"]) == (str(cold), "scanning")


def test_a_prompt_says_what_its_context_lacks(daemon: DaemonProcess, cold: Path) -> None:
    with stopped_indexer(daemon):
        fields = json.dumps(payload("claude-code", "UserPromptSubmit", root=cold))
        given = {"host": "claude-code", "payload": fields, "deadline_ms": HOOK_MS}
        text = context_of("claude-code", "UserPromptSubmit", daemon.call("HookEvent", **given)["output"])
    assert "(This context is incomplete: the project is still being scanned: 0 files are known so far" in text
    assert "Flies kites." in text, "what it says of itself"
    assert "Prices are whole cents." in text, "its rules"
