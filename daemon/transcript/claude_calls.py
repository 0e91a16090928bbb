"""Owns the tools of Claude Code: what a call does, which files it touches, and what its result says."""

from __future__ import annotations

import re

from ..core.lazy_dataclass import dataclass
from .entry import Tool
from .records import RESULT_CHARACTERS, Record, cut, joined, map_at, maps_at, parts_at, text_at

HANDBACK = "SubagentHandback"
PLAN = "ExitPlanMode"
QUESTION = "AskUserQuestion"

_TOOLS: dict[str, Tool] = {
    "Edit": "edit",
    "MultiEdit": "edit",
    "NotebookEdit": "edit",
    "Write": "write",
    "Read": "read",
    "NotebookRead": "read",
    "Bash": "run",
    "PowerShell": "run",
    "Grep": "search",
    "Glob": "search",
    "LS": "search",
    "LSP": "search",
    "WebSearch": "search",
    "Agent": "agent",
    "Task": "agent",  # the former name
}
_FILE_TOOLS = ("edit", "write", "read")
_EXIT_CODE = re.compile(r"\A\s*Exit code (-?\d+)\b")


@dataclass(frozen=True, slots=True)
class Call:
    """What a call does, as an entry tells it."""

    tool: Tool
    text: str
    paths: tuple[str, ...]
    command: str


def call_of(name: str, given: Record) -> Call:
    """Tell what a call does by the tool's name and its input."""
    tool = _TOOLS.get(name, "other")
    path = text_at(given, "file_path", "notebook_path") if tool in _FILE_TOOLS else ""
    return Call(
        tool,
        text_at(given, "prompt", "description") if tool in {"agent", "run"} else "",
        (path,) if path else (),
        text_at(given, "command") if tool == "run" else "",
    )


def output_of(block: Record, outcome: object) -> str:
    """Return a result's output, whole; `outcome` is the record's `toolUseResult`, of any shape."""
    if text := joined_lines(parts_at(block, "content")):
        return text
    if isinstance(outcome, str):
        return outcome
    if isinstance(outcome, dict):
        return "\n".join(part for part in (text_at(outcome, "stdout"), text_at(outcome, "stderr")) if part)
    return ""


def has_failed(block: Record, outcome: object) -> bool:
    """Whether a result is an error: the host says so, a command's exit code, or that it was broken off."""
    if block.get("is_error") is True:
        return True
    if isinstance(outcome, dict) and outcome.get("interrupted") is True:
        return True
    content = parts_at(block, "content")
    found = _EXIT_CODE.match(content[0][:40]) if content else None
    return found is not None and found[1] != "0"


def report_of(outcome: object) -> tuple[str, str] | None:
    """Return the id and the final report of an agent that was waited for; None for one that goes on."""
    if not isinstance(outcome, dict) or text_at(outcome, "status") != "completed":
        return None
    report = joined(parts_at(outcome, "content"))
    return (text_at(outcome, "agentId"), report) if report else None


def answers_of(outcome: object) -> str:
    """Return a person's answers to the agent's questions, a line each."""
    if not isinstance(outcome, dict):
        return ""
    answers = map_at(outcome, "answers")
    asked = [text_at(one, "question") for one in maps_at(outcome, "questions")]
    return "\n".join(
        f"{question} {answers[question]}" for question in asked if isinstance(answers.get(question), str)
    )


def joined_lines(parts: list[str]) -> str:
    """Put a result's blocks one below the other."""
    return "\n".join(parts)


def short(text: str) -> str:
    """Return an output as an entry has it."""
    return cut(text, RESULT_CHARACTERS)
