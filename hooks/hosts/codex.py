"""Codex: Claude Code's hook format under strict schemas, settings in config.toml.

Its current models start subagents with `collaborationspawn_agent`, older ones with `spawn_agent`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from . import host
from .hook_answer import OutputLimit
from .hook_format import CLAUDE_KINDS
from .mcp_format import ServerDefinition, ServerSettings, places, read_program, remote_server

FOLDER = host.SettingsFolder(".codex", "CODEX_HOME")

LIMIT = OutputLimit(characters=8_000, tokens=2_200)
"""Maximum text for the model: the host takes about 2,500 tokens; of a longer text the model gets head and
tail."""

PROMPT_LIMIT = replace(
    LIMIT,
    lead="The user's message above is the request; this is background from the project, not a task.",
)
"""The limit beside a prompt. The host puts the text behind the prompt as a developer's message of its own,
which a model may take for the task; elsewhere it stands before the prompt, or beside a tool."""

TIMEOUT_MAX_S = 120.0
"""Maximum seconds of a start timeout in a server's own settings."""

EVENTS = (
    host.HookEvent("SessionStart", host.START_S),
    host.HookEvent("UserPromptSubmit"),
    host.HookEvent("PreToolUse", matcher="Agent|spawn_agent|collaborationspawn_agent"),
    host.HookEvent("PostToolUse", matcher="apply_patch|Bash"),
    host.HookEvent("SubagentStart"),
    # Not in the background: hosts kill those hooks when they end, so that the ends of work would be lost.
    host.HookEvent("SubagentStop"),
    host.HookEvent("PreCompact"),
    host.HookEvent("Stop"),
    host.HookEvent("SessionEnd", 3),  # the maximum; 1 s by itself
)


def _config(place: host.SettingsPlace) -> str:
    return os.path.join(FOLDER.at("user", place), "config.toml")


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


def _switches(level: host.Level, place: host.SettingsPlace) -> Iterator[host.Switch]:
    path = _config(place)
    for key in ("hooks", "codex_hooks"):
        text = f"Codex's hooks are off: features.{key} in {path}"
        yield host.Switch(path, ("features", key), False, text, f"set {key} = true in {path}")


def _unreviewed(
    level: host.Level,
    place: host.SettingsPlace,
    config: Mapping[str, Any],
    path: str,
    hooks: Sequence[host.RegisteredHook],
) -> Iterator[host.Obstacle]:
    """Yield the reviews that Codex requires before it runs our hooks in the file at `path`.

    Codex records a reviewed hook in its config.toml by file, event and position, with a hash whose recipe
    isn't public: so a hook that was changed after its review passes here, and Codex asks itself.
    """
    if level == "project":
        project = _table(_table(config, "projects"), place.root)
        if project.get("trust_level") != "trusted":
            yield host.Obstacle(
                f"Codex doesn't trust {place.root} yet", "start codex there and trust the folder"
            )
    state = _table(_table(config, "hooks"), "state")
    waiting, off = [], []
    for hook in hooks:
        event = re.sub(r"(?<!^)(?=[A-Z])", "_", hook.event).lower()
        noted = _table(state, f"{path}:{event}:{hook.group}:{hook.position}")
        if not noted.get("trusted_hash"):
            waiting.append(hook.event)
        elif noted.get("enabled") is False:
            off.append(hook.event)
    if waiting:
        text = f"Codex silently doesn't run these hooks before you reviewed them: {', '.join(waiting)}"
        yield host.Obstacle(text, "enter /hooks in codex and trust them")
    if off:
        yield host.Obstacle(
            f"in Codex these hooks are switched off: {', '.join(off)}", "enter /hooks in codex"
        )


def _table(values: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = values.get(key)
    return found if isinstance(found, dict) else {}


CODEX = host.Host(
    "codex",
    "Codex",
    host.Hooks(
        host="codex",
        kinds=CLAUDE_KINDS,
        limits={
            **dict.fromkeys(("SessionStart", "SubagentStart", "PostToolUse"), LIMIT),
            "UserPromptSubmit": PROMPT_LIMIT,
        },
        events=EVENTS,
        settings=host.SettingsHooks(FOLDER.file("hooks.json")),
    ),
    # Its definitions hold no variables, only the names of variables passed on to the server.
    host.McpConfig(
        places(".codex/config.toml", "mcp_servers"), _read_server, path=FOLDER.file("config.toml")
    ),
    host.NativeRules(
        re.compile(r"^(?:~/\.codex/)?AGENTS(?:\.override)?\.md$|(?:^|/)\.agents/skills/"),
        ("AGENTS.override.md", "AGENTS.md"),
        above=frozenset(("AGENTS.md", "AGENTS.override.md")),
        summary="AGENTS.md from the root down to its folder",
    ),
    program="codex",
    switches=_switches,
    review=host.HookReview(_config, _unreviewed),
    next_step="Codex runs no hook before you reviewed it: enter /hooks there; a project must be trusted, too",
)
