"""The forms in which hosts write MCP servers into their settings, as far as they are shared.

Each host's file selects from these: most hosts take Claude Code's .mcp.json with small differences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

Scope = Literal["local", "project", "user"]
"""The users of a server: this user in this project, everyone in this project, this user everywhere."""
Transport = Literal["stdio", "http", "sse"]
Pairs = tuple[tuple[str, str], ...]

MAX_STRINGS = 1_000
MAX_STRING_CHARACTERS = 32_768
"""Maximum characters of a command, an argument or a value; some systems can't run longer ones."""

VARIABLE_NAME = r"[A-Za-z_][A-Za-z0-9_]*"


class BadDefinition(Exception):
    """An unusable definition of a server. The text says why."""


class ServerSettings(Struct, frozen=True):
    """A server as defined in a host's file, its variables still unresolved.

    `command` and `arguments` belong to stdio, `url` and `headers` to http and sse. `forwarded` names the
    variables passed on unchanged, `header_variables` headers whose value is a variable's, `bearer_variable`
    the variable with the token. `folder` is its working folder, empty for the default. `allowed` (None for
    all) and `denied` name tools. `timeout_s` is the host's own limit for its start, 0 for none.
    """

    transport: Transport = "stdio"
    command: str = ""
    arguments: tuple[str, ...] = ()
    environment: Pairs = ()
    forwarded: tuple[str, ...] = ()
    folder: str = ""
    url: str = ""
    headers: Pairs = ()
    header_variables: Pairs = ()
    bearer_variable: str = ""
    allowed: tuple[str, ...] | None = None
    denied: tuple[str, ...] = ()
    timeout_s: float = 0.0
    disabled: bool = False


class ServerDefinition:
    """One server's object in a settings file, which may hold anything. Its methods raise `BadDefinition`.

    `is_harmful` tells whether a text holds characters that fake or hide text.
    """

    def __init__(self, fields: Mapping[str, object], is_harmful: Callable[[str], bool]) -> None:
        self._fields = fields
        self._is_harmful = is_harmful

    def __contains__(self, name: str) -> bool:
        return name in self._fields

    def value(self, name: str) -> object:
        """Return a field's raw value, None if it is missing."""
        return self._fields.get(name)

    def within(self, name: str) -> ServerDefinition:
        """Return the definition with the fields of an object in it."""
        inner = self._fields.get(name)
        return (
            ServerDefinition({**self._fields, **inner}, self._is_harmful)
            if isinstance(inner, Mapping)
            else self
        )

    def text(self, name: str) -> str:
        """Return a field that is a string, "" if it is missing or null."""
        return self._checked(name, self._fields.get(name, ""))

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a field that is a list of strings."""
        value = self._fields.get(name)
        if value is None:
            return ()
        if not isinstance(value, list) or len(value) > MAX_STRINGS:
            raise BadDefinition(f"{name} must be a list of at most {MAX_STRINGS} strings")
        return tuple(self._checked(name, item) for item in value)

    def pairs(self, name: str) -> Pairs:
        """Return a field that is an object of strings. Numbers and booleans become text, as in the hosts."""
        value = self._fields.get(name)
        if value is None:
            return ()
        if not isinstance(value, Mapping) or len(value) > MAX_STRINGS:
            raise BadDefinition(f"{name} must be an object of at most {MAX_STRINGS} strings")
        return tuple(
            (self._checked(name, key), self._checked(name, _as_text(name, item)))
            for key, item in value.items()
        )

    def _checked(self, name: str, value: object) -> str:
        if value is None:
            return ""
        if not isinstance(value, str):
            raise BadDefinition(f"{name} must be a string, or hold strings")
        if len(value) > MAX_STRING_CHARACTERS or "\0" in value:
            raise BadDefinition(
                f"{name} holds a string above {MAX_STRING_CHARACTERS} characters or a null character"
            )
        if self._is_harmful(value):
            raise BadDefinition(f"{name} holds control characters")
        return value


def read_server(fields: ServerDefinition) -> ServerSettings:
    """Read the definition shared by Claude Code, Cursor, VS Code and Copilot."""
    kind = fields.text("type") or ("stdio" if "command" in fields else "http")
    disabled = fields.value("disabled") is True
    if kind in {"stdio", "local"}:
        return read_program(fields, disabled=disabled)
    server = remote_server(fields, transport_of(kind), fields.text("url"), disabled=disabled)
    if "headersHelper" in fields:
        raise BadDefinition("its headers come from a command (headersHelper), which isn't run")
    return server


def read_gemini_server(fields: ServerDefinition) -> ServerSettings:
    """Read a server of Gemini CLI and its forks: `httpUrl` is http, a bare `url` sse."""
    allowed = fields.texts("includeTools") if "includeTools" in fields else None
    # A name may be followed by arguments in brackets, which don't identify the tool.
    allowed = allowed and tuple(name.split("(")[0] for name in allowed)
    denied = tuple(name.split("(")[0] for name in fields.texts("excludeTools"))
    if "command" in fields:
        return replace(read_server(fields), allowed=allowed, denied=denied)
    if "httpUrl" in fields:
        server = remote_server(fields, "http", fields.text("httpUrl"))
    else:
        kind = fields.text("type") or "sse"
        server = remote_server(fields, transport_of(kind), fields.text("url"))
    return replace(server, allowed=allowed, denied=denied)


def read_program(fields: ServerDefinition, *, disabled: bool = False) -> ServerSettings:
    """Read a server that is a program: `command`, `args`, `env` and `cwd`."""
    return program_server(
        fields, fields.text("command"), fields.texts("args"), environment="env", disabled=disabled
    )


def program_server(
    fields: ServerDefinition, command: str, arguments: tuple[str, ...], *, environment: str, disabled: bool
) -> ServerSettings:
    """Return a server that is a program, with the variables of the field `environment`. Raises
    `BadDefinition` without a command."""
    if not command.strip():
        raise BadDefinition("it has neither a command nor a url")
    return ServerSettings(
        command=command,
        arguments=arguments,
        environment=fields.pairs(environment),
        folder=fields.text("cwd"),
        disabled=disabled,
    )


def remote_server(
    fields: ServerDefinition,
    transport: Transport,
    url: str,
    *,
    headers: str = "headers",
    disabled: bool = False,
) -> ServerSettings:
    """Return a server at a url, with the headers of the field `headers`. Raises `BadDefinition`."""
    if not url.strip():
        raise BadDefinition("it has no url")
    return ServerSettings(
        transport=transport, url=url.strip(), headers=fields.pairs(headers), disabled=disabled
    )


def transport_of(kind: str) -> Transport:
    """Return the transport of a `type`. Raises `BadDefinition` for a transport whose tools can't be
    listed."""
    if kind in {"http", "streamable-http", "streamableHttp"}:
        return "http"
    if kind == "sse":
        return "sse"
    raise BadDefinition(f"its type {kind[:40]!r} isn't one that can be listed (stdio, http, sse)")


def _as_text(name: str, value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) or (isinstance(value, int) and value.bit_length() <= 64):
        return repr(value)
    raise BadDefinition(f"{name} must be an object of strings")


class VariableSyntax(Struct, frozen=True):
    """A host's syntax of variables in a server's definition.

    The pattern's groups: `name` or `bare` (a variable), `default`, `place` (a folder that the host knows) and
    `refused` (values that only the host can resolve). `unset` decides the result for a variable without a
    value.
    """

    pattern: re.Pattern[str]
    unset: Literal["refused", "empty", "kept"] = "refused"


_BRACED = rf"\{{(?P<name>{VARIABLE_NAME})(?::-(?P<default>[^{{}}$]*))?\}}"

SHELL_VARIABLES = re.compile(rf"\${_BRACED}")
"""`${NAME}` and `${NAME:-default}`."""
BARE_VARIABLES = re.compile(rf"\$(?:{_BRACED}|(?P<bare>{VARIABLE_NAME}))")
"""The same, and `$NAME`."""
EDITOR_VARIABLES = re.compile(
    rf"\$\{{(?:env:(?P<name>{VARIABLE_NAME})|(?P<place>userHome|workspaceFolder|workspaceFolderBasename|"
    r"pathSeparator|/)|(?P<refused>(?:input|command|config):[^{}]*))\}"
)
"""`${env:NAME}`, and the folders of VS Code."""


class McpPlace(Struct, frozen=True):
    """A settings file that lists servers, relative to the project or, for other scopes, to the home folder.

    `keys` lead to its section; a key "" stands for the project's root.
    """

    scope: Scope
    path: str
    keys: tuple[str, ...]


def places(path: str, key: str, *, user: str = "") -> tuple[McpPlace, McpPlace]:
    """Return a file that has the same path in a project and in the home, unless `user` names the latter."""
    return McpPlace("project", path, (key,)), McpPlace("user", user or path, (key,))
