"""Cline, in the terminal and in VS Code: hooks are executables that are named for their events.

Seen in version 3.0.65 of its CLI: text reaches the model after a tool only. TaskStart comes at each prompt,
without its text, and sessions without a terminal send no UserPromptSubmit, so that the prompt is read from
the session's file at the first tool. A subagent has the events of a task, with its parent's id. Not verified,
known from its source only: VS Code, which sends UserPromptSubmit, and a tool's arguments as texts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from . import host
from .fields import Fields, parsed, value_at
from .hook_answer import OutputLimit, json_line
from .hook_format import CLAUDE_KINDS, SUBAGENT
from .mcp_format import EDITOR_VARIABLES, McpPlace, ServerDefinition, ServerSettings, VariableSyntax
from .mcp_format import read_server as read_shared

LIMIT = OutputLimit(9_500)
"""Maximum text for the model; the host takes 50,000 characters after each tool."""

SERVERS = ".cline/data/settings/cline_mcp_settings.json"

SESSIONS = "~/.cline/data/sessions"
"""The folder of sessions, unless the host's variables name another; then prompts aren't found."""

EVENTS = (
    host.HookEvent("TaskStart"),
    host.HookEvent("TaskResume"),
    host.HookEvent("UserPromptSubmit"),
    host.HookEvent("PostToolUse"),
    host.HookEvent("PreCompact"),
    host.HookEvent("TaskComplete"),
    host.HookEvent("TaskCancel"),
    host.HookEvent("SessionShutdown"),
)

TOOLS = {"read_files": "Read", "editor": "Edit", "search_codebase": "Grep", "run_commands": "Bash"}
"""Its tools by Claude Code's names for them."""

_PROMPT = '"text": "<user_input'
_INPUT = re.compile(r"<user_input[^>]*>(.*?)</user_input>", re.DOTALL)
_SPAWN = re.compile(r'"name": "spawn_agent",\s*+"input": ')


def _translated(name: str, fields: Fields) -> tuple[str, Fields]:
    """Return an event in Claude Code's words."""
    session = fields.part("sessionContext").text("rootSessionId")
    parent, agent_id = fields.text("parent_agent_id"), fields.text("agent_id")
    values: dict[str, Any] = {
        "session_id": session or fields.text("taskId"),
        "workspace_roots": list(fields.texts("workspaceRoots")),
        "timestamp": fields.text("timestamp"),
    }
    if parent:
        values |= {"agent_id": agent_id, "agent_type": SUBAGENT}
    match name:
        case "TaskStart" | "TaskResume" if parent:
            return "SubagentStart", Fields({**values, "transcript_path": _file(session, session)})
        case "TaskStart" | "TaskResume":
            return "SessionStart", Fields({**values, "source": "resume"})
        case "UserPromptSubmit":
            return name, Fields({**values, "prompt": fields.part("userPromptSubmit").text("prompt")})
        case "PostToolUse":
            is_first = fields.value("iteration") == 1 and not parent
            values["transcript_path"] = _file(session, session) if is_first else ""
            return name, Fields({**values, **_tool(fields)})
        case "TaskComplete" | "TaskCancel" if parent:
            values["agent_transcript_path"] = _file(session, agent_id)
            said = fields.part("turn").text("outputText")
            return "SubagentStop", Fields({**values, "last_assistant_message": said})
        case "TaskComplete" | "TaskCancel":
            return "Stop", Fields({**values, "transcript_path": _file(session, session)})
        case "SessionShutdown":
            return "SessionEnd", Fields({**values, "transcript_path": _file(session, session)})
    return name, Fields(values)


def _file(session: str, agent: str) -> str:
    """Return the file of a session's agent, "" if one of the names could lead elsewhere."""
    if not session or any(not re.fullmatch(r"[\w-]+", name) for name in (session, agent)):
        return ""
    return os.path.join(os.path.expanduser(SESSIONS), session, f"{agent}.messages.json")


def _tool(fields: Fields) -> dict[str, Any]:
    """Return a tool's call and result. A call with several files, patterns or commands says nothing."""
    called, told = fields.part("tool_result"), fields.part("postToolUse")
    name = called.text("name") or told.text("toolName")
    given = called.part("input") if called.has("input") else told.part("parameters")
    result = _only(called.value("output"), {}) or _only(told.text("result"), {})
    failed = called.has("error") or told.value("success") is False or result.get("success") is False
    values: dict[str, Any] = {"path": given.text("path")}
    match name:
        case "read_files":
            file = _only(given.value("files"), {})
            values = {
                "path": file.get("path"),
                "offset": file.get("start_line"),
                "limit": file.get("end_line"),
            }
        case "search_codebase":
            values = {"pattern": _only(given.value("queries"), "")}
        case "run_commands":
            values = {"command": _only(given.value("commands"), "")}
    return {
        "tool_use_id": called.text("id"),
        "tool_name": TOOLS.get(name, name),
        "tool_input": values,
        "tool_response": {"error": "failed"} if failed else {"output": str(result.get("result", ""))},
    }


def _only(value: object, otherwise: Any) -> Any:
    """Return the only item of a list, or the value itself, if it has the type of `otherwise`."""
    if isinstance(value, str) and value[:1] in {"[", "{"}:
        value = parsed(value)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value if isinstance(value, type(otherwise)) else otherwise


def _prompt_in(transcript: str, agent_type: str) -> str:
    """Return the prompt that is being answered, by the end of the session's file, or a subagent's task.

    Of several subagents that are started at once none has a task.
    """
    if not agent_type:
        at = transcript.rfind(_PROMPT) + len('"text": ')
        found = _INPUT.match(Fields({"": value_at(transcript, at)}).text(""))
        return found[1] if found else ""
    last = transcript.rpartition('"role": "assistant"')[2]
    calls = [found.end() for found in _SPAWN.finditer(last)]
    given = value_at(last, calls[0]) if len(calls) == 1 else None
    return Fields(given).text("task") if isinstance(given, dict) else ""


def _read_server(fields: ServerDefinition) -> ServerSettings:
    """Read a server, whose program or url may be under `transport`."""
    return read_shared(fields.within("transport"))


def _entry(command: Sequence[str]) -> dict[str, Any]:
    return {**host.program_entry(command), "disabled": False}


def _hooks(level: host.Level, place: host.SettingsPlace) -> host.SettingsPath:
    if level == "project":
        return host.SettingsPath(os.path.join(place.root, ".clinerules", "hooks"), 2)
    return host.SettingsPath(os.path.join(place.home, "Documents", "Cline", "Hooks"), 3, 1)


def _servers(level: host.Level, place: host.SettingsPlace) -> host.SettingsPath | None:
    if level == "project":
        return None
    return host.SettingsPath(os.path.join(place.home, *SERVERS.split("/")), 3)


CLINE = host.Host(
    "cline",
    "Cline",
    host.Hooks(
        host="cline",
        kinds=CLAUDE_KINDS,
        limits={"PostToolUse": LIMIT},
        shows_messages=False,
        translated=_translated,
        own_answer=lambda name, text: json_line({"contextModification": text}),
        seeks_prompts=True,
        events=EVENTS,
        settings=host.HookScripts(_hooks),
        task_in=_prompt_in,
    ),
    host.McpConfig(
        (McpPlace("user", SERVERS, ("mcpServers",)),),
        _read_server,
        VariableSyntax(EDITOR_VARIABLES, unset="empty"),
        strict_json=True,
        path=_servers,
        entry=_entry,
    ),
    host.NativeRules(
        re.compile(r"^(?:AGENTS\.md$|\.clinerules$|\.clinerules/|\.cline/rules/)"),
        ("AGENTS.md", ".clinerules"),
        summary="AGENTS.md, .clinerules and .cline/rules",
    ),
    program="cline",
    next_step="tasks that start from now on use it",
)
