"""The hosts: how each is installed from npm, pointed at the scripted model, and run for a prompt."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from .script import Call, Command, Delegate, Edit, Mcp, Read, Request, Say, Step, Wait

NODE = "node@22"
"""The Node that runs hosts, from npm too: some of them need a newer one than the machine has."""

INSTALL_S = 600

Env = dict[str, str]


class HostProgram(Struct, frozen=True):
    """A host: `name` is its row, `host` its name with `foveal hooks install`, `package` what npm installs.

    `prepare` writes its settings below a home folder, `command` returns the arguments for a prompt (`more` is
    "" for a new session, else "continue"). `call` is its tool call for a step.
    """

    name: str
    host: str
    package: str
    program: str
    command: Callable[[str, str], list[str]]
    call: Callable[[Step, Request], Call]
    prepare: Callable[[Path, Path, str], Env]
    compact: Callable[[], list[str]] | None = None
    has_subagents: bool = True
    waits: bool = False
    """Whether a subagent is waited for by a call of its own."""
    resumes: bool = True
    """Whether a prompt can continue an earlier session; else each has its own."""
    defers_tools: bool = False
    """Whether the tools of servers are loaded by a call of their own."""
    rests: bool = False
    """Whether a session ends without an event, so that its decisions are found only after a rest."""
    late_contexts: bool = False
    """Whether a prompt's context comes after the next tool call, and not with the prompt."""


class Installed(Struct, frozen=True):
    """An installed host: the folders of its programs, and its version."""

    program: HostProgram
    paths: tuple[str, ...]
    version: str


def install(host: HostProgram, cache: Path) -> Installed | str:
    """Install a host below a cache folder, once; returns why it can't be installed."""
    paths = []
    for package, program in ((NODE, "node"), (host.package, host.program)):
        folder = cache / package.strip("@").replace("/", "_").replace("@", "_")
        bin_folder = folder / "node_modules" / (".bin" if program != "node" else "node/bin")
        if not (bin_folder / program).exists():
            if shutil.which("npm") is None:
                return "npm isn't installed"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "package.json").write_text('{"private": true}\n')
            command = ["npm", "install", "--no-audit", "--no-fund", package]
            try:
                done = subprocess.run(
                    command, cwd=folder, capture_output=True, text=True, timeout=INSTALL_S, check=False
                )
            except subprocess.TimeoutExpired:
                return f"npm took more than {INSTALL_S} s for {package}"
            if done.returncode:
                return f"npm can't install {package}: {(done.stderr.strip() or '?').splitlines()[-1][:120]}"
        paths.append(str(bin_folder))
    environ = {"PATH": os.pathsep.join([*reversed(paths), os.environ["PATH"]]), "HOME": str(cache)}
    try:
        said = subprocess.run(
            [host.program, "--version"], env=environ, capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"{host.program} doesn't run: {error}"
    numbers = [word.strip(".") for word in said.stdout.split() if word[:1].isdigit()]
    return Installed(host, tuple(reversed(paths)), numbers[0] if numbers else "?")


def _tool(request: Request, *endings: str) -> str:
    """Return the request's tool whose name ends with one of these."""
    found = (name for ending in endings for name in request.tools if name.endswith(ending))
    return next(found, endings[0])


# Claude Code


def _claude_call(step: Step, request: Request) -> Call:
    match step:
        case Read():
            return Call("Read", {"file_path": step.path})
        case Edit():
            return Call("Edit", {"file_path": step.path, "old_string": step.old, "new_string": step.new})
        case Delegate():
            kind = "Explore" if step.reads_only else "general-purpose"
            task = {"description": "a study", "prompt": step.task, "subagent_type": kind}
            return Call(_tool(request, "Agent", "Task"), task)
        case Mcp():
            return Call(_tool(request, f"__{step.tool}"), step.arguments)
        case Command():
            return Call("Bash", {"command": step.text, "description": "a search"})
        case Wait() | Say():
            raise AssertionError(step)


def _claude_command(prompt: str, more: str) -> list[str]:
    head = ["claude", "--permission-mode", "bypassPermissions", "-p"]
    return [*head, *(["--continue"] if more else []), prompt]


def _claude_prepare(home: Path, root: Path, url: str) -> Env:
    projects = {str(root): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}}
    own = {"hasCompletedOnboarding": True, "numStartups": 3, "projects": projects}
    (home / ".claude.json").write_text(json.dumps(own))
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "sk-dummy",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "ENABLE_TOOL_SEARCH": "false",
        "IS_SANDBOX": "1",
    }


# Codex


def _codex_call(step: Step, request: Request) -> Call:
    """Return a call of its current models, which run scripts."""
    match step:
        case Read() | Command():
            text = step.text if isinstance(step, Command) else f"sed -n 1,40p {step.path}"
            command = json.dumps({"cmd": text})
            return _codex_script(f"text(await tools.exec_command({command}))")
        case Edit():
            change = f"@@\n-{step.old}\n+{step.new}\n"
            patch = f"*** Begin Patch\n*** Update File: {step.path}\n{change}*** End Patch\n"
            return _codex_script(f"await tools.apply_patch({json.dumps(patch)}); text('patched')")
        case Delegate():
            name = "a_look" if step.reads_only else "a_study"  # each agent needs a name of its own
            task = {"task_name": name, "message": step.task, "fork_turns": "none"}
            return Call("spawn_agent", task, namespace="collaboration")
        case Wait():
            return Call("wait_agent", {"timeout_ms": 20_000}, namespace="collaboration")
        case Mcp():
            given = json.dumps(dict(step.arguments))
            return _codex_script(f"text(JSON.stringify(await tools.mcp__foveal__{step.tool}({given})))")
        case Say():
            raise AssertionError(step)


def _codex_script(text: str) -> Call:
    return Call("exec", {}, is_custom=True, text=text)


def _codex_command(prompt: str, more: str) -> list[str]:
    head = ["codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    head.append("--dangerously-bypass-hook-trust")
    return [*head, "resume", "--last", prompt] if more else [*head, prompt]


def _codex_prepare(home: Path, root: Path, url: str) -> Env:
    (home / ".codex").mkdir(exist_ok=True)
    (home / ".codex" / "config.toml").write_text(
        'model = "gpt-6.1-sol"\nmodel_provider = "mock"\n\n'
        f'[model_providers.mock]\nname = "mock"\nbase_url = "{url}/v1"\nwire_api = "responses"\n'
        'env_key = "MOCK_KEY"\n\n'
        f'[projects."{root}"]\ntrust_level = "trusted"\n'
    )
    return {"MOCK_KEY": "dummy"}


# Gemini CLI and Qwen Code


def _gemini_call(step: Step, request: Request) -> Call:
    match step:
        case Read():
            return Call("read_file", {"file_path": step.path})
        case Edit():
            given = {"file_path": step.path, "old_string": step.old, "new_string": step.new}
            return Call(_tool(request, "replace", "edit"), given | {"instruction": "Change the line."})
        case Delegate():
            kind = {"agent_name": "codebase_investigator", "objective": step.task, "prompt": step.task}
            more = {"subagent_type": "general-purpose", "description": "a study"}
            if "agent" in request.tools or "task" in request.tools:
                return Call(_tool(request, "agent", "task"), {**more, "prompt": step.task})
            return Call(_tool(request, "invoke_agent", "codebase_investigator"), kind)
        case Mcp():
            return Call(_tool(request, step.tool), step.arguments)
        case Wait() | Say() | Command():
            raise AssertionError(step)


def _gemini_command(prompt: str, more: str) -> list[str]:
    return ["gemini", "--approval-mode", "yolo", *(["--resume", "latest"] if more else []), "-p", prompt]


def _gemini_prepare(home: Path, root: Path, url: str) -> Env:
    (home / ".gemini").mkdir(exist_ok=True)
    security = {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}}
    settings = {"security": security, "general": {"disableAutoUpdate": True}, "telemetry": {"enabled": False}}
    settings |= {"privacy": {"usageStatisticsEnabled": False}, "model": {"name": "gemini-2.5-pro"}}
    (home / ".gemini" / "settings.json").write_text(json.dumps(settings, indent=2))
    return {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "dummy", "GEMINI_CLI_TRUST_WORKSPACE": "true"}


def _qwen_call(step: Step, request: Request) -> Call:
    if (
        isinstance(step, Mcp) and "tool_call" in request.tools
    ):  # tools of servers aren't declared by themselves
        return Call("tool_call", {"name": f"mcp__foveal__{step.tool}", "arguments": step.arguments})
    return _gemini_call(step, request)


def _qwen_command(prompt: str, more: str) -> list[str]:
    return ["qwen", "--approval-mode", "yolo", *(["--continue"] if more else []), "-p", prompt]


def _qwen_prepare(home: Path, root: Path, url: str) -> Env:
    (home / ".qwen").mkdir(exist_ok=True)
    security = {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}}
    settings = {"security": security, "general": {"disableAutoUpdate": True}, "model": {"name": "mock"}}
    settings |= {"privacy": {"usageStatisticsEnabled": False}}
    (home / ".qwen" / "settings.json").write_text(json.dumps(settings, indent=2))
    return {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "dummy", "OPENAI_MODEL": "mock"}


# Copilot CLI


def _copilot_call(step: Step, request: Request) -> Call:
    match step:
        case Read():
            return Call("view", {"path": step.path})
        case Edit():
            return Call("edit", {"path": step.path, "old_str": step.old, "new_str": step.new})
        case Delegate():
            kind = "explore" if step.reads_only else "general-purpose"
            task = {"agent_type": kind, "name": "study", "description": "a study"}
            return Call("task", {**task, "prompt": step.task, "mode": "sync"})
        case Mcp():
            return Call(_tool(request, step.tool), step.arguments)
        case Wait() | Say() | Command():
            raise AssertionError(step)


def _copilot_command(prompt: str, more: str) -> list[str]:
    return [
        "copilot",
        "--allow-all-tools",
        "--allow-all-paths",
        *(["--continue"] if more else []),
        "-p",
        prompt,
    ]


def _copilot_prepare(home: Path, root: Path, url: str) -> Env:
    (home / ".copilot").mkdir(exist_ok=True)
    (home / ".copilot" / "config.json").write_text(json.dumps({"trusted_folders": [str(root)]}))
    return {
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_TYPE": "openai",
        "COPILOT_PROVIDER_API_KEY": "dummy",
        "COPILOT_MODEL": "gpt-5",
        "COPILOT_AUTO_UPDATE": "false",
    }


# OpenCode


def _opencode_call(step: Step, request: Request) -> Call:
    match step:
        case Read():
            return Call("read", {"filePath": step.path})
        case Edit():
            return Call("edit", {"filePath": step.path, "oldString": step.old, "newString": step.new})
        case Delegate():
            kind = "explore" if step.reads_only else "general"
            return Call("task", {"description": "a study", "prompt": step.task, "subagent_type": kind})
        case Mcp():
            return Call(_tool(request, step.tool), step.arguments)
        case Wait() | Say() | Command():
            raise AssertionError(step)


def _opencode_command(prompt: str, more: str) -> list[str]:
    return ["opencode", "run", *(["--continue"] if more else []), prompt]


def _opencode_prepare(home: Path, root: Path, url: str) -> Env:
    folder = home / ".config" / "opencode"
    folder.mkdir(parents=True, exist_ok=True)
    model = {"name": "mock", "limit": {"context": 100_000, "output": 8_000}, "tool_call": True}
    provider: dict[str, Any] = {"npm": "@ai-sdk/openai-compatible", "name": "mock", "models": {"mock": model}}
    provider["options"] = {"baseURL": f"{url}/v1", "apiKey": "dummy"}
    settings: dict[str, Any] = {
        "model": "mock/mock",
        "small_model": "mock/mock",
        "provider": {"mock": provider},
    }
    settings |= {"autoupdate": False, "share": "disabled", "permission": {"*": "allow"}}
    (folder / "opencode.json").write_text(json.dumps(settings, indent=2))
    return {
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    }


# Cline


def _cline_call(step: Step, request: Request) -> Call:
    match step:
        case Read():
            return Call("read_files", {"files": [{"path": step.path}]})
        case Edit():
            return Call("editor", {"path": step.path, "old_text": step.old, "new_text": step.new})
        case Delegate():
            return Call("spawn_agent", {"systemPrompt": "You study code.", "task": step.task})
        case Mcp():
            return Call(_tool(request, step.tool), step.arguments)
        case Command():
            return Call("run_commands", {"commands": [step.text]})
        case Wait() | Say():
            raise AssertionError(step)


def _cline_command(prompt: str, more: str) -> list[str]:
    return ["cline", "-P", "openai-compatible", "-m", "mock", "--auto-approve", "true", prompt]


def _cline_prepare(home: Path, root: Path, url: str) -> Env:
    folder = home / ".cline" / "data" / "settings"
    folder.mkdir(parents=True)
    own = {"provider": "openai-compatible", "apiKey": "dummy", "model": "mock", "baseUrl": f"{url}/v1"}
    provider = {"settings": own, "updatedAt": "2026-11-28T00:00:00.000Z", "tokenSource": "manual"}
    values = {"version": 1, "lastUsedProvider": "openai-compatible", "modes": {}}
    values["providers"] = {"openai-compatible": provider}
    (folder / "providers.json").write_text(json.dumps(values))
    return {"CLINE_NO_AUTO_UPDATE": "1", "CLINE_TELEMETRY_DISABLED": "1"}


# Factory Droid


def _droid_call(step: Step, request: Request) -> Call:
    match step:
        case Edit():
            return Call("Edit", {"file_path": step.path, "old_str": step.old, "new_str": step.new})
        case Mcp():
            name = _tool(request, f"_{step.tool}")
            if name in request.tools:
                return Call(name, step.arguments)
            listed = re.search(rf"\w+_{step.tool}\b", request.text)  # its schema is loaded first
            return Call("ToolSearch", {"query": f"select:{listed[0] if listed else step.tool}"})
        case Command():
            risk = {"riskLevel": "low", "riskLevelReason": "It only reads.", "timeout": 60}
            return Call("Execute", {"command": step.text, **risk})
        case _:
            return _claude_call(step, request)


def _droid_command(prompt: str, more: str) -> list[str]:
    return ["droid", "exec", "-m", "custom:mock-0", "--auto", "low", prompt]


def _droid_prepare(home: Path, root: Path, url: str) -> Env:
    (home / ".factory").mkdir(exist_ok=True)
    model: dict[str, Any] = {
        "model": "mock",
        "displayName": "mock",
        "baseUrl": f"{url}/v1",
        "apiKey": "dummy",
    }
    model |= {"provider": "generic-chat-completion-api", "maxOutputTokens": 8_000}
    (home / ".factory" / "settings.json").write_text(json.dumps({"customModels": [model]}))
    return {"FACTORY_API_KEY": "fk-dummy", "FACTORY_DISABLE_SETTINGS_PERSISTENCE": "1"}


CLAUDE = HostProgram(
    "Claude Code", "claude-code", "@anthropic-ai/claude-code@2.1.330", "claude",
    _claude_command, _claude_call, _claude_prepare,
    lambda: _claude_command("/compact", "continue"),
)  # fmt: skip
CLAUDE_OLD = HostProgram(
    "Claude Code, older", "claude-code", "@anthropic-ai/claude-code@2.1.197", "claude",
    _claude_command, _claude_call, _claude_prepare,
    lambda: _claude_command("/compact", "continue"),
)  # fmt: skip
CODEX = HostProgram(
    "Codex", "codex", "@openai/codex@0.169.0", "codex",
    _codex_command, _codex_call, _codex_prepare, waits=True,
)  # fmt: skip
GEMINI = HostProgram(
    "Gemini CLI", "gemini", "@google/gemini-cli@0.61.0", "gemini",
    _gemini_command, _gemini_call, _gemini_prepare, has_subagents=False,
)  # fmt: skip
COPILOT = HostProgram(
    "Copilot CLI", "copilot", "@github/copilot@1.0.102", "copilot",
    _copilot_command, _copilot_call, _copilot_prepare, late_contexts=True,
)  # fmt: skip
OPENCODE = HostProgram(
    "OpenCode", "opencode", "opencode-ai@1.18.33", "opencode",
    _opencode_command, _opencode_call, _opencode_prepare,
)  # fmt: skip
QWEN = HostProgram(
    "Qwen Code", "qwen-code", "@qwen-code/qwen-code@0.24.4", "qwen",
    _qwen_command, _qwen_call, _qwen_prepare, rests=True,
)  # fmt: skip

CLINE = HostProgram(
    "Cline", "cline", "cline@3.0.65", "cline",
    _cline_command, _cline_call, _cline_prepare, resumes=False, rests=True, late_contexts=True,
)  # fmt: skip
DROID = HostProgram(
    "Factory Droid", "droid", "droid@0.215.0", "droid",
    _droid_command, _droid_call, _droid_prepare, has_subagents=False, resumes=False, late_contexts=True,
    defers_tools=True,
)  # fmt: skip

BY_NAME: Mapping[str, HostProgram] = {
    "claude": CLAUDE, "claude-old": CLAUDE_OLD, "codex": CODEX,
    "gemini": GEMINI, "copilot": COPILOT, "opencode": OPENCODE, "qwen": QWEN,
    "cline": CLINE, "droid": DROID,
}  # fmt: skip
