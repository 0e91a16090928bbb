"""Copilot CLI and VS Code's agent.

An event registered in camel case has camel case fields and no name, so its fields identify it. Registered in
Pascal case it comes in Claude Code's format; VS Code knows that only. Neither takes text for a prompt: it is
sent after the next tool instead, but for a session's first prompt, which comes with its start. A resumed
session has lost the text of its start. preToolUse isn't registered: a crash there denies the tool. A
subagent's events have an id of their own as the session and its parent's beside it; its task is in the
parent's transcript.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from .claude_format import hook_output, start_of
from .events import (
    Event,
    FileEdited,
    Origin,
    PromptSubmitted,
    SessionEnding,
    SubagentStarting,
    SubagentStopped,
    TurnEnded,
    WindowCompacting,
)
from .fields import Fields, parsed, typed
from .hook_answer import HookAnswer, OutputLimit, json_line
from .host import (
    END_S,
    NAME,
    START_S,
    HookEvent,
    Hooks,
    Host,
    Level,
    McpConfig,
    NativeRules,
    SettingsHooks,
    SettingsPath,
    SettingsPlace,
    Switch,
    all_off,
    command_line,
    program_entry,
    with_timeout,
)
from .mcp_format import (
    BARE_VARIABLES,
    McpPlace,
    ServerDefinition,
    ServerSettings,
    VariableSyntax,
    read_server,
)

HOST = "copilot"

LIMIT = OutputLimit(characters=8_000)
"""Maximum text for the model: the host takes 10 KB after a tool."""

NAMES = {
    "SessionStart": "sessionStart",
    "SessionEnd": "sessionEnd",
    "UserPromptSubmit": "userPromptSubmitted",
    "PreToolUse": "preToolUse",
    "PostToolUse": "postToolUse",
    "SubagentStart": "subagentStart",
    "SubagentStop": "subagentStop",
    "PreCompact": "preCompact",
    "Stop": "agentStop",
}
"""The names in camel case of the events in Pascal case."""

EDITING_TOOLS = frozenset(
    (
        "edit",
        "create",
        "str_replace_editor",
        "editFiles",
        "createFile",
        "replace_string_in_file",
        "create_file",
    )
)

READING_TOOLS = frozenset(("view", "readFile", "read_file"))

EVENTS = (
    HookEvent("sessionStart", START_S),
    HookEvent("userPromptSubmitted"),
    HookEvent("postToolUse"),
    HookEvent("subagentStart"),
    HookEvent("subagentStop"),
    HookEvent("preCompact"),
    HookEvent("agentStop"),
    HookEvent("sessionEnd", END_S),
)

LIMITED = ("sessionStart", "subagentStart", "postToolUse", "SessionStart", "SubagentStart", "PostToolUse")
"""The events whose answer may bring text to the model."""


def _read(fields: Fields, name: str, cwd: str) -> Event | None:
    origin = _origin(fields, cwd)
    match NAMES.get(name, name) or _name_of(fields):
        case "sessionStart":
            prompt = fields.text("initialPrompt", "initial_prompt")
            return start_of(origin, fields.text("source"), prompt, replays=False)
        case "userPromptSubmitted":
            return PromptSubmitted(origin, typed(fields.text("prompt")))
        case "postToolUse":
            return FileEdited(origin, _paths(fields, EDITING_TOOLS), _paths(fields, READING_TOOLS))
        case "subagentStart":
            return SubagentStarting(origin, transcript_path=fields.text("transcriptPath", "transcript_path"))
        case "subagentStop":
            path = fields.text(
                "agent_transcript_path", "agentTranscriptPath", "transcriptPath", "transcript_path"
            )
            return SubagentStopped(origin, path, fields.text("response", "last_assistant_message"))
        case "agentStop" if not origin.agent_id:  # a subagent's comes before its subagentStop
            return TurnEnded(origin, fields.text("transcriptPath", "transcript_path"))
        case "preCompact":
            return WindowCompacting(origin)
        case "sessionEnd":
            return SessionEnding(origin, fields.text("transcriptPath", "transcript_path"))
    return None


def _task_in(transcript: str, agent_type: str) -> str:
    """Return the task of the last call in a transcript's tail that started a subagent of a type, or ""."""
    for line in reversed(transcript.splitlines()):
        if '"tool.execution_start"' not in line or '"task"' not in line:
            continue
        found = parsed(line)
        data = Fields(found).part("data") if isinstance(found, dict) else Fields({})
        given = data.part("arguments")
        if data.text("toolName") == "task" and given.text("agent_type") in {agent_type, ""}:
            return given.text("prompt")
    return ""


def _write(name: str, answer: HookAnswer) -> str:
    if not answer.context:  # the host shows its user no messages
        return ""
    if name in NAMES:
        return hook_output(name, HookAnswer(answer.context))
    return json_line({"additionalContext": answer.context})


def _origin(fields: Fields, cwd: str) -> Origin:
    kind = fields.text("agentName", "agentType", "agent_name", "agent_type")
    call = fields.text("toolCallId", "tool_use_id")
    return Origin(
        HOST,
        fields.text("parentAgentId") or fields.text("sessionId", "session_id"),
        fields.text("cwd") or cwd,
        fields.text("agentId", "agent_id") or kind,  # a subagent without an id is identified by its name
        kind,
        call or fields.digest(),
        at_ms=0 if call else fields.milliseconds("timestamp"),
    )


def _name_of(fields: Fields) -> str:
    """Return the event of camel case fields. Not verified beyond the documentation."""
    if fields.has("toolName"):
        return "postToolUse" if fields.has("toolResult") else "preToolUse"
    if fields.has("agentName"):
        return "subagentStop" if fields.has("stopReason", "response") else "subagentStart"
    telling = (
        ("stopReason", "agentStop"),
        ("trigger", "preCompact"),
        ("source", "sessionStart"),
        ("prompt", "userPromptSubmitted"),
        ("reason", "sessionEnd"),
    )
    return next((name for field, name in telling if fields.has(field)), "")


def _paths(fields: Fields, tools: Collection[str]) -> tuple[str, ...]:
    """Return the file that one of these tools took, none for another tool."""
    if fields.text("toolName", "tool_name") not in tools:
        return ()
    path = fields.part("toolArgs", "tool_input").text("path", "file_path", "filePath")
    return (path,) if path else ()


def _sent(fields: Fields, variables: Mapping[str, str]) -> bool:
    """Whether a payload of Claude Code's hooks is Copilot's or VS Code's: it has a timestamp."""
    return fields.has("timestamp") or fields.has("sessionId")


def _handler(event: HookEvent, command: Sequence[str]) -> dict[str, Any]:
    # Its payloads don't name their event, so the command does.
    handler = {"type": "command", "bash": command_line([*command, event.name])}
    return with_timeout(handler, "timeoutSec", event.timeout_s)


def _home(place: SettingsPlace) -> str:
    return place.folder("COPILOT_HOME", ".copilot")


def _settings(level: Level, place: SettingsPlace) -> SettingsPath:
    folder = os.path.join(place.root, ".github") if level == "project" else _home(place)
    return SettingsPath(os.path.join(folder, "hooks", f"{NAME}.json"), 2)


def _servers(level: Level, place: SettingsPlace) -> SettingsPath | None:
    if level == "project":
        return None  # it reads a project's .mcp.json too, which is registered with Claude Code
    return SettingsPath(os.path.join(_home(place), "mcp-config.json"))


def _read_server(fields: ServerDefinition) -> ServerSettings:
    server = read_server(fields)
    if server.transport != "stdio" or "tools" not in fields:
        return server
    allowed = fields.texts("tools")
    return replace(server, allowed=None if "*" in allowed else allowed)


def _switches(level: Level, place: SettingsPlace) -> Iterator[Switch]:
    yield all_off("Copilot", os.path.join(_home(place), "settings.json"))


COPILOT = Host(
    HOST,
    "Copilot CLI",
    Hooks(
        _read,
        _write,
        dict.fromkeys(LIMITED, LIMIT),
        EVENTS,
        SettingsHooks(_settings, _handler, grouped=False, skeleton={"version": 1}),
        task_in=_task_in,
    ),
    McpConfig(
        (McpPlace("user", ".copilot/mcp-config.json", ("mcpServers",)),),
        _read_server,
        VariableSyntax(BARE_VARIABLES),
        strict_json=True,
        path=_servers,
        entry=lambda command: {"type": "local", **program_entry(command), "tools": ["*"]},
    ),
    NativeRules(
        re.compile(
            r"^(?:[^./~][^/]*/)*(?:AGENTS|CLAUDE|GEMINI)\.md$"
            r"|(?:^|/)\.github/(?:copilot-instructions\.md$|instructions/)|^~/\.copilot/instructions/"
        ),
        ("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md"),
        summary=".github/copilot-instructions.md, .github/instructions, AGENTS.md, CLAUDE.md and GEMINI.md",
    ),
    program="copilot",
    runs_hooks_of="claude-code",
    sent=_sent,
    switches=_switches,
    next_step="sessions that start from now on use it",
)
