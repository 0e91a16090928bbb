"""Decisions are compared with a prompt by meaning, with the real model; without it the reason is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DaemonProcess
from tests.daemon.test_search import searching
from tests.search_cases import until


@pytest.fixture
def embedding(tmp_path: Path) -> Iterator[DaemonProcess]:
    with searching(tmp_path) as process:
        yield process


def decide(daemon: DaemonProcess, root: Path, text: str, **fields: Any) -> None:
    experience = {"decision": text, "agent_id": "a", "session_id": "s", **fields}
    assert daemon.call("GraftExperience", cwd=str(root), experience=experience)["grafted"] == 1


def sources(reply: dict[str, Any]) -> list[str]:
    """Return why each decision of an answer is in it, best first."""
    return [one["source"] for one in reply["slices"] if one["type"] == "agent_history"]


def test_a_decision_that_shares_no_word_with_the_prompt_is_found_by_its_meaning(
    embedding: DaemonProcess, tmp_path: Path
) -> None:
    root = tmp_path / "kite"
    (root / ".git").mkdir(parents=True)
    (root / "main.py").write_text("print()\n")
    decide(embedding, root, "Log people out automatically when they were idle for thirty minutes")
    for topic in ("icons", "fonts", "colours", "margins", "paddings", "shadows", "borders"):
        decide(embedding, root, f"All {topic} come from the design tokens", files_touched=["ui.css"])
    asked = {"cwd": str(root), "prompt": "sign off inactive users after half an hour", "session_id": "talk"}
    replies: list[dict[str, Any]] = []

    def is_compared() -> bool:
        replies.append(embedding.call("GetContext", **asked))
        return any("in meaning" in source for source in sources(replies[-1]))

    until(is_compared, "the model is loaded and has read the decisions")
    assert "in meaning" in sources(replies[-1])[0]
    assert "Log people out" in replies[-1]["context"]
