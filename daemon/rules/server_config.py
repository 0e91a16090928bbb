"""The MCP servers that hosts' configuration files define, read from those files; starts and connects to
nothing.

A project's files are untrusted: no file outside the project and none above a size is read, and problems are
reported, not guessed away.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import asdict, replace

from ...hooks.hosts.host import McpConfig
from ...hooks.hosts.mcp_format import BadDefinition, McpPlace, Scope, ServerDefinition, ServerSettings
from ...hooks.hosts.registry import HOSTS
from ..core.relative_paths import lies_below
from ..core.system import Stamp, System, is_racy, stamp_of, stamps_hold
from ..core.toml import MAX_DOTS_IN_LINE, crowded_line
from .items import has_harmful

SCOPES: tuple[Scope, ...] = ("local", "project", "user")
"""The precedence of servers with the same name, the first wins, as in Claude Code."""


class McpServer(ServerSettings, frozen=True, kw_only=True):
    """A server as a host's file defines it, with its variables unresolved.

    `source` and `line` are its place in that file. `folder` is the working folder, empty for `base`: the
    project's root, or the home folder for a server of the user, whose command must not mean a project's file.
    `problem` says why the server can't be listed.
    """

    name: str
    host: str
    scope: Scope
    source: str
    line: int
    base: str
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
    `digest` is the hash of that whole section, and of the `programs` that it names (absolute paths with the
    hashes of their contents), which a person approves; `definition` that of the section alone. `problem` says
    why the file, or a part of it, can't be used, or is empty.
    """

    path: str
    section: str
    host: str
    scope: Scope
    digest: str
    servers: tuple[McpServer, ...] = ()
    problem: str = ""
    definition: str = ""
    programs: tuple[tuple[str, str], ...] = ()


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


MAX_BYTES = 1_048_576
"""Maximum bytes of a project's file; hand-written ones have a few KB."""
MAX_USER_BYTES = 64 * 1024 * 1024
"""Maximum bytes of a user's file: ~/.claude.json also keeps a history of up to tens of megabytes."""
MAX_SERVERS = 200
"""Maximum number of servers in a file; hosts are slow with twenty."""


class ServerFiles(Struct, frozen=True):
    """The files that define servers for a project, the more specific ones first, and the stamps of all
    places that were looked at, None where there is no file."""

    files: tuple[ServerFile, ...]
    stamps: tuple[tuple[str, Stamp | None], ...]
    settled: bool
    """Whether the stamps prove anything: no file was modified just before it was read."""

    def unchanged(self, system: System) -> bool:
        """Tell whether reading again would give the same, by a stat for each place."""
        return self.settled and stamps_hold(system.stat, self.stamps)


def read_server_files(root: str, home: str, system: System) -> ServerFiles:
    """Read the configuration of all hosts: the project's own at `root`, and the user's below `home`.

    A file without servers is left out, unless it has a problem. Never raises for a file's content.
    """
    reader = _ConfigReader(system)
    files = [
        file
        for host in HOSTS
        if host.mcp
        for place in host.mcp.places
        for file in reader.files(host.name, host.mcp, place, root, home)
    ]
    files.sort(key=lambda file: SCOPES.index(file.scope))
    return ServerFiles(tuple(files), tuple(reader.stamps.items()), reader.settled)


def sections_for(root: str) -> set[str]:
    """Return the sections of files with several projects that are for one of them."""
    places = (place for host in HOSTS if host.mcp for place in host.mcp.places)
    return {_section_name(place, root) for place in places if "" in place.keys}


def _section_name(place: McpPlace, root: str) -> str:
    return ".".join(key or root for key in place.keys)


def read_definition(blank: McpServer, definition: object, mcp: McpConfig) -> McpServer:
    """Fill in a server from its definition. One that can't be used gets a `problem`. Never raises."""
    try:
        if not isinstance(definition, Mapping):
            raise BadDefinition("its definition is no object")
        read = mcp.read(ServerDefinition(definition, has_harmful))
    except BadDefinition as error:
        return replace(blank, problem=f"{error}: mend it in {blank.source}")
    return replace(blank, **asdict(read))


class _Unusable(Exception):
    """A file or a section that can't be used. The text completes a sentence that begins with its path."""


class _Content(Struct, frozen=True):
    text: str
    tables: Mapping[str, object]


class _ConfigReader:
    """One reading of all places; each file is read once."""

    def __init__(self, system: System) -> None:
        self.stamps: dict[str, Stamp | None] = {}
        self.settled = True
        self._system = system
        self._contents: dict[str, _Content | _Unusable | None] = {}

    def files(self, host: str, mcp: McpConfig, place: McpPlace, root: str, home: str) -> Iterator[ServerFile]:
        """Yield the servers' section of a place, if there is one."""
        base = root if place.scope == "project" else home
        path = os.path.join(base, place.path)
        keys = tuple(key or root for key in place.keys)
        section_name = _section_name(place, root)
        try:
            content = self._content(path, root if place.scope == "project" else "", strict=mcp.strict_json)
            section = None if content is None else _section(content.tables, keys)
            if content is None or not section:
                return
            digest = digest_of(section)
        except (_Unusable, ValueError, RecursionError) as error:
            problem = str(error) if isinstance(error, _Unusable) else "holds values that can't be used"
            yield ServerFile(path, section_name, host, place.scope, "", (), f"{path} {problem}.")
            return
        run_in = home if place.scope == "user" else root
        servers = tuple(
            read_definition(
                McpServer(
                    name=name,
                    host=host,
                    scope=place.scope,
                    source=path,
                    line=_line(content.text, keys, name),
                    base=run_in,
                ),
                definition,
                mcp,
            )
            for name, definition in list(section.items())[:MAX_SERVERS]
            if name.strip() and name.isprintable() and len(name) <= 1_000
        )
        left_out = len(section) - len(servers)
        problem = f"{path} has {left_out} servers whose names can't be used, or too many." if left_out else ""
        yield ServerFile(path, section_name, host, place.scope, digest, servers, problem)

    def _content(self, path: str, within: str, *, strict: bool) -> _Content | None:
        if path not in self._contents:
            try:
                self._contents[path] = self._read(path, within, strict=strict)
            except _Unusable as error:
                self._contents[path] = error
        content = self._contents[path]
        if isinstance(content, _Unusable):
            raise content
        return content

    def _read(self, path: str, within: str, *, strict: bool) -> _Content | None:
        most = MAX_BYTES if within else MAX_USER_BYTES
        self.stamps[path] = None
        if within and not lies_below(os.path.realpath(path), os.path.realpath(within)):
            raise _Unusable("is a link that leaves the project: replace it by a file")
        now = self._system.time_ns()
        try:
            data, status = self._system.read(path, most + 1)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError) as error:
            raise _Unusable(f"can't be read ({error})") from error
        stamp = self.stamps[path] = stamp_of(status)
        self.settled = self.settled and not is_racy(stamp, now)
        if len(data) > most:
            raise _Unusable(f"exceeds {most} bytes")
        try:
            text = data.decode("utf-8-sig")
            tables = _toml(text) if path.endswith(".toml") else _json(text, strict=strict)
        except (ValueError, RecursionError) as error:
            raise _Unusable(f"can't be understood ({_short(error)})") from error
        return _Content(text, tables)


def _section(tables: Mapping[str, object], keys: tuple[str, ...]) -> Mapping[str, object]:
    """Return the map below some keys, empty if there is none. Raises `_Unusable`."""
    section: object = tables
    for key in keys:
        if not isinstance(section, Mapping):
            break
        section = section.get(key)
        if section is None:
            return {}
    if not isinstance(section, Mapping):
        raise _Unusable(f"has something else than an object under {keys[-1]}")
    return section


def _toml(text: str) -> Mapping[str, object]:
    if crowded_line(text):
        raise ValueError(f"more than {MAX_DOTS_IN_LINE} dots in a line")
    return tomllib.loads(text)


# Strings are matched too, so that a comment inside one stays. These patterns can't backtrack.
_COMMENT = re.compile(r'"(?:[^"\\]++|\\.)*+\\?"?|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_COMMA = re.compile(r'"(?:[^"\\]++|\\.)*+\\?"?|,(?=\s*+[}\]])', re.DOTALL)


def _json(text: str, *, strict: bool) -> Mapping[str, object]:
    """Parse an object, with comments and trailing commas unless `strict`. Raises `ValueError`."""
    try:
        value = json.loads(text)
    except ValueError:
        if strict:
            raise
        for pattern in (_COMMENT, _COMMA):
            text = pattern.sub(lambda match: match[0] if match[0][0] == '"' else " ", text)
        value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("it holds no object")
    return value


def _line(text: str, keys: tuple[str, ...], name: str) -> int:
    """Return the line on which a server is defined, 1 if it isn't found in the text."""
    quoted = re.escape(json.dumps(name, ensure_ascii=False))
    start = 0
    for key in keys:
        start = max(text.find(json.dumps(key, ensure_ascii=False), start), start)
    header = rf"\[[^\]\n]*\.[ \t]*(?:{quoted}|{re.escape(name)})[ \t]*\]"
    match = re.compile(rf"{quoted}[ \t]*:|^[ \t]*{header}", re.MULTILINE).search(text, start)
    return 1 if match is None else text.count("\n", 0, match.end()) + 1


def _short(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]
