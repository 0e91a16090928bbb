"""A configured MCP server as its host's file defines it, before anything of it runs."""

from __future__ import annotations

import hashlib
import json
import os
import re

from msgspec import Struct
from msgspec.structs import asdict

from ...hooks.hosts.mcp_format import Pairs, Scope, Transport

SCOPES: tuple[Scope, ...] = ("local", "project", "user")
"""The order in which one server goes before another of its name, as in Claude Code."""


class McpServer(Struct, frozen=True):
    """A server as a host's file defines it, with its variables unresolved.

    `command` and `arguments` are for stdio, `url` and `headers` for http and sse. `forwarded` names variables
    that the server inherits, `header_variables` headers whose value is a variable, and `bearer_variable` the
    variable with the token to authorize with. `folder` is the working folder, empty for `base`: the project's
    root, or the home folder for a server of the user, whose command must not mean a project's file. `allowed`
    (None for all) and `denied` name tools. `timeout_s` is the host's own limit for the start, 0 for none.
    `problem` says why the server can't be listed.
    """

    name: str
    host: str
    scope: Scope
    source: str
    line: int
    base: str
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
    problem: str = ""

    @property
    def digest(self) -> str:
        """The hash of all fields that decide what its tools are, wherever it is defined."""
        fields = asdict(self)
        for name in ("name", "source", "line", "scope", "disabled", "problem"):
            del fields[name]
        return digest_of(fields)

    @property
    def is_own(self) -> bool:
        """Whether it is foveal itself, under any launcher: listing it would call this daemon."""
        words = " ".join((self.command, *self.arguments)).split()
        names = [os.path.basename(re.split(r"[/\\]", word)[-1]) for word in words]
        return any(
            name in ("foveal", "foveal.exe") and following == "mcp"
            for name, following in zip(names, words[1:], strict=False)
        )

    @property
    def shown_environment(self) -> tuple[str, ...]:
        """The variables that it sets, for the person who approves it: names only, as values may be secrets,
        but also the written values of those that decide which program or code runs."""
        said = (f"{name}={value}" if _DECIDES.match(name) else name for name, value in self.environment)
        return (*said, *self.forwarded)

    def permits(self, tool: str) -> bool:
        """Tell whether the configuration allows a tool."""
        return tool not in self.denied and (self.allowed is None or tool in self.allowed)


class ServerFile(Struct, frozen=True):
    """The servers that one configuration file defines for a project.

    `section` is their place in the file, which may define some for all projects and some for this one.
    `digest` is the hash of that whole section, which a person approves. `problem` says why the file, or a
    part of it, can't be used, or is empty.
    """

    path: str
    section: str
    host: str
    scope: Scope
    digest: str
    servers: tuple[McpServer, ...] = ()
    problem: str = ""


_DECIDES = re.compile(
    r"(?:PATH|PATHEXT|BASH_ENV|ENV|SHELL|IFS|CLASSPATH|JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS|_JAVA_OPTIONS|DOTNET_\w+"
    r"|LD_\w+|DYLD_\w+|NODE_\w+|NPM_CONFIG_\w+|PYTHON\w+|UV_\w+|PIP_\w+|RUBY\w+|PERL5?\w*|PHP\w+|GIT_\w+)\Z",
    re.IGNORECASE,
)
"""Variables by which loaders, shells, interpreters and package runners choose what they run."""


def digest_of(value: object) -> str:
    """Return the SHA-256 of a JSON value in hex, whatever the order of its keys."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()
