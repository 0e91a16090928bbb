"""Codex: Claude Code's hook format under strict schemas, settings in config.toml.

Its current models start subagents with `collaborationspawn_agent`, older ones with `spawn_agent`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from .claude_format import hook_output, origin_of, read_event
from .events import Event, FileEdited, SubagentAnnounced
from .fields import Fields
from .hook_answer import OutputLimit
from .host import (
    START_S,
    HookEvent,
    HookReview,
    Hooks,
    Host,
    Level,
    McpConfig,
    NativeRules,
    Obstacle,
    RegisteredHook,
    SettingsHooks,
    SettingsPath,
    SettingsPlace,
    Switch,
    command_line,
    in_background,
    with_timeout,
)
from .mcp_format import McpPlace, ServerDefinition, ServerSettings, read_program, remote_server

HOST = "codex"

LIMIT = OutputLimit(characters=8_000, tokens=2_200)
"""Maximum text for the model: the host takes about 2,500 tokens; of a longer text the model gets head and
tail."""

TIMEOUT_MAX_S = 120.0
"""Maximum seconds of a start timeout in a server's own settings."""

PATCHING_TOOLS = frozenset(("apply_patch", "Edit", "Write"))
STARTING_TOOLS = frozenset(("collaborationspawn_agent", "spawn_agent", "Agent"))
PATHS_MAX = 100

_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+?)\s*$", re.MULTILINE)

EVENTS = (
    HookEvent("SessionStart", START_S),
    HookEvent("UserPromptSubmit"),
    HookEvent("PreToolUse", matcher="Agent|spawn_agent|collaborationspawn_agent"),
    HookEvent("PostToolUse", matcher="apply_patch", in_background=True),
    HookEvent("SubagentStart"),
    # Not in the background: hosts kill those hooks when they end, so that the ends of work would be lost.
    HookEvent("SubagentStop"),
    HookEvent("PreCompact"),
    HookEvent("Stop"),
    HookEvent("SessionEnd", 3),  # the maximum; 1 s by itself
)


def _read(fields: Fields, name: str, cwd: str) -> Event | None:
    tool, given = fields.text("tool_name"), fields.part("tool_input")
    origin = origin_of(HOST, fields, cwd, moment=fields.text("tool_use_id"))
    if name == "PostToolUse" and tool in PATCHING_TOOLS:
        paths = () if _is_refused(fields.text("tool_response")) else patched_paths(given)
        return FileEdited(origin, paths) if paths else None
    if name == "PreToolUse" and tool in STARTING_TOOLS:
        task = given.text("message", "prompt", "task")
        return SubagentAnnounced(origin, given.text("agent_type", "subagent_type"), task)
    return None if name in {"PreToolUse", "PostToolUse"} else read_event(HOST, fields, name, cwd)


def _is_refused(response: str) -> bool:
    """Whether a patch was refused; of an applied one the output begins with `Success`, below its header."""
    return bool(response) and not re.search(r"(?m)(?:^|\")(?:Success|Done)\b", response)


def patched_paths(given: Fields) -> tuple[str, ...]:
    """Return the files that a patch names, without duplicates; the patch is one of the call's texts."""
    found = [path for text in given.strings() for path in _PATCHED.findall(text)]
    named = given.text("file_path")
    return tuple(dict.fromkeys([*found, *([named] if named else [])]))[:PATHS_MAX]


def _handler(event: HookEvent, command: Sequence[str]) -> dict[str, Any]:
    handler = {"type": "command", "command": command_line(command)}
    return with_timeout(in_background(handler, event), "timeout", event.timeout_s)


def _in_folder(name: str, level: Level, place: SettingsPlace) -> SettingsPath:
    own = os.path.join(place.root, ".codex") if level == "project" else _home(place)
    return SettingsPath(os.path.join(own, name))


def _home(place: SettingsPlace) -> str:
    return place.folder("CODEX_HOME", ".codex")


def _config(place: SettingsPlace) -> str:
    return os.path.join(_home(place), "config.toml")


def _read_server(fields: ServerDefinition) -> ServerSettings:
    timeout = fields.value("startup_timeout_sec")
    allowed = fields.texts("enabled_tools") if "enabled_tools" in fields else None
    denied = fields.texts("disabled_tools")
    if "url" not in fields:
        server = replace(read_program(fields), forwarded=fields.texts("env_vars"))
    else:
        variables = fields.pairs("env_http_headers")
        server = remote_server(fields, "http", fields.text("url"), headers="http_headers")
        bearer = fields.text("bearer_token_env_var")
        server = replace(server, header_variables=variables, bearer_variable=bearer)
    seconds = float(timeout) if isinstance(timeout, int | float) and timeout > 0 else 0.0
    return replace(
        server,
        allowed=allowed,
        denied=denied,
        disabled=fields.value("enabled") is False,
        timeout_s=min(seconds, TIMEOUT_MAX_S),
    )


def _switches(level: Level, place: SettingsPlace) -> Iterator[Switch]:
    path = _config(place)
    for key in ("hooks", "codex_hooks"):
        text = f"Codex's hooks are off: features.{key} in {path}"
        yield Switch(path, ("features", key), False, text, f"set {key} = true in {path}")


def _unreviewed(
    level: Level,
    place: SettingsPlace,
    config: Mapping[str, Any],
    path: str,
    hooks: Sequence[RegisteredHook],
) -> Iterator[Obstacle]:
    """Yield the reviews that Codex requires before it runs our hooks in the file at `path`.

    Codex records a reviewed hook in its config.toml by file, event and position, with a hash whose recipe
    isn't public: so a hook that was changed after its review passes here, and Codex asks itself.
    """
    if level == "project":
        project = _table(_table(config, "projects"), place.root)
        if project.get("trust_level") != "trusted":
            yield Obstacle(f"Codex doesn't trust {place.root} yet", "start codex there and trust the folder")
    state = _table(_table(config, "hooks"), "state")
    waiting, off = [], []
    for hook in hooks:
        noted = _table(state, f"{path}:{_snake(hook.event)}:{hook.group}:{hook.position}")
        if not noted.get("trusted_hash"):
            waiting.append(hook.event)
        elif noted.get("enabled") is False:
            off.append(hook.event)
    if waiting:
        text = f"Codex silently doesn't run these hooks before you reviewed them: {', '.join(waiting)}"
        yield Obstacle(text, "enter /hooks in codex and trust them")
    if off:
        yield Obstacle(f"in Codex these hooks are switched off: {', '.join(off)}", "enter /hooks in codex")


def _table(values: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = values.get(key)
    return found if isinstance(found, dict) else {}


def _snake(event: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()


CODEX = Host(
    HOST,
    "Codex",
    Hooks(
        _read,
        hook_output,
        dict.fromkeys(("SessionStart", "UserPromptSubmit", "SubagentStart"), LIMIT),
        EVENTS,
        SettingsHooks(lambda level, place: _in_folder("hooks.json", level, place), _handler),
    ),
    # Its definitions hold no variables, only the names of variables passed on to the server.
    McpConfig(
        (
            McpPlace("project", ".codex/config.toml", ("mcp_servers",)),
            McpPlace("user", ".codex/config.toml", ("mcp_servers",)),
        ),
        _read_server,
        path=lambda level, place: _in_folder("config.toml", level, place),
    ),
    NativeRules(
        re.compile(r"^(?:~/\.codex/)?AGENTS(?:\.override)?\.md$|(?:^|/)\.agents/skills/"),
        ("AGENTS.override.md", "AGENTS.md"),
        above=frozenset(("AGENTS.md", "AGENTS.override.md")),
        summary="AGENTS.md from the root down to its folder",
    ),
    program="codex",
    switches=_switches,
    review=HookReview(_config, _unreviewed),
    next_step="Codex runs no hook before you reviewed it: enter /hooks there; a project must be trusted, too",
)
