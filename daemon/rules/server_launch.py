"""The launch of an MCP server: its definition with all variables resolved. Holds secrets.

A launch goes to the process that lists tools only: never to a disk, a log or an error. Each host has its own
syntax of variables; another host's syntax is left as written.
"""

from __future__ import annotations

import ipaddress
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from msgspec import Struct

from ...hooks.hosts.mcp_format import Transport, VariableSyntax
from ...hooks.hosts.registry import host_named
from .server_config import McpServer

INHERITED = (
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
)
"""The variables that each server gets: those of the SDK's own list, and of language and time zone. None is
secret."""
_MIN_SECRET = 4
"""Minimum length of a secret: masking shorter values would hide parts of ordinary words."""


class NotAllowed(Exception):
    """A server that may not be connected to. The text says why and what to do."""


class Launch(Struct, frozen=True):
    """The program to run or the URL to connect to. `command` is absolute, `environment` complete.

    `is_loopback` says that the URL is this machine's. `secrets` are the values that no message may show.
    """

    transport: Transport
    timeout_s: float
    command: str = ""
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    folder: str = ""
    url: str = ""
    headers: dict[str, str] = {}
    is_loopback: bool = True
    secrets: tuple[str, ...] = ()

    def redacted(self, text: str) -> str:
        """Return a text with the launch's secrets masked."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


class ListRequest(Struct, frozen=True):
    """A request to the process that lists tools: launches by number, at most `concurrent` at once."""

    concurrent: int
    launches: dict[int, Launch]


def launch_of(
    server: McpServer, environ: Mapping[str, str], home: str, *, network: bool, timeout_s: float
) -> Launch:
    """Resolve a server's definition. `environ` is the daemon's environment.

    With `network` any URL is allowed, else only this machine's. Raises `Unresolved` and `NotAllowed`.
    """
    variables = Variables(server, environ, home)
    if server.transport != "stdio":
        return _remote(server, variables, network=network, timeout_s=timeout_s)
    folder = os.path.normpath(os.path.join(server.base, variables.resolve(server.folder)))
    if not os.path.isdir(folder):
        raise Unresolved(f"its folder {server.folder or server.base} doesn't exist")
    environment = {
        name: environ[name] for name in INHERITED if name in environ and not environ[name].startswith("()")
    }
    if (variable := _project_variable(server.host)) and server.scope != "user":
        environment[variable] = server.base
    environment |= {name: environ[name] for name in server.forwarded if name in environ}
    environment |= {name: variables.resolve(value) for name, value in server.environment}
    if any(not name or "=" in name for name in environment):
        raise Unresolved("a name in its environment is empty or has an equals sign")
    return Launch(
        "stdio",
        timeout_s,
        _program(variables.resolve(server.command), folder, environment.get("PATH", os.defpath)),
        tuple(variables.resolve(argument) for argument in server.arguments),
        environment,
        folder,
        secrets=_secrets(server, variables, [value for _, value in server.environment]),
    )


def _project_variable(name: str) -> str:
    host = host_named(name)
    return host.mcp.project_variable if host and host.mcp else ""


def _remote(server: McpServer, variables: Variables, *, network: bool, timeout_s: float) -> Launch:
    url = variables.resolve(server.url)
    host = _host(url)
    is_loopback = _is_loopback(host)
    if not is_loopback and not network:
        raise NotAllowed(
            f"it is at {host}, and the daemon uses no network unless the user's own configuration allows it"
        )
    headers = {name: variables.resolve(value) for name, value in server.headers}
    headers |= {name: variables.named(variable) for name, variable in server.header_variables}
    if server.bearer_variable:
        headers["Authorization"] = f"Bearer {variables.named(server.bearer_variable)}"
    if any(not f"{name}{value}".isprintable() for name, value in headers.items()):
        raise Unresolved("a header has a line break or a control character")
    return Launch(
        server.transport,
        timeout_s,
        url=url,
        headers=headers,
        is_loopback=is_loopback,
        secrets=_secrets(server, variables, [value for _, value in server.headers]),
    )


def _host(url: str) -> str:
    """Return the host of a URL. Raises `Unresolved` if it isn't an http URL."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError as error:
        raise Unresolved("its url can't be understood") from error
    if parts.scheme not in ("http", "https") or not host:
        raise Unresolved("its url doesn't begin with http:// or https:// and a host")
    return host


def _is_loopback(host: str) -> bool:
    """Tell whether a host name means this machine, without resolving it."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _program(command: str, folder: str, path: str) -> str:
    """Return the absolute path of a program; a command with a slash is relative to its working folder.

    Relative entries of PATH are ignored: a project's file must not replace a system's program.
    """
    if "/" in command:
        found = os.path.normpath(os.path.join(folder, os.path.expanduser(command)))
        if not os.access(found, os.X_OK) or not os.path.isfile(found):
            raise Unresolved(f"its command {command} isn't a program that can be run")
        return found
    entries = [entry for entry in path.split(os.pathsep) if os.path.isabs(entry)]
    program = shutil.which(command, path=os.pathsep.join(entries)) if entries else None
    if program is None:
        raise Unresolved(f"its command {command} isn't found on the daemon's PATH: name it in full")
    return program


def _secrets(server: McpServer, variables: Variables, texts: list[str]) -> tuple[str, ...]:
    """Return the values of variables, environments and headers, the longest first."""
    values = {variables.environ.get(name, "") for name in variables_in(server)}
    values |= {variables.resolve(text) for text in texts}
    return tuple(sorted((value for value in values if len(value) >= _MIN_SECRET), key=len, reverse=True))


class Unresolved(Exception):
    """A definition whose variables can't be resolved. The text says why and what to do."""


class Variables(Struct, frozen=True):
    """Resolves the variables of one server's definition. `environ` is where their values come from."""

    server: McpServer
    environ: Mapping[str, str]
    home: str

    def resolve(self, text: str) -> str:
        """Return a text with its variables replaced by their values, once. Raises `Unresolved`."""
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
    """Return the names of all variables whose values a server would get, sorted, for its approval."""
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
