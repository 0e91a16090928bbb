"""The files that an approval of tool servers covers beside the definition: the programs and the scripts that
it names, by the hash of their content.

What a program loads by itself, such as the modules of a script, isn't covered. Runs nothing.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import suppress

from msgspec.structs import replace

from ..core.system import Stamp, System, stamp_of
from ..core.vocabulary import words
from .server_config import McpServer, ServerFile, ServerFiles, digest_of
from .server_launch import NotAllowed, Unresolved, launch_of

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
        self._lock = threading.Lock()
        self._known: OrderedDict[str, tuple[Stamp, str]] = OrderedDict()

    def covered(self, files: ServerFiles) -> ServerFiles:
        """Return configuration files with the programs and scripts of their servers, which count in their
        digests."""
        return replace(files, files=tuple(map(self._with_programs, files.files)))

    def stamps(self, file: ServerFile) -> Iterator[tuple[str, Stamp | None]]:
        """Yield the stamps that the programs of a file had when they were read."""
        with self._lock:
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
            with self._lock:
                known = self._known.get(path)
            if known is not None and known[0] == stamp:
                return known[1]
            digest = _content_hash(path, status)
            with self._lock:
                self._known[path] = stamp, digest
                self._known.move_to_end(path)
                if len(self._known) > KNOWN_MAX:
                    self._known.popitem(last=False)
            return digest
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
