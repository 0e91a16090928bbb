"""The tools of MCP servers: listed by a process of its own, and kept in a file for each server's
configuration.

A list holds until its server's definition changes or a person lists again. The servers are untrusted
programs: they run in a process group with the worker that talks to them (`tool_client.py`), which is killed
as a whole.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct, convert, to_builtins
from msgspec.structs import replace

from ..core.errors import StateError
from ..core.quarantine import quarantine
from ..core.system import System
from .items import Item, has_harmful, one_line
from .server_config import McpServer
from .server_launch import Launch, ListRequest, NotAllowed, Unresolved, launch_of

log = logging.getLogger(__name__)

VERSION = 1
MAX_TOOLS = 512
"""Maximum number of tools of a server; models get worse with some dozens."""
MAX_NAME_CHARACTERS = 128
"""Maximum length of a tool's name in MCP."""
MAX_DESCRIPTION_CHARACTERS = 2_048
"""Maximum length of a description; Claude Code cuts there too."""
MAX_SCHEMA_CHARACTERS = 65_536
MAX_LISTS = 300
"""Maximum number of stored lists; those unused for longest are removed first."""
MAX_BYTES = 64 * 1024 * 1024
"""Maximum bytes of a file: `MAX_TOOLS` of the largest tools, escaped."""


class ListedTool(Struct, frozen=True):
    """A tool as its server describes it; `input_schema` is JSON, empty for one that is too large."""

    name: str
    description: str
    input_schema: str


class ToolList(Struct, frozen=True):
    """The result of listing a server. With a `problem` the tools are those of the last successful listing.

    `listed_at` is ISO 8601 UTC. `left_out` counts tools above the limits or whose names can't be used.
    """

    tools: tuple[ListedTool, ...] = ()
    problem: str = ""
    left_out: int = 0
    listed_at: str = ""


class ToolLists:
    """The lists in a folder, created on demand. May be used from several threads."""

    def __init__(self, folder: str, system: System) -> None:
        self._folder = folder
        self._system = system

    def load(self, server: McpServer) -> ToolList | None:
        """Return a server's list, None if it wasn't listed with its current configuration.

        An unusable file counts as none: the tools are listed again.
        """
        try:
            content = json.loads(self._system.read(self._path(server), MAX_BYTES)[0])
            return list_in(content) if content["version"] == VERSION else None
        except OSError:
            return None
        except Exception as error:  # noqa: BLE001 - any exception means damage
            log.warning("the list of the tools of %s can't be used (%s): list them anew", server.name, error)
            with suppress(OSError):
                quarantine(self._path(server), self._system)
            return None

    def store(self, server: McpServer, found: ToolList) -> ToolList:
        """Store the result of listing a server, with the tools known before if it failed; returns it.

        Raises `StateError`.
        """
        if found.problem and (known := self.load(server)) is not None:
            found = ToolList(known.tools, found.problem, known.left_out, found.listed_at)
        content = {"version": VERSION, "server": server.name, **to_builtins(found)}
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            self._system.write_atomic(self._path(server), json.dumps(content).encode())
            self._prune()
        except OSError as error:
            raise StateError(
                f"The list of tools {self._path(server)} can't be written: {error.strerror or error}."
            ) from error
        return found

    def items(self, servers: Iterable[McpServer]) -> tuple[Item, ...]:
        """Return the known tools of approved servers as items."""
        items: list[Item] = []
        for server in servers:
            known = self.load(server)
            items += () if known is None else tool_items(server, known)
        return tuple(items)

    def _path(self, server: McpServer) -> str:
        return os.path.join(self._folder, f"{server.digest}.json")

    def _prune(self) -> None:
        with self._system.scandir(self._folder) as entries:
            paths = [entry.path for entry in entries if entry.name.endswith(".json")]
        if len(paths) > MAX_LISTS:
            paths.sort(key=lambda path: (self._system.stat(path).st_mtime_ns, path))
            for path in paths[: len(paths) - MAX_LISTS]:
                os.unlink(path)


def tool_items(server: McpServer, found: ToolList) -> tuple[Item, ...]:
    """Return a server's tools as items of mode `always`, without those that its configuration denies."""
    return tuple(
        Item(
            type="tool",
            name=tool.name,
            include="always",
            text=tool.input_schema,
            source=server.source,
            line=server.line,
            description=tool.description,
            server_name=server.name,
        )
        for tool in found.tools
        if server.permits(tool.name)
    )


def list_in(fields: object) -> ToolList:
    """Read a list out of a map; unknown fields are ignored. Raises `ValueError` for an invalid map."""
    if not isinstance(fields, dict) or "tools" not in fields:
        raise ValueError("it holds no list of tools")
    found = convert(fields, ToolList)
    if not all(is_name(tool.name) for tool in found.tools):
        raise ValueError("a tool has a name that can't be used")
    return replace(found, tools=found.tools[:MAX_TOOLS])


def is_name(name: str) -> bool:
    """Tell whether a tool may have this name."""
    return 0 < len(name.strip()) <= MAX_NAME_CHARACTERS and "\n" not in name and not has_harmful(name)


ARGV = (sys.executable, "-m", "foveal.daemon.rules.tool_client")
TIMEOUT_S = 20.0
"""Maximum seconds for one server, from its start to its tools. Installed servers take 0.1 to 3 s; `npx` and
`uvx` download one on its first start."""
CONCURRENT = 4
"""Maximum number of servers listed at once: each may start an interpreter."""
MAX_SERVERS = 200
_START_S = 30.0
"""Seconds for importing the SDK, one to two on a slow machine, and for ending all servers."""
_MAX_REPLY_BYTES = 256 * 1024 * 1024
_MAX_PROBLEM = 500


class ToolLister:
    """Lists the tools of servers, in a process of its own for each call. May be used from several threads.

    `environ` has the values of the definitions' variables, `home` is `${userHome}`. With `network` servers on
    other machines are listed too.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        home: str,
        system: System,
        *,
        network: bool = False,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._environ = environ
        self._home = home
        self._system = system
        self._network = network
        self._timeout_s = timeout_s
        self._running: set[int] = set()
        self._closed = False
        self._lock = threading.Lock()

    def list_tools(self, servers: Sequence[McpServer]) -> tuple[ToolList, ...]:
        """Run or connect to approved servers and return their lists, in order.

        Blocks until all have answered or were ended; never raises, whatever a server does.
        """
        at = self._system.now().isoformat(timespec="seconds").replace("+00:00", "Z")
        lists = [ToolList(problem=f"only {MAX_SERVERS} servers are listed at once")] * len(servers)
        launches: dict[int, Launch] = {}
        for number, server in enumerate(servers[:MAX_SERVERS]):
            try:
                launches[number] = launch_of(
                    server,
                    self._environ,
                    self._home,
                    network=self._network,
                    timeout_s=server.timeout_s or self._timeout_s,
                )
            except (Unresolved, NotAllowed) as error:
                lists[number] = ToolList(problem=str(error))
        if launches:
            for number, found in self._run(launches).items():
                problem = launches[number].redacted(found.problem)
                readable = one_line("problem", problem[:_MAX_PROBLEM], _MAX_PROBLEM)
                lists[number] = replace(found, problem=readable)
        return tuple(replace(found, listed_at=at) for found in lists)

    def close(self) -> None:
        """End running workers and list nothing more; waiting calls return at once."""
        with self._lock:
            self._closed = True
            for pid in self._running:
                _kill_group(pid)

    def _run(self, launches: Mapping[int, Launch]) -> dict[int, ToolList]:
        rounds = -(-len(launches) // CONCURRENT)
        deadline = _START_S + rounds * max(launch.timeout_s for launch in launches.values())
        request = ListRequest(CONCURRENT, {n: replace(launch, secrets=()) for n, launch in launches.items()})
        # Not msgspec's JSON: an environment may hold what is no UTF-8.
        line = json.dumps(to_builtins(request, str_keys=True)).encode() + b"\n"
        worker = subprocess.Popen(  # noqa: S603 - our own module, by our own interpreter
            ARGV,
            cwd="/",
            env={**os.environ, "PYTHONSAFEPATH": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        output, reason = b"", "the daemon is ending"
        try:
            with self._lock:
                closed = self._closed
                self._running |= set() if closed else {worker.pid}
            if not closed:
                output, reason = _answer(worker, line, deadline)
        finally:
            with self._lock:
                self._running.discard(worker.pid)
                _end(worker)
        found = {number: ToolList(problem=f"it wasn't listed: {reason}") for number in launches}
        for each in output.split(b"\n")[:-1]:  # a killed process may leave a part of a line
            reply = json.loads(each)
            if reply["number"] in found:
                found[reply["number"]] = list_in(reply)
        return found


def _answer(worker: subprocess.Popen[bytes], request: bytes, timeout_s: float) -> tuple[bytes, str]:
    """Send the request and read until the process ends; returns its output, and why it ended.

    Standard input stays open: the process ends when it is closed.
    """
    assert worker.stdin is not None
    assert worker.stdout is not None
    assert worker.stderr is not None
    deadline = time.monotonic() + timeout_s
    killer = threading.Timer(timeout_s, _kill_group, (worker.pid,))
    killer.start()
    try:
        with suppress(BrokenPipeError):
            worker.stdin.write(request)
            worker.stdin.flush()
        output = worker.stdout.read(_MAX_REPLY_BYTES)
        if len(output) == _MAX_REPLY_BYTES:
            return output, "it said too much"
        last = worker.stderr.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
    finally:
        killer.cancel()
        killer.join()
    if time.monotonic() >= deadline:
        return output, "it took too long"
    return output, f"the process that lists tools ended early ({last})" if last else "it was ended early"


def _end(worker: subprocess.Popen[bytes]) -> None:
    """Kill a process with everything in its group, and free everything."""
    # Until it is waited for, no other process or group can have its id.
    _kill_group(worker.pid)
    worker.wait()
    for stream in (worker.stdin, worker.stdout, worker.stderr):
        assert stream is not None
        with suppress(OSError):
            stream.close()


def _kill_group(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):  # it has ended; macOS says so for a zombie
        os.killpg(pid, signal.SIGKILL)
