"""Owns what each host's configuration says of an MCP server; a definition may hold anything at all.

The formats are the hosts' own: Claude Code's .mcp.json, which Cursor, Gemini CLI and Copilot CLI share but
for details, VS Code's mcp.json, Codex' config.toml, OpenCode's opencode.json.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from .item_texts import has_harmful
from .server_definition import Host, McpServer, Pairs, Transport

MAX_STRINGS = 1_000
MAX_STRING_CHARACTERS = 32_768
"""Of a command, an argument, a value; a longer one can't be run on every system."""
_TIMEOUT_MAX_S = 120.0


class _Bad(Exception):
    """A definition that can't be used. The text says why."""


def server_of(blank: McpServer, definition: object) -> McpServer:
    """Fill in a server that has name, host, scope, source, line and base, from its definition.

    One that can't be used comes with a `problem`. Never raises.
    """
    try:
        if not isinstance(definition, Mapping):
            raise _Bad("its definition is no object")
        return _READERS.get(blank.host, _common)(blank, definition)
    except _Bad as error:
        return replace(blank, problem=f"{error}: mend it in {blank.source}")


def _common(blank: McpServer, fields: Mapping[str, object]) -> McpServer:
    """Read what Claude Code, Cursor, VS Code and Copilot have in common."""
    kind = _text(fields, "type") or ("stdio" if "command" in fields else "http")
    disabled = fields.get("disabled") is True
    if kind in ("stdio", "local"):
        allowed = _texts(fields, "tools") if blank.host == "copilot" and "tools" in fields else None
        return _program(
            blank,
            command=_text(fields, "command"),
            arguments=_texts(fields, "args"),
            environment=_pairs(fields, "env"),
            folder=_text(fields, "cwd"),
            allowed=None if allowed is None or "*" in allowed else allowed,
            disabled=disabled,
        )
    server = _remote(blank, fields, _transport(kind), _text(fields, "url"))
    if "headersHelper" in fields:
        raise _Bad("its headers come from a command (headersHelper), which isn't run")
    return replace(server, disabled=disabled)


def _gemini(blank: McpServer, fields: Mapping[str, object]) -> McpServer:
    allowed = _texts(fields, "includeTools") if "includeTools" in fields else None
    # A name may have arguments behind it in brackets, which say nothing of which tool it is.
    allowed = allowed and tuple(name.split("(")[0] for name in allowed)
    denied = tuple(name.split("(")[0] for name in _texts(fields, "excludeTools"))
    if "command" in fields:
        server = _common(blank, fields)
    elif "httpUrl" in fields:
        server = _remote(blank, fields, "http", _text(fields, "httpUrl"))
    else:
        kind = _text(fields, "type") or "sse"
        server = _remote(blank, fields, _transport(kind), _text(fields, "url"))
    return replace(server, allowed=allowed, denied=denied)


def _codex(blank: McpServer, fields: Mapping[str, object]) -> McpServer:
    timeout = fields.get("startup_timeout_sec", 0.0)
    common = {
        "allowed": _texts(fields, "enabled_tools") if "enabled_tools" in fields else None,
        "denied": _texts(fields, "disabled_tools"),
        "disabled": fields.get("enabled") is False,
        "timeout_s": min(float(timeout), _TIMEOUT_MAX_S)
        if isinstance(timeout, int | float) and timeout > 0
        else 0.0,
    }
    if "url" not in fields:
        server = _program(
            blank,
            command=_text(fields, "command"),
            arguments=_texts(fields, "args"),
            environment=_pairs(fields, "env"),
            folder=_text(fields, "cwd"),
        )
        return replace(server, forwarded=_texts(fields, "env_vars"), **common)
    variables = _pairs(fields, "env_http_headers")
    server = _remote(blank, {"headers": fields.get("http_headers")}, "http", _text(fields, "url"))
    server = replace(
        server, header_variables=variables, bearer_variable=_text(fields, "bearer_token_env_var")
    )
    return replace(server, **common)


def _opencode(blank: McpServer, fields: Mapping[str, object]) -> McpServer:
    disabled = fields.get("enabled") is False
    if _text(fields, "type") == "remote":
        return replace(_remote(blank, fields, "http", _text(fields, "url")), disabled=disabled)
    command = _texts(fields, "command")
    return _program(
        blank,
        command=command[0] if command else "",
        arguments=command[1:],
        environment=_pairs(fields, "environment"),
        folder=_text(fields, "cwd"),
        disabled=disabled,
    )


_READERS: Mapping[Host, Callable[[McpServer, Mapping[str, object]], McpServer]] = {
    "gemini": _gemini,
    "codex": _codex,
    "opencode": _opencode,
}


def _program(
    blank: McpServer,
    *,
    command: str,
    arguments: tuple[str, ...],
    environment: Pairs,
    folder: str,
    allowed: tuple[str, ...] | None = None,
    disabled: bool = False,
) -> McpServer:
    if not command.strip():
        raise _Bad("it has neither a command nor a url")
    return replace(
        blank,
        transport="stdio",
        command=command,
        arguments=arguments,
        environment=environment,
        folder=folder,
        allowed=allowed,
        disabled=disabled,
    )


def _remote(blank: McpServer, fields: Mapping[str, object], transport: Transport, url: str) -> McpServer:
    if not url.strip():
        raise _Bad("it has no url")
    return replace(blank, transport=transport, url=url.strip(), headers=_pairs(fields, "headers"))


def _transport(kind: str) -> Transport:
    if kind in ("http", "streamable-http", "streamableHttp"):
        return "http"
    if kind == "sse":
        return "sse"
    raise _Bad(f"its type {kind[:40]!r} isn't one that can be listed (stdio, http, sse)")


def _text(fields: Mapping[str, object], name: str) -> str:
    return _checked(name, fields.get(name, ""))


def _texts(fields: Mapping[str, object], name: str) -> tuple[str, ...]:
    value = fields.get(name)
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) > MAX_STRINGS:
        raise _Bad(f"{name} must be a list of at most {MAX_STRINGS} strings")
    return tuple(_checked(name, each) for each in value)


def _pairs(fields: Mapping[str, object], name: str) -> Pairs:
    value = fields.get(name)
    if value is None:
        return ()
    if not isinstance(value, Mapping) or len(value) > MAX_STRINGS:
        raise _Bad(f"{name} must be an object of at most {MAX_STRINGS} strings")
    # Numbers and booleans are written without quotes in many files, and the hosts take them as text.
    return tuple(
        (
            _checked(name, key),
            _checked(name, each if isinstance(each, str) or each is None else _plain(name, each)),
        )
        for key, each in value.items()
    )


def _plain(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) or (isinstance(value, int) and value.bit_length() <= 64):
        return repr(value)
    raise _Bad(f"{name} must be an object of strings")


def _checked(name: str, value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _Bad(f"{name} must be a string, or hold strings")
    if len(value) > MAX_STRING_CHARACTERS or "\0" in value:
        raise _Bad(f"{name} holds a string above {MAX_STRING_CHARACTERS} characters or a null character")
    if has_harmful(value):
        raise _Bad(f"{name} holds control characters")
    return value
