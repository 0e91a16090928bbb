"""Owns the variables in a server's definition: which it names, and their values when it is about to run.

Each host has its own syntax, and another host's stays as it is written. Values come from the environment
that is handed in, and go nowhere but to the server.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from ...hooks.hosts.mcp_format import VariableSyntax
from ...hooks.hosts.registry import host_named
from .server_definition import McpServer


class Unresolved(Exception):
    """A definition whose variables can't be resolved. The text says why and what to do."""


class Variables(Struct, frozen=True):
    """Resolves the variables of one server's definition. `environ` is where their values come from."""

    server: McpServer
    environ: Mapping[str, str]
    home: str

    def resolve(self, text: str) -> str:
        """Return a text with its variables' values, which aren't looked into again. Raises `Unresolved`."""
        syntax = _syntax(self.server)
        return text if syntax is None else syntax.pattern.sub(self._value, text)

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
        unset = "refused" if (syntax := _syntax(self.server)) is None else syntax.unset
        if unset == "empty":
            return ""
        return match[0] if unset == "kept" else self.named(name)

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
    if (syntax := _syntax(server)) is not None:
        for text in _texts(server):
            for match in syntax.pattern.finditer(text):
                parts = match.groupdict()
                names.add(parts.get("name") or parts.get("bare") or "")
    return tuple(sorted(names - {""}))


def _syntax(server: McpServer) -> VariableSyntax | None:
    host = host_named(server.host)
    return host.mcp.variables if host and host.mcp else None


def _texts(server: McpServer) -> Iterator[str]:
    yield from (server.command, *server.arguments, server.folder, server.url)
    for _, value in (*server.environment, *server.headers):
        yield value
