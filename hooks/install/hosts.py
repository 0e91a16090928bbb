"""Owns what each host is told: for which events it runs foveal, in which form, how long it waits.

Timeouts leave a multiple of what a hook takes, since a slow one is dropped by the host: 5 s where a session
starts and the daemon may have to as well, 3 s where a person waits. What needs no answer runs beside the
agent where the host can do that (`async`). Copilot's preToolUse is left out: a crash there denies the tool.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .errors import InstallError
from .program import command_line, hook_command

Host = Literal["claude-code", "codex", "cursor", "gemini", "copilot", "opencode", "git"]

HOSTS: tuple[Host, ...] = ("claude-code", "codex", "cursor", "gemini", "copilot", "opencode", "git")
ALIASES: Mapping[str, Host] = {"claude": "claude-code"}

START_S = 5
PROMPT_S = 3
END_S = 2
"""Where a session ends the hook itself takes 0.5 s at most; the rest is for a machine under load."""


@dataclass(frozen=True, slots=True)
class HostEvent:
    """One event of a host: what is matched in it ("" for all), how long it may take, whether anyone waits."""

    name: str
    timeout_s: int | None = PROMPT_S
    matcher: str = ""
    runs_beside: bool = False


@dataclass(frozen=True, slots=True)
class Registration:
    """What belongs under one event of a settings file; `matcher` is None where the host has no groups."""

    event: str
    handler: Mapping[str, Any]
    matcher: str | None


EVENTS: Mapping[Host, tuple[HostEvent, ...]] = {
    "claude-code": (
        HostEvent("SessionStart", START_S, "startup|resume|clear|compact"),
        HostEvent("UserPromptSubmit"),
        HostEvent("PreToolUse", matcher="Agent|Task|SubagentHandback"),
        HostEvent("PostToolUse", None, "Write|Edit|NotebookEdit", runs_beside=True),
        HostEvent("SubagentStart"),
        HostEvent("SubagentStop", None, runs_beside=True),
        HostEvent("PreCompact"),
        HostEvent("Stop", None, runs_beside=True),
        HostEvent("SessionEnd", None),  # all hooks share 1.5 s, a timeout would lengthen that for everyone's
    ),
    "codex": (
        HostEvent("SessionStart", START_S),
        HostEvent("UserPromptSubmit"),
        HostEvent("PreToolUse", matcher="Agent"),
        HostEvent("PostToolUse", matcher="apply_patch", runs_beside=True),
        HostEvent("SubagentStart"),
        HostEvent("SubagentStop", runs_beside=True),
        HostEvent("PreCompact"),
        HostEvent("Stop", runs_beside=True),
        HostEvent("SessionEnd", None),  # 1 s by itself, 3 s at most
    ),
    "cursor": (
        HostEvent("sessionStart", START_S),
        HostEvent("beforeSubmitPrompt"),
        HostEvent("preToolUse", matcher="Task"),
        HostEvent("subagentStart"),
        HostEvent("subagentStop"),
        HostEvent("afterFileEdit"),
        # Takes text for the model, which beforeSubmitPrompt doesn't. afterFileEdit tells what Write does.
        HostEvent("postToolUse", matcher="Read|Grep|Shell"),
        HostEvent("preCompact"),
        HostEvent("stop"),
        HostEvent("sessionEnd", END_S),
    ),
    "gemini": (
        HostEvent("SessionStart", START_S),
        HostEvent("BeforeAgent"),
        HostEvent("AfterTool", matcher="write_file|replace"),
        HostEvent("AfterAgent"),
        HostEvent("PreCompress"),
        HostEvent("SessionEnd", END_S),
    ),
    "copilot": (
        HostEvent("sessionStart", START_S),
        HostEvent("userPromptSubmitted"),
        HostEvent("postToolUse"),
        HostEvent("subagentStart"),
        HostEvent("subagentStop"),
        HostEvent("preCompact"),
        HostEvent("agentStop"),
        HostEvent("sessionEnd", END_S),
    ),
    "opencode": (),  # its plugin file subscribes by itself
    "git": (HostEvent("post-checkout"), HostEvent("post-merge"), HostEvent("post-commit")),
}

SKELETONS: Mapping[Host, Mapping[str, Any]] = {"cursor": {"version": 1}, "copilot": {"version": 1}}
"""What a hooks file of a host must say beside the hooks."""

NEXT_STEPS: Mapping[Host, str] = {
    "claude-code": "sessions that start from now on use it; a project's own files wait for its trust dialog",
    "codex": "Codex runs no hook before you reviewed it: enter /hooks there; a project must be trusted, too",
    "cursor": "Cursor takes it up by itself; a project's own files wait until you trust the workspace",
    "gemini": "sessions that start from now on use it; Gemini asks about a project's own hooks first",
    "copilot": "sessions that start from now on use it",
    "opencode": "restart OpenCode to load the plugin",
    "git": "",
}
"""What a person has to do for it to take effect."""


def host_named(name: str) -> Host:
    """Return the host of a name or another name of it. Raises `InstallError`."""
    for host in HOSTS:
        if name == host:
            return host
    if name in ALIASES:
        return ALIASES[name]
    raise InstallError(f"there is no host {name!r}", f"hosts are {', '.join(HOSTS)}")


def registrations(host: Host, program: str) -> tuple[Registration, ...]:
    """Return what is registered with a host whose settings list handlers by event."""
    grouped = host in {"claude-code", "codex", "gemini"}
    return tuple(
        Registration(event.name, _handler(host, event, program), event.matcher if grouped else None)
        for event in EVENTS[host]
    )


def _handler(host: Host, event: HostEvent, program: str) -> dict[str, Any]:
    # Copilot's payloads don't say which event they are, so the command does.
    words = hook_command(program, host, *([event.name] if host == "copilot" else []))
    line = command_line(words)
    if host == "claude-code":
        handler: dict[str, Any] = {"type": "command", "command": words[0], "args": words[1:]}
        return {**handler, **_beside(event), **_timeout("timeout", event.timeout_s)}
    if host == "codex":
        handler = {"type": "command", "command": line}
        return {**handler, **_beside(event), **_timeout("timeout", event.timeout_s)}
    if host == "cursor":
        matcher = {"matcher": event.matcher} if event.matcher else {}
        return {"type": "command", "command": line, **matcher, **_timeout("timeout", event.timeout_s)}
    if host == "gemini":
        handler = {"type": "command", "command": line, "name": "foveal"}
        return {**handler, **_timeout("timeout", event.timeout_s and event.timeout_s * 1000)}
    return {"type": "command", "bash": line, **_timeout("timeoutSec", event.timeout_s)}


def _beside(event: HostEvent) -> dict[str, Any]:
    return {"async": True} if event.runs_beside else {}


def _timeout(key: str, value: int | None) -> dict[str, Any]:
    return {} if value is None else {key: value}
