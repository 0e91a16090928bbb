"""Where hosts keep their MCP servers' configuration, and how it is read; starts and connects to nothing.

A project's files are untrusted: no file outside the project and none above a size is read, and problems are
reported, not guessed away.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import asdict, replace

from ...hooks.hosts.host import McpConfig
from ...hooks.hosts.mcp_format import BadDefinition, Definition, McpPlace
from ...hooks.hosts.registry import HOSTS
from ..core.system import Stamp, System, is_racy, stamp_of, stamps_hold
from .items import has_harmful
from .server_definition import SCOPES, McpServer, ServerFile, digest_of

MAX_BYTES = 1_048_576
"""Maximum bytes of a project's file; hand-written ones have a few KB."""
MAX_USER_BYTES = 64 * 1024 * 1024
"""Maximum bytes of a user's file: ~/.claude.json also keeps a history of up to tens of megabytes."""
MAX_SERVERS = 200
"""Maximum number of servers in a file; hosts are slow with twenty."""
_MAX_DOTS_IN_LINE = 1_000
"""tomllib needs time in the square of a key's parts."""


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
    reader = _Reader(system)
    files = [
        file
        for host in HOSTS
        if host.mcp
        for place in host.mcp.places
        for file in reader.files(host.name, host.mcp, place, root, home)
    ]
    files.sort(key=lambda file: SCOPES.index(file.scope))
    return ServerFiles(tuple(files), tuple(reader.stamps.items()), reader.settled)


def read_definition(blank: McpServer, definition: object, mcp: McpConfig) -> McpServer:
    """Fill in a server from its definition. One that can't be used gets a `problem`. Never raises."""
    try:
        if not isinstance(definition, Mapping):
            raise BadDefinition("its definition is no object")
        read = mcp.read(Definition(definition, has_harmful))
    except BadDefinition as error:
        return replace(blank, problem=f"{error}: mend it in {blank.source}")
    return replace(blank, **asdict(read))


class _Unusable(Exception):
    """A file or a section that can't be used. The text completes a sentence that begins with its path."""


class _Content(Struct, frozen=True):
    text: str
    tables: Mapping[str, object]


class _Reader:
    """One reading of all places; each file is read once."""

    def __init__(self, system: System) -> None:
        self.stamps: dict[str, Stamp | None] = {}
        self.settled = True
        self._system = system
        self._contents: dict[str, _Content | _Unusable | None] = {}

    def files(self, host: str, mcp: McpConfig, place: McpPlace, root: str, home: str) -> Iterator[ServerFile]:
        """Yield what a place holds, if anything."""
        base = root if place.scope == "project" else home
        path = os.path.join(base, place.path)
        keys = tuple(key or root for key in place.keys)
        section_name = ".".join(keys)
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
                McpServer(name, host, place.scope, path, _line(content.text, keys, name), run_in),
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
        if within and not _lies_in(os.path.realpath(path), os.path.realpath(within)):
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


def _stamp(system: System, path: str) -> Stamp | None:
    try:
        return stamp_of(system.stat(path))
    except (OSError, ValueError):
        return None


def _lies_in(path: str, folder: str) -> bool:
    return path.startswith(os.path.join(folder, ""))


def _toml(text: str) -> Mapping[str, object]:
    if any(line.count(".") > _MAX_DOTS_IN_LINE for line in text.split("\n")):
        raise ValueError(f"more than {_MAX_DOTS_IN_LINE} dots in a line")
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
