"""The MCP configuration files that a person approved, by the hash of what they define, and what is shown of
each.

Listing a server's tools runs its command, so nothing is listed before approval, and a changed file, program
or script needs a new one.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping

from msgspec import Struct, convert, to_builtins

from ..core.errors import InvalidRequest, NotFound
from ..core.json_file import JsonFile
from ..core.relative_paths import lies_below
from ..core.system import System
from .server_config import McpServer, ServerFile, sections_for
from .server_launch import variables_in
from .tool_lists import ToolList, ToolLister, ToolLists

APPROVALS_VERSION = 1
MAX_DIGESTS = 20
"""Maximum number of approved versions of a file, so that switching branches needs no new approval."""
MAX_FILES = 5_000
MAX_BYTES = 8 * 1024 * 1024


class Approval(Struct, frozen=True):
    """An approved version of a file's section with the programs that it names, and when it was approved."""

    path: str
    section: str
    digest: str
    at: str = ""
    definition: str = ""
    programs: tuple[tuple[str, str], ...] = ()


class _StoredApprovals(Struct, frozen=True):
    version: int
    approved: list[Approval]


class Approved(Struct, frozen=True):
    """The approvals, the latest last, by path and section of the file."""

    approvals: Mapping[tuple[str, str], tuple[Approval, ...]]

    def covers(self, file: ServerFile) -> bool:
        """Tell whether a file is approved as it is now."""
        return bool(file.digest) and any(approval.digest == file.digest for approval in self.of(file))

    def of(self, file: ServerFile) -> tuple[Approval, ...]:
        """Return the approvals of a file as it is or was."""
        return self.approvals.get((file.path, file.section), ())

    def why_not(self, file: ServerFile) -> str:
        """Return why a file that isn't covered isn't, in words."""
        for approval in reversed(self.of(file)):
            if approval.definition == file.definition:
                then, now = dict(approval.programs), dict(file.programs)
                changed = sorted(path for path in {*then, *now} if then.get(path) != now.get(path))
                return f"{', '.join(changed)} changed since it was approved: look at it and approve it again"
        return "the file isn't approved as it is now"


class Approvals:
    """The JSON file at `path`, in the user's own state folder, for all projects.

    May be used from several threads. Raises `StateError` for a file that can't be read, used or written:
    then nothing counts as approved.
    """

    def __init__(self, path: str, system: System) -> None:
        self._file = JsonFile(
            path,
            system,
            version=APPROVALS_VERSION,
            max_bytes=MAX_BYTES,
            called=f"The approvals in {path}",
            decode=lambda content: convert(content, _StoredApprovals).approved,
        )
        self._system = system
        self._lock = threading.Lock()

    def load(self) -> Approved:
        """Return what is approved."""
        with self._lock:
            approvals = self._file.read() or []
        found: dict[tuple[str, str], list[Approval]] = {}
        for approval in approvals:
            found.setdefault((approval.path, approval.section), []).append(approval)
        return Approved({place: tuple(each) for place, each in found.items()})

    def approve(self, file: ServerFile, digest: str) -> bool:
        """Approve a file with the digest that a person saw; false if it was approved already.

        Raises `InvalidRequest` if the file has changed since, or can't be used.
        """
        if not file.digest:
            raise InvalidRequest(f"{file.problem} It can't be approved.", "path")
        if digest != file.digest:
            what = f"{file.path}, or a program that it names,"
            raise InvalidRequest(f"{what} has changed since it was listed: look at it again.", "digest")
        at = self._system.now().isoformat(timespec="seconds").replace("+00:00", "Z")
        with self._lock:
            approvals = self._file.read() or []
            same = [
                approval
                for approval in approvals
                if (approval.path, approval.section) == (file.path, file.section)
            ]
            if any(approval.digest == digest for approval in same):
                return False
            for dropped in same[: max(0, len(same) + 1 - MAX_DIGESTS)]:
                approvals.remove(dropped)
            new = Approval(file.path, file.section, digest, at, file.definition or digest, file.programs)
            self._file.write(to_builtins(_StoredApprovals(APPROVALS_VERSION, [*approvals, new][-MAX_FILES:])))
        return True

    def revoke(self, path: str) -> int:
        """Revoke all approvals of a file, also of a deleted one; returns how many there were.

        Raises `NotFound` if there is none.
        """
        with self._lock:
            approvals = self._file.read() or []
            kept = [approval for approval in approvals if approval.path != path]
            if len(kept) == len(approvals):
                raise NotFound(f"{path} isn't approved. See: foveal tools list")
            self._file.write(to_builtins(_StoredApprovals(APPROVALS_VERSION, kept)))
        return len(approvals) - len(kept)

    def forget(self, root: str) -> None:
        """Revoke all approvals of files in a folder, and of the sections for it in other files."""
        sections = sections_for(root)
        with self._lock:
            approvals = self._file.read() or []
            kept = [
                approval
                for approval in approvals
                if approval.section not in sections and not lies_below(approval.path, root)
            ]
            if len(kept) < len(approvals):
                self._file.write(to_builtins(_StoredApprovals(APPROVALS_VERSION, kept)))


def approved_servers(files: Iterable[ServerFile], approved: Approved) -> tuple[McpServer, ...]:
    """Return the servers whose tools may be listed, one for each name: of the most specific approved file.

    Left out are those that are disabled or can't be used, and foveal's own. `files` come in the order of
    precedence.
    """
    chosen: dict[str, McpServer] = {}
    for file in files:
        if approved.covers(file):
            for server in file.servers:
                if not server.problem and not server.is_own:
                    chosen.setdefault(server.name, server)
    return tuple(server for server in chosen.values() if not server.disabled)


class ServerState(Struct, frozen=True):
    """A configured server: its command or URL as written, the names of the variables whose values it would
    get, why it isn't listed (empty if it is), and its tools, None if it was never listed."""

    server: McpServer
    runs: str
    variables: tuple[str, ...]
    left_out: str
    tools: ToolList | None


class ServerFileState(Struct, frozen=True):
    """A configuration file with its servers, and whether it is approved as it is now."""

    file: ServerFile
    approved: bool
    servers: tuple[ServerState, ...]


def file_states(
    files: Iterable[ServerFile], approved: Approved, lists: ToolLists
) -> tuple[ServerFileState, ...]:
    """Return the state of each file, in their order. Nothing is run."""
    files = tuple(files)
    chosen = approved_servers(files, approved)
    return tuple(
        ServerFileState(
            file,
            approved.covers(file),
            tuple(_state(server, file, chosen, approved, lists) for server in file.servers),
        )
        for file in files
    )


def list_tools(
    files: Iterable[ServerFile], approved: Approved, lists: ToolLists, lister: ToolLister, *, again: bool
) -> tuple[tuple[McpServer, ToolList], ...]:
    """List the tools of the approved servers whose configuration is new, or of all with `again`; store the
    result.

    Runs their commands and blocks until they are done. Raises `StateError` if the result can't be stored.
    """
    wanted = [server for server in approved_servers(files, approved) if again or lists.load(server) is None]
    found = lister.list_tools(wanted) if wanted else ()
    return tuple((server, lists.store(server, each)) for server, each in zip(wanted, found, strict=True))


def _state(
    server: McpServer, file: ServerFile, chosen: tuple[McpServer, ...], approved: Approved, lists: ToolLists
) -> ServerState:
    runs = server.url if server.transport != "stdio" else " ".join((server.command, *server.arguments))
    left_out, tools = _left_out(server, file, chosen, approved), None
    if server in chosen:
        tools = lists.load(server)
    return ServerState(server, runs, variables_in(server), left_out, tools)


def _left_out(server: McpServer, file: ServerFile, chosen: tuple[McpServer, ...], approved: Approved) -> str:
    if server.problem:
        return server.problem
    if server.is_own:
        return "it is foveal itself"
    if server.disabled:
        return "it is disabled there"
    if not approved.covers(file):
        return approved.why_not(file)
    return "" if server in chosen else "a more specific file has a server of that name"
