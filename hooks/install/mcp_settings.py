"""Owns our MCP server's entry in a settings file, JSON or TOML; keeps what else its user set in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import jsonc_edit, toml_tables
from .errors import InstallError
from .jsonc_tree import JsoncNode, parse
from .program import NAME, mcp_program


@dataclass(frozen=True, slots=True)
class McpSettings:
    """The entry under `section` of a JSON file."""

    section: str
    entry: Mapping[str, Any]

    def register(self, text: str) -> str:
        """Return the text with our entry. Raises `InstallError` where another server has its name."""
        text = text if text.strip() else "{}\n"
        servers = _servers(text, self.section)
        if servers is None:
            return jsonc_edit.insert(text, parse(text), {NAME: dict(self.entry)}, self.section)
        found = servers.get(NAME)
        if found is None:
            return jsonc_edit.insert(text, servers, dict(self.entry), NAME)
        _check_ours(found.plain(), f"{self.section}.{NAME}")
        for key, value in self.entry.items():
            if key in _OURS or found.get(key) is None:
                text = _set(text, (self.section, NAME), key, value)
        return text

    def strip(self, text: str) -> str:
        """Return the text without our entry, nor the section that held nothing else."""
        if not self.holds(text):
            return text
        root = parse(text)
        servers = _servers(text, self.section)
        index = servers.index(NAME) if servers else None
        assert servers
        assert index is not None
        text = jsonc_edit.remove(text, servers, index)
        root = parse(text)
        servers, position = root.get(self.section), root.index(self.section)
        assert servers
        assert position is not None
        return jsonc_edit.remove(text, root, position) if jsonc_edit.is_bare(text, servers) else text

    def holds(self, text: str) -> bool:
        """Whether our entry is there."""
        return self.program(text) is not None

    def program(self, text: str) -> str | None:
        """Return the program of our entry."""
        servers = _servers(text, self.section) if text.strip() else None
        found = servers.get(NAME) if servers else None
        return mcp_program(found.plain()) if found else None


@dataclass(frozen=True, slots=True)
class McpTable:
    """The table `[mcp_servers.foveal]` of Codex's config.toml."""

    entry: Mapping[str, Any]

    path = ("mcp_servers", NAME)

    def register(self, text: str) -> str:
        """Return the text with our table. Raises `InstallError` where another server has its name."""
        found = toml_tables.lookup(toml_tables.parse(text), self.path)
        if found is None:
            return toml_tables.append(text, self.path, self.entry)
        _check_ours(found, ".".join(self.path))
        if all(found.get(key) == value for key, value in self.entry.items()):
            return text
        return toml_tables.update(text, self.path, self.entry)

    def strip(self, text: str) -> str:
        """Return the text without our table and those below it, which would be an error without it."""
        return toml_tables.remove(text, self.path) if self.holds(text) else text

    def holds(self, text: str) -> bool:
        """Whether our table is there."""
        return self.program(text) is not None

    def program(self, text: str) -> str | None:
        """Return the program of our table."""
        return mcp_program(toml_tables.lookup(toml_tables.parse(text), self.path))


_OURS = frozenset({"command", "args"})
"""What we keep as it must be; a person may have changed anything else, such as which tools are shown."""


def _servers(text: str, section: str) -> JsoncNode | None:
    root = parse(text)
    if root.kind != "object":
        raise InstallError("the file holds no object, so no host reads it", "mend the file first")
    servers = root.get(section)
    if servers is not None and servers.kind != "object":
        raise InstallError(f"its {section} are no object", "mend the file first, nothing was changed")
    return servers


def _check_ours(found: Any, place: str) -> None:
    if mcp_program(found) is None:
        raise InstallError(f"{place} is another server already", "rename that one, or install with --no-mcp")


def _set(text: str, path: tuple[str, ...], key: str, value: Any) -> str:
    node = parse(text)
    for part in path:
        inner = node.get(part)
        assert inner
        node = inner
    found = node.get(key)
    if found is None:
        return jsonc_edit.insert(text, node, value, key)
    return text if found.plain() == value else jsonc_edit.replace(text, found, value)
