"""Hook payloads in the recorded shapes, and the answers that each host accepts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from foveal.daemon.hooks.answer import CONTEXT_TAG

PAYLOADS = Path(__file__).parent / "hook_payloads"
HOSTS = (
    "claude-code",
    "codex",
    "cursor",
    "gemini",
    "copilot",
    "opencode",
    "qwen-code",
    "cline",
    "droid",
    "antigravity",
    "kiro",
)
RECORDED_ROOT = "/home/ada/shop"

CONTEXT_EVENTS: Mapping[str, frozenset[str]] = {
    "claude-code": frozenset(("SessionStart", "UserPromptSubmit", "SubagentStart", "PostToolUse")),
    "codex": frozenset(("SessionStart", "UserPromptSubmit", "SubagentStart", "PostToolUse")),
    "cursor": frozenset(("sessionStart", "beforeSubmitPrompt", "postToolUse")),
    "gemini": frozenset(("SessionStart", "BeforeAgent", "AfterTool")),
    "copilot": frozenset(("sessionStart", "subagentStart", "postToolUse", "SessionStart", "PostToolUse")),
    "opencode": frozenset(("SessionStart", "UserPromptSubmit", "SubagentStart", "PostToolUse")),
    "qwen-code": frozenset(("UserPromptSubmit", "PostToolUse")),
    "cline": frozenset(("PostToolUse",)),
    "kiro": frozenset(("SessionStart", "UserPromptSubmit")),
    "antigravity": frozenset(("PreInvocation",)),
    "droid": frozenset(("SessionStart", "UserPromptSubmit", "PostToolUse")),
}
"""The events whose answers a host takes text from, as its documentation or its types have it."""

MOST_CHARACTERS: Mapping[str, int] = {
    "claude-code": 10_000,
    "codex": 10_000,
    "copilot": 10_240,
    "cline": 50_000,
}
MOST_OTHERS = 8_000

NAMED = frozenset(("copilot", "cline", "antigravity"))
"""Hosts whose payloads don't name their event, so that the hook's command does."""


def payload(host: str, name: str, root: Path | str = RECORDED_ROOT, **changed: Any) -> dict[str, Any]:
    """Return a recorded payload as it would be of a project at `root`, with some fields changed."""
    text = (PAYLOADS / host / f"{name}.json").read_text(encoding="utf-8")
    fields: dict[str, Any] = json.loads(text.replace(RECORDED_ROOT, str(root)))
    return fields | changed


def recorded() -> list[tuple[str, str]]:
    """Return every recorded payload as (host, name)."""
    return sorted((path.parent.name, path.stem) for path in PAYLOADS.glob("*/*.json"))


def event_name(name: str) -> str:
    """Return the event of a recorded payload by its file's name."""
    return name.removeprefix("vscode_").partition("_")[0]


def words(host: str, name: str) -> tuple[str, ...]:
    """Return what a hook's command says besides the host: some payloads don't name their event."""
    return (event_name(name),) if host in NAMED and not name.startswith("vscode_") else ()


def context_of(host: str, name: str, output: str) -> str:
    """Check that a host would accept an output for an event, and return the text for the model in it.

    Strict as Codex is, for all: no key that isn't known, no empty value, one JSON object and nothing else.
    """
    if not output:
        return ""
    event = event_name(name)
    if host == "kiro":  # it takes plain text
        assert event in CONTEXT_EVENTS[host]
        check_wrapped(output)
        assert len(output) <= MOST_OTHERS
        return output
    fields = json.loads(output)
    assert isinstance(fields, dict)
    assert output.isascii(), "whatever the locale"
    assert not output.endswith("\n")
    text = ""
    if host == "cursor":
        assert fields.pop("continue", None) is (True if event == "beforeSubmitPrompt" else None)
        assert set(fields) == {"additional_context"}
        text = fields["additional_context"]
    elif host == "cline":
        assert set(fields) == {"contextModification"}
        text = fields["contextModification"]
    elif host == "antigravity":
        ((only,),) = fields.values()
        assert (set(fields), set(only)) == ({"injectSteps"}, {"userMessage"})
        text = only["userMessage"]
    elif host == "copilot" and event[0].islower():
        assert set(fields) == {"additionalContext"}
        text = fields["additionalContext"]
    else:
        assert set(fields) <= {"systemMessage", "hookSpecificOutput"}
        assert fields, "an empty object says nothing"
        if "systemMessage" in fields:
            assert host in {"claude-code", "codex", "gemini", "qwen-code", "droid"}
            assert isinstance(fields["systemMessage"], str)
            assert "\n" not in fields["systemMessage"]
        if "hookSpecificOutput" in fields:
            own = fields["hookSpecificOutput"]
            assert set(own) == {"hookEventName", "additionalContext"}
            assert own["hookEventName"] == event
            text = own["additionalContext"]
    if text:
        assert event in CONTEXT_EVENTS[host]
        bare = host in {"gemini", "qwen-code"}  # these turn angle brackets into entities
        check_wrapped(text.replace("[", "<").replace("]", ">") if bare else text)
        assert not bare or not {"<", ">"} & set(text)
        assert len(text) <= MOST_CHARACTERS.get(host, MOST_OTHERS)
    return str(text)


def check_wrapped(text: str) -> None:
    """Check that a text is one element, and that nothing in it ends or begins another."""
    assert text.startswith(f"<{CONTEXT_TAG}>\n")
    assert text.endswith(f"\n</{CONTEXT_TAG}>")
    assert text.lower().count(CONTEXT_TAG) >= 2
    assert text.lower().count(f"<{CONTEXT_TAG}") == 1
    assert text.lower().count(f"</{CONTEXT_TAG}") == 1
