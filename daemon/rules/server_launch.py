"""The launch of an MCP server: its definition with all variables resolved. Holds secrets.

A launch goes to the process that lists tools only: never to a disk, a log or an error. Each host has its own
syntax of variables; another host's syntax is left as written.
"""

from __future__ import annotations

import hashlib
import ipaddress
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from ...hooks.hosts.mcp_format import Transport, VariableSyntax
from ...hooks.hosts.registry import host_named
from ..core.sized_cache import SizedCache
from ..core.system import Stamp, System, stamp_of
from ..core.vocabulary import words
from .server_config import McpServer, ServerFile, ServerFiles, digest_of

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
    host = host_named(server.host)
    if host and host.mcp and host.mcp.project_variable and server.scope != "user":
        environment[host.mcp.project_variable] = server.base
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
        texts = server.command, *server.arguments, server.folder, server.url
        for text in (*texts, *(value for _, value in (*server.environment, *server.headers))):
            for match in syntax.pattern.finditer(text):
                parts = match.groupdict()
                names.add(parts.get("name") or parts.get("bare") or "")
    return tuple(sorted(names - {""}))


def _syntax(server: McpServer) -> VariableSyntax | None:
    host = host_named(server.host)
    return host.mcp.variables if host and host.mcp else None


MAX_BYTES = 256 * 1024 * 1024
"""Maximum bytes of a file that is hashed; of a larger one its size and its time of change count.
Interpreters have up to some 100 MB, which take a tenth of a second."""

KNOWN_MAX = 1_000
"""Maximum number of files whose hashes are remembered by their stamps."""

MISSING = "missing"
"""Stands for the hash of a program that isn't found: if one comes there later, that is a change."""

DATA = tuple(words(".sqlite .sqlite3 .db .duckdb .log .csv .parquet"))
"""Endings of files that servers write to; they decide nothing of what runs."""

FETCHING = words("npx bunx pnpx pnpm yarn npm bun uvx uv pipx deno docker podman nerdctl")
SHELLS = words("sh bash zsh dash fish ksh")
INTERPRETERS = re.compile(r"(python|pypy|node|ruby|perl|php)[\d.]*")
LOADING = words("-m -c -e -p -r --eval --print --run")
"""Options by which an interpreter runs something else than a file that is named."""


class ProgramFiles:
    """The hashes of files, remembered by their stamps. May be used from several threads."""

    def __init__(self, environ: Mapping[str, str], home: str, system: System) -> None:
        self._environ = environ
        self._home = home
        self._system = system
        self._known = SizedCache[str, tuple[Stamp, str]](KNOWN_MAX)

    def covered(self, files: ServerFiles) -> ServerFiles:
        """Return configuration files with the programs and scripts of their servers, which count in their
        digests."""
        return replace(files, files=tuple(map(self._with_programs, files.files)))

    def stamps(self, file: ServerFile) -> Iterator[tuple[str, Stamp | None]]:
        """Yield the stamps that the programs of a file had when they were read."""
        for path, _ in file.programs:
            known = self._known.get(path)
            yield path, None if known is None else known[0]

    def _with_programs(self, file: ServerFile) -> ServerFile:
        found: dict[str, str] = {}
        for server in file.servers:
            if server.transport == "stdio" and not (server.problem or server.disabled or server.is_own):
                found |= self._of(server)
        if not file.digest or not found:
            return replace(file, definition=file.digest)
        programs = tuple(sorted(found.items()))
        return replace(
            file, definition=file.digest, digest=digest_of([file.digest, programs]), programs=programs
        )

    def _of(self, server: McpServer) -> dict[str, str]:
        """Return the hashes of a server's program and of each argument that is a file, by absolute path."""
        try:
            launch = launch_of(server, self._environ, self._home, network=True, timeout_s=1.0)
        except (Unresolved, NotAllowed):
            return {server.command: MISSING}  # it isn't run either
        found = {launch.command: self._hash_of(launch.command) or MISSING}
        for argument in launch.arguments:
            for word in (argument, argument.partition("=")[2]):
                path = os.path.normpath(os.path.join(launch.folder, word))
                if word and not path.endswith(DATA) and (digest := self._hash_of(path)):
                    found[path] = digest
        return found

    def _hash_of(self, path: str) -> str:
        """Return the hash of a file; "" if there is no regular file, or it can't be read."""
        with suppress(OSError, ValueError):
            stamp = stamp_of(status := self._system.stat(path))
            if not stat.S_ISREG(status.st_mode):
                return ""
            known = self._known.get(path)
            if known is None or known[0] != stamp:
                known = stamp, _content_hash(path, status)
                self._known.put(path, known, 1)
            return known[1]
        return ""


def _content_hash(path: str, status: os.stat_result) -> str:
    if status.st_size > MAX_BYTES:
        return f"{status.st_size}:{status.st_mtime_ns}"
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def remark_on(server: McpServer, file: ServerFile) -> str:
    """Return what an approval of its file can't cover of what a server runs, in words, or ""."""
    name = os.path.basename(server.command)
    if server.transport != "stdio":
        return ""
    if name in FETCHING:
        return (
            f"what {name} runs may come from a registry and change there: the approval covers {name} itself "
            "and the files that are named; name an exact version"
        )
    if name in SHELLS and any(argument.startswith("-") and "c" in argument for argument in server.arguments):
        return f"the approval covers {name}, and not the programs that its command line starts"
    if INTERPRETERS.fullmatch(name) and not _names_script(server, dict(file.programs)):
        return f"the approval covers {name}, and not the code that it loads: name the script's file"
    return ""


def _names_script(server: McpServer, covered: Mapping[str, str]) -> bool:
    """Whether a covered file, or a variable, which isn't resolved here, is what an interpreter runs."""
    for argument in server.arguments:
        if argument in LOADING:
            return False
        path = os.path.join(server.base, server.folder, argument)
        if "$" in path or os.path.normpath(path) in covered:
            return True
    return False
