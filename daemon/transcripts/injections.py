"""Removal of injected text from transcripts: our own contexts, and the reminders and notices of hosts.

It is removed before decisions are extracted: a decision shown to an agent isn't a decision of that agent.
"""

from __future__ import annotations

import re

CONTEXT_TAG = "foveal-context"
"""The element that hooks put around an injected context."""
CONTEXT_TITLE = "# PROJECT CONTEXT"
"""The first line of every context. Without a closing tag the rest of the text counts as context."""
SERVER_NAME = "foveal"
"""The name of our MCP server in hosts."""

_OWN_TAGS = (CONTEXT_TAG, "system-reminder", "system_reminder", "hook_prompt", "hook_additional_context")
_HOST_TAGS = (
    # Claude Code: commands of the host itself, shells of the user, what a person pasted, background agents.
    "command-name", "command-message", "command-contents", "local-command-caveat", "local-command-stdout",
    "local-command-stderr", "bash-input", "bash-stdout", "bash-stderr", "command-args",
    "task-notification", "ide_opened_file", "persisted-output", "user-prompt-submit-hook",
    # Codex: what it tells the model in the user's name.
    "environment_context", "user_instructions", "INSTRUCTIONS", "skill", "skills_instructions",
    "permissions instructions", "turn_aborted", "user_shell_command", "subagent_notification",
    "collaboration_mode", "personality_spec",
    # Gemini: what hooks added.
    "hook_context",
)  # fmt: skip
_PASTED_TAGS = ("pasted_content", "ide_selection")
_TITLE = re.compile(rf"(?m)^{re.escape(CONTEXT_TITLE)}[ \t\r]*$")
_CODEX_RULES = re.compile(r"\A\s*# AGENTS\.md instructions\b")
_OWN_TOOL = re.compile(rf"(?:mcp__?)?(?:plugin_[\w-]*?)?{SERVER_NAME}(?:__?|[-./:]).+")
_OWN_COMMAND = re.compile(
    rf"(?:^|[;&|(\n])\s*(?:\w+=\S*\s+)*(?:uvx\s+|[\w./-]*python[\d.]*\s+-m\s+|[\w./-]*/)?{SERVER_NAME}(?:\s|$)"
)


def said(text: str) -> str:
    """Return a message without contexts, reminders, pasted text and a host's notices."""
    return part_said(text).strip()


def part_said(text: str) -> str:
    """Return a part of a message in the same way, with the spaces around it."""
    if "<" in text:
        text = _without(text, (*_OWN_TAGS, *_HOST_TAGS, *_PASTED_TAGS))
    if _CODEX_RULES.match(text):
        return ""
    return _before_context(text)


def asked(text: str) -> str:
    """Return a prompt without injected text, but with pasted and selected text."""
    if "<" in text:
        text = _without(text, (*_OWN_TAGS, *_HOST_TAGS))
    return _before_context(text).strip()


def printed(text: str) -> str:
    """Return the output of a tool without text that hosts and hooks added."""
    if "<" in text:
        text = _without(text, _OWN_TAGS)
    return _before_context(text)


def is_own_tool(name: str, namespace: str = "") -> bool:
    """Whether a tool is one of our MCP server's, whose results are contexts.

    Hosts write `mcp__foveal__x`, with a plugin `mcp__plugin_foveal_foveal__x`, `mcp_foveal_x` or `foveal-x`,
    or keep the server apart.
    """
    if namespace:
        return namespace.removeprefix("mcp__").rstrip("_") == SERVER_NAME
    return _OWN_TOOL.fullmatch(name) is not None


def is_own_command(command: str) -> bool:
    """Whether a shell command runs our program, whose output may be a context or past decisions."""
    return SERVER_NAME in command and _OWN_COMMAND.search(command) is not None


def _before_context(text: str) -> str:
    if CONTEXT_TITLE in text and (title := _TITLE.search(text)):
        return text[: title.start()]
    return text


def _without(text: str, tags: tuple[str, ...]) -> str:
    """Remove elements from a text, in linear time."""
    for tag in tags:
        if f"<{tag}" not in text:
            continue
        # An element with a longer name isn't meant.
        opening, closing = re.compile(rf"<{re.escape(tag)}[> \n\t]"), f"</{tag.partition(' ')[0]}"
        kept: list[str] = []
        place = 0
        while found := opening.search(text, place):
            end = text.find(closing, found.start())
            if end < 0:
                break
            kept.append(text[place : found.start()])
            bracket = text.find(">", end)
            place = len(text) if bracket < 0 else bracket + 1
        kept.append(text[place:])
        text = "".join(kept)
    return text
