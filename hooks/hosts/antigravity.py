"""Antigravity CLI (`agy`) and its editor, the successor of Gemini CLI: hooks by name, fields of its own.

Sources: its documentation (antigravity.google/docs, hooks and mcp), and public descriptions of its versions
1.1.11 to 1.5.0. PreInvocation comes before each call of the model and takes messages, but has no prompt,
which is read from the transcript. The answer to PostToolUse takes nothing. Not verified, as it was never run:
all of this, above all how much text it takes, whether a project's own hooks run, and that a message of a hook
stays in the conversation.
"""

from __future__ import annotations

import os
import re
from typing import Any

from . import host
from .fields import Fields, parsed
from .hook_answer import OutputLimit, json_line
from .hook_format import CLAUDE_KINDS
from .mcp_format import (
    SHELL_VARIABLES,
    ServerDefinition,
    ServerSettings,
    VariableSyntax,
    places,
    read_program,
    remote_server,
)

LIMIT = OutputLimit(8_000)
FOLDERS = {"user": os.path.join(".gemini", "config"), "project": ".agents"}

EVENTS = (
    host.HookEvent("PreInvocation"),
    host.HookEvent("PostToolUse", matcher="write_to_file|replace_file_content|multi_replace_file_content"),
    host.HookEvent("Stop"),
)


def _translated(name: str, fields: Fields) -> tuple[str, Fields]:
    """Return an event in Claude Code's words."""
    call = fields.part("toolCall")
    values: dict[str, Any] = {
        "session_id": fields.text("conversationId"),
        "workspace_roots": list(fields.texts("workspacePaths")),
        "transcript_path": fields.text("transcriptPath"),
        "step": [fields.value(key) for key in ("stepIdx", "invocationNum", "executionNum")],
    }
    if name == "PreInvocation":  # as after a tool, which is what it mostly comes after
        return "PostToolUse", Fields(values)
    if name == "PostToolUse":
        values |= {"tool_name": "Edit", "tool_input": {"path": call.part("args").text("TargetFile")}}
        values["transcript_path"] = ""  # a prompt is looked for before the model is asked
        values |= {"tool_response": {"error": fields.text("error")} if fields.text("error") else {}}
    return name, Fields(values)


def request_in(content: str) -> str:
    """Return what a person typed in the content of a transcript's record."""
    inner, ended, _ = content.partition("<USER_REQUEST>")[2].partition("</USER_REQUEST>")
    return inner.strip() if ended else content


def _prompt_in(transcript: str, agent_type: str) -> str:
    """Return the last prompt in a transcript's tail, or ""."""
    for line in reversed(transcript.splitlines()):
        if '"USER_INPUT"' in line and isinstance(record := parsed(line), dict):
            return request_in(Fields(record).text("content"))
    return ""


def _path(name: str) -> host.PathOf:
    return lambda level, place: host.SettingsPath(
        os.path.join(place.root if level == "project" else place.home, FOLDERS[level], name),
        *((1,) if level == "project" else (2, 1)),
    )


def _read_server(fields: ServerDefinition) -> ServerSettings:
    disabled = fields.value("disabled") is True
    if "serverUrl" in fields:
        return remote_server(fields, "http", fields.text("serverUrl"), disabled=disabled)
    return read_program(fields, disabled=disabled)


ANTIGRAVITY = host.Host(
    "antigravity",
    "Antigravity CLI",
    host.Hooks(
        host="antigravity",
        kinds=CLAUDE_KINDS,
        limits={"PreInvocation": LIMIT},
        shows_messages=False,
        own_answer=lambda name, text: json_line({"injectSteps": [{"userMessage": text}]}),
        translated=_translated,
        seeks_prompts=True,
        events=EVENTS,
        settings=host.SettingsHooks(
            _path("hooks.json"), section=host.NAME, flat=("PreInvocation", "Stop"), names_event=True
        ),
        task_in=_prompt_in,
    ),
    host.McpConfig(
        places(".agents/mcp_config.json", "mcpServers", user=".gemini/config/mcp_config.json"),
        _read_server,
        VariableSyntax(SHELL_VARIABLES),
        path=_path("mcp_config.json"),
    ),
    host.NativeRules(
        re.compile(r"^(?:~/\.gemini/)?GEMINI\.md$|^AGENTS\.md$|^\.agents?/rules/"),
        ("GEMINI.md", "AGENTS.md"),
        summary="GEMINI.md, AGENTS.md and .agents/rules",
    ),
    program="agy",
    aliases=("agy",),
    next_step="sessions that start from now on use it",
)
