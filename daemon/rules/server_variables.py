"""Owns the variables in a server's definition: which it names, and their values when it is about to run.

Each host has its own syntax, and another host's stays as it is written. Values come from the environment
that is handed in, and go nowhere but to the server.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from .server_definition import Host, McpServer

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_SHELL = re.compile(rf"\$\{{(?P<name>{_NAME})(?::-(?P<default>[^{{}}$]*))?\}}")
_SHELL_BARE = re.compile(rf"\$(?:\{{(?P<name>{_NAME})(?::-(?P<default>[^{{}}$]*))?\}}|(?P<bare>{_NAME}))")
_EDITOR = re.compile(
    rf"\$\{{(?:env:(?P<name>{_NAME})|(?P<place>userHome|workspaceFolder|workspaceFolderBasename|"
    r"pathSeparator|/)|(?P<refused>(?:input|command|config):[^{}]*))\}"
)
_BRACE = re.compile(rf"\{{(?:env:(?P<name>{_NAME})|(?P<refused>file:[^{{}}$]*))\}}")

_SYNTAX: Mapping[Host, re.Pattern[str] | None] = {
    "claude-code": _SHELL,
    "copilot": _SHELL_BARE,
    "gemini": _SHELL_BARE,
    "cursor": _EDITOR,
    "vscode": _EDITOR,
    "opencode": _BRACE,
    "codex": None,  # it names variables instead, see `Server.forwarded`
}
_EMPTY_IF_UNSET = frozenset({"cursor", "vscode", "opencode"})
_KEPT_IF_UNSET = frozenset({"gemini"})
"""What a host makes of a variable that isn't set and has no default; the others refuse to start."""


class Unresolved(Exception):
    """A definition whose variables can't be resolved. The text says why and what to do."""


class Variables(Struct, frozen=True):
    """Resolves the variables of one server's definition. `environ` is where their values come from."""

    server: McpServer
    environ: Mapping[str, str]
    home: str

    def resolve(self, text: str) -> str:
        """Return a text with its variables' values, which aren't looked into again. Raises `Unresolved`."""
        pattern = _SYNTAX[self.server.host]
        return text if pattern is None else pattern.sub(self._value, text)

    def named(self, name: str) -> str:
        """Return the value of a variable that the definition names. Raises `Unresolved`."""
        value = self.environ.get(name)
        if value is None:
            raise Unresolved(f"the variable {name} isn't set for the daemon: set it and run foveal restart")
        return value

    def _value(self, match: re.Match[str]) -> str:
        parts = match.groupdict()
        if parts.get("refused"):
            raise Unresolved(f"{match[0]} can only be resolved by {self.server.host}: use a variable instead")
        if place := parts.get("place"):
            return self._place(place)
        name = parts.get("name") or parts.get("bare") or ""
        value, default = self.environ.get(name), parts.get("default")
        if value is not None and (value or default is None):
            return value
        if default is not None:
            return default
        if self.server.host in _EMPTY_IF_UNSET:
            return ""
        return match[0] if self.server.host in _KEPT_IF_UNSET else self.named(name)

    def _place(self, place: str) -> str:
        base = self.server.base
        places = {
            "userHome": self.home,
            "workspaceFolder": base,
            "workspaceFolderBasename": os.path.basename(base),
        }
        return places.get(place, os.sep)


def variables_in(server: McpServer) -> tuple[str, ...]:
    """Return the names of all variables whose values a server would get, sorted: for who approves it."""
    names = {
        server.bearer_variable,
        *server.forwarded,
        *(variable for _, variable in server.header_variables),
    }
    pattern = _SYNTAX[server.host]
    if pattern is not None:
        for text in _texts(server):
            for match in pattern.finditer(text):
                parts = match.groupdict()
                names.add(parts.get("name") or parts.get("bare") or "")
    return tuple(sorted(names - {""}))


def _texts(server: McpServer) -> Iterator[str]:
    yield from (server.command, *server.arguments, server.folder, server.url)
    for _, value in (*server.environment, *server.headers):
        yield value
