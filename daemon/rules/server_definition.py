"""Owns what is known of a configured MCP server before anything of it runs; reads no file and no variable."""

from __future__ import annotations

import hashlib
import json
import os
import re
from typing import Literal

from msgspec import Struct
from msgspec.structs import asdict

Host = Literal["claude-code", "cursor", "vscode", "codex", "gemini", "copilot", "opencode"]
"""Whose configuration a file is."""
Scope = Literal["local", "project", "user"]
"""Whom a file is for: this user in this project, everyone in this project, this user everywhere. In this
order one server goes before another of its name, as in Claude Code."""
SCOPES: tuple[Scope, ...] = ("local", "project", "user")
Transport = Literal["stdio", "http", "sse"]

Pairs = tuple[tuple[str, str], ...]


class McpServer(Struct, frozen=True):
    """A server as a host's file defines it, with its variables as they are written there.

    `command` and `arguments` are of stdio, `url` and `headers` of http and sse. `forwarded` names variables
    that a server gets as they are, `header_variables` headers whose value is a variable's, and
    `bearer_variable` the variable with the token to authorize with. `folder` is where it is to run, empty
    for `base`: the project's root, or the home folder for a server of the user, whose command must not mean
    a project's file. `allowed` (None for all) and `denied` name tools. `timeout_s` is the host's own limit
    for its start, 0 for none. `problem` says why it can't be listed.
    """

    name: str
    host: Host
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
        """The hash of all that decides what its tools are, wherever it is defined."""
        fields = asdict(self)
        for name in ("name", "source", "line", "scope", "disabled", "problem"):
            del fields[name]
        return digest_of(fields)

    @property
    def is_own(self) -> bool:
        """Whether it is foveal itself, under whatever launcher: listing it would lead back here."""
        words = " ".join((self.command, *self.arguments)).split()
        names = [os.path.basename(re.split(r"[/\\]", word)[-1]) for word in words]
        return any(
            name in ("foveal", "foveal.exe") and following == "mcp"
            for name, following in zip(names, words[1:], strict=False)
        )

    @property
    def shown_environment(self) -> tuple[str, ...]:
        """What it sets, for whoever is to approve it: names, as values may be secrets, but of those that
        decide which program or code runs also the value as it is written."""
        said = (f"{name}={value}" if _DECIDES.match(name) else name for name, value in self.environment)
        return (*said, *self.forwarded)

    def permits(self, tool: str) -> bool:
        """Tell whether the configuration lets a tool be used."""
        return tool not in self.denied and (self.allowed is None or tool in self.allowed)


class ServerFile(Struct, frozen=True):
    """The servers that one configuration file defines for a project.

    `section` says where in the file they stand, as a file may hold some for all projects and some for this
    one. `digest` is the hash of that section in full, whatever else the file holds: what is approved.
    `problem` says why the file, or a part of it, can't be used, or is empty.
    """

    path: str
    section: str
    host: Host
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
