"""Owns what keeps registered hooks from running: switches in a host's settings, and trust not yet given."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from . import jsonc_tree, toml_tables
from .errors import InstallError
from .hook_settings import Registered
from .hosts import Host
from .places import Level, SettingsPlace
from .program import NAME
from .settings_file import read

MANAGED_CLAUDE = (
    "/etc/claude-code/managed-settings.json",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
)


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why hooks don't run, and what to do about it."""

    text: str
    fix: str


def switched_off(host: Host, level: Level, place: SettingsPlace) -> Iterator[Obstacle]:
    """Yield the switches that are set against hooks. A file that can't be read says nothing here."""
    if host == "claude-code":
        yield from _claude(level, place)
    elif host == "codex":
        path = os.path.join(place.folder("CODEX_HOME", ".codex"), "config.toml")
        features = _table(_toml(path), "features")
        for key in ("hooks", "codex_hooks"):
            if features.get(key) is False:
                yield Obstacle(
                    f"Codex's hooks are off: features.{key} in {path}", f"set {key} = true in {path}"
                )
    elif host == "gemini":
        yield from _gemini(level, place)
    elif host == "copilot":
        path = os.path.join(place.folder("COPILOT_HOME", ".copilot"), "settings.json")
        yield from _all_off("Copilot's", path)


def untrusted(
    level: Level, place: SettingsPlace, path: str, hooks: tuple[Registered, ...]
) -> Iterator[Obstacle]:
    """Yield what Codex waits for before it runs our hooks in the file at `path`.

    Codex notes a reviewed hook in its config.toml by file, event and position, with a hash of which the
    recipe isn't public: so a hook that was reviewed and then changed passes here, and Codex asks itself.
    """
    config = os.path.join(place.folder("CODEX_HOME", ".codex"), "config.toml")
    values = _toml(config)
    if level == "project":
        project = _table(_table(values, "projects"), place.root)
        if project.get("trust_level") != "trusted":
            yield Obstacle(f"Codex doesn't trust {place.root} yet", "start codex there and trust the folder")
    state = _table(_table(values, "hooks"), "state")
    waiting, off = [], []
    for one in hooks:
        noted = _table(state, f"{path}:{_snake(one.event)}:{one.group}:{one.position}")
        if not noted.get("trusted_hash"):
            waiting.append(one.event)
        elif noted.get("enabled") is False:
            off.append(one.event)
    if waiting:
        yield Obstacle(f"Codex waits for your review of {', '.join(waiting)}", "enter /hooks in codex")
    if off:
        yield Obstacle(f"in Codex these hooks are switched off: {', '.join(off)}", "enter /hooks in codex")


def _claude(level: Level, place: SettingsPlace) -> Iterator[Obstacle]:
    user = place.folder("CLAUDE_CONFIG_DIR", ".claude")
    paths = [os.path.join(user, "settings.json")]
    if level == "project":
        folder = os.path.join(place.root, ".claude")
        paths += [os.path.join(folder, name) for name in ("settings.json", "settings.local.json")]
    for path in (*paths, *MANAGED_CLAUDE):
        yield from _all_off("Claude Code's", path)
    for path in MANAGED_CLAUDE:
        if _json(path).get("allowManagedHooksOnly") is True:
            yield Obstacle(
                f"only hooks of your organisation run: allowManagedHooksOnly in {path}", "ask who manages it"
            )


def _gemini(level: Level, place: SettingsPlace) -> Iterator[Obstacle]:
    for base in (place.home, place.root) if level == "project" else (place.home,):
        path = os.path.join(base, ".gemini", "settings.json")
        settings = _table(_json(path), "hooksConfig")
        if settings.get("enabled") is False:
            yield Obstacle(
                f"Gemini's hooks are off: hooksConfig.enabled in {path}", f"set it to true in {path}"
            )
        disabled = settings.get("disabled")
        if isinstance(disabled, list) and NAME in disabled:
            yield Obstacle(
                f"{NAME} is in hooksConfig.disabled in {path}",
                f"take it out there, or enter /hooks enable {NAME}",
            )


def _all_off(whose: str, path: str) -> Iterator[Obstacle]:
    if _json(path).get("disableAllHooks") is True:
        yield Obstacle(f"{whose} hooks are off: disableAllHooks in {path}", f"set it to false in {path}")


def _json(path: str) -> Mapping[str, Any]:
    try:
        value = jsonc_tree.parse(_text(path)).plain()
    except (InstallError, OSError):  # `check` says so of the files that are ours to change
        return {}
    return value if isinstance(value, dict) else {}


def _toml(path: str) -> Mapping[str, Any]:
    try:
        return toml_tables.parse(_text(path))
    except (InstallError, OSError):  # as above
        return {}


def _text(path: str) -> str:
    """Return a file's text, "" for one that isn't there."""
    if path in MANAGED_CLAUDE:  # belongs to root, and is only looked at
        return _managed(path)
    return (read(path).data or b"").decode(errors="replace").removeprefix("\ufeff")


def _managed(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(1 << 20)
    except OSError:
        return ""


def _table(values: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = values.get(key)
    return found if isinstance(found, dict) else {}


def _snake(event: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
