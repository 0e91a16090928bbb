"""Owns which instruction files each host reads by itself: these are never put before it a second time."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct

from ..rules.items import Item


class _Reading(Struct, frozen=True):
    """What a host reads: patterns of names, and file names at the root that count by their content too."""

    names: re.Pattern[str]
    roots: tuple[str, ...]


def _reading(names: str, *roots: str) -> _Reading:
    return _Reading(re.compile(names), roots)


_READINGS: Mapping[str, _Reading] = {
    # Files of folders below are read when something there is touched, so they are the host's too.
    "claude-code": _reading(
        r"(?:^|/)(?:CLAUDE\.md|CLAUDE\.local\.md|\.claude/CLAUDE\.md)$|(?:^|/)\.claude/(?:rules|skills)/",
        "CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md",
    ),
    "codex": _reading(
        r"^(?:~/\.codex/)?AGENTS(?:\.override)?\.md$|(?:^|/)\.agents/skills/",
        "AGENTS.override.md", "AGENTS.md",
    ),
    "cursor": _reading(
        r"(?:^|/)\.cursor/rules/|^\.cursorrules$|^(?:[^./~][^/]*/)*AGENTS\.md$", "AGENTS.md", ".cursorrules"
    ),
    "gemini": _reading(r"(?:^|/)GEMINI\.md$", "GEMINI.md"),
    "copilot": _reading(
        r"^(?:[^./~][^/]*/)*(?:AGENTS|CLAUDE|GEMINI)\.md$"
        r"|(?:^|/)\.github/(?:copilot-instructions\.md$|instructions/)|^~/\.copilot/instructions/",
        "AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md",
    ),
    "opencode": _reading(r"(?:^|/)AGENTS\.md$", "AGENTS.md"),
}  # fmt: skip

_AGENTS = re.compile(r"(?:^|/)(?:\.claude/)?AGENTS\.md$")
_CLAUDE_ROOTS = frozenset(("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"))


def native_rules(
    host: str, items: Iterable[Item], folder: str, read: Callable[[str], str | None]
) -> tuple[Item, ...]:
    """Return the rules that a host reads by itself.

    `folder` is the agent's, relative to the root ("" for the root). `read` gives the text of a file at the
    root by its relative path, None where there is none. What an own file imports, and a file that says the
    same as an own one, counts as read.
    """
    reading = _READINGS.get(host)
    rules = [item for item in items if item.type == "rule"]
    if reading is None:
        return ()
    texts = {_plain(text) for name in reading.roots if (text := read(name)) is not None}
    own = [rule for rule in rules if _is_own(host, reading, rule.name, folder)]
    if host == "claude-code" and not _has_claude_file(rules, texts):
        own += [rule for rule in rules if _AGENTS.search(rule.name)]
    parts = {part for rule in own for part in rule.parts}
    names = {rule.name for rule in own}
    return tuple(
        rule
        for rule in rules
        if rule.name in names or (rule.parts and parts.issuperset(rule.parts)) or _plain(rule.text) in texts
    )


def _is_own(host: str, reading: _Reading, name: str, folder: str) -> bool:
    if reading.names.search(name):
        return True
    # Codex reads what lies between the root and its folder, and nothing below.
    above, _, base = name.rpartition("/")
    return (
        host == "codex"
        and base in {"AGENTS.md", "AGENTS.override.md"}
        and f"{folder}/".startswith(f"{above}/")
    )


def _has_claude_file(rules: Iterable[Item], texts: set[str]) -> bool:
    """Whether there is a CLAUDE.md, beside which Claude Code reads no AGENTS.md."""
    return bool(texts) or any(rule.name in _CLAUDE_ROOTS for rule in rules)


def _plain(text: str) -> str:
    """Return a text without comments and layout, as far as two files that say the same may differ."""
    return " ".join(re.sub(r"<!--.*?-->", " ", text, flags=re.DOTALL).split())


def folder_in(root: str, cwd: str) -> str:
    """Return a folder relative to a root, "" for the root and for one outside."""
    relative = os.path.relpath(os.path.realpath(cwd), root)
    return "" if relative == "." or relative.startswith("..") else relative
