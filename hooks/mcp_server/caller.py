"""The identity of an MCP client (agent, session and project), its calls to the daemon, and their errors."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from ...ipc import errors as codes
from ...ipc.aclient import DaemonLink
from ...ipc.errors import NOT_FOUND, DaemonUnavailable, RpcError
from ..hook import ANSWER_SHARE, budget_s
from ..mcp_pump import NEW_SESSION

CALL_S = 90.0
"""Maximum seconds of a call: a first question to a large project waits for its index."""

AGENT_NAME_CHARACTERS = 200
"""Maximum characters of the name that a host gives itself; longer ones are cut."""


@dataclass(frozen=True, slots=True)
class ClientIdentity:
    """The client behind a pump: the folder in which it was started (or a `chosen` one), and the session's
    id."""

    cwd: str
    chosen: bool
    session_id: str


class DaemonSession:
    """The daemon as one MCP connection uses it: each call names the project and the agent.

    `call_s` is the maximum time of a call. The host is asked for its roots once, and again after they
    changed.
    """

    def __init__(self, caller: ClientIdentity, link: DaemonLink, call_s: float = CALL_S) -> None:
        self._caller = caller
        self._link = link
        self._call_s = call_s
        self._folder = ""
        self._has_session = False
        self.agent_name = self._version = ""
        self.session_id = caller.session_id

    @property
    def cwd(self) -> str:
        """The folder in which the project is looked for."""
        return self._folder or self._caller.cwd

    async def settle(
        self, agent_name: str, ask_roots: Callable[[], Awaitable[list[str]]] | None, version: str = ""
    ) -> None:
        """Take the agent's name, and choose the folder; `ask_roots` returns the host's URIs.

        Never raises for the host: without roots it is served where it started the pump.
        """
        self.agent_name = agent_name[:AGENT_NAME_CHARACTERS]
        self._version = version
        if not self._folder:
            uris = await ask_roots() if ask_roots is not None and not self._caller.chosen else []
            folder = choose_folder(self._caller.cwd, uris)
            self._folder = "" if self._caller.chosen else await self._session_root()
            self._folder = self._folder or folder

    async def _session_root(self) -> str:
        """Return the project of a session that the host named, "" for a new session. A host may start its
        servers in the folder of a plugin."""
        if self.session_id.startswith(NEW_SESSION):
            return ""
        try:
            return str((await self.ask_plain("GetSession", session_id=self.session_id))["project"])
        except (RpcError, DaemonUnavailable):  # the first tool says what is wrong
            return ""

    def forget_folder(self) -> None:
        """Ask for the roots again at the next request."""
        self._folder = ""

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method on the project; parameters that are None are left out."""
        return await self.ask_plain(method, cwd=self.cwd, **params)

    async def ask_session(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method on the session, which is made if it doesn't exist."""
        try:
            if self._has_session:
                return await self.ask_plain(method, session_id=self.session_id, **params)
        except RpcError as error:
            if error.code != NOT_FOUND:  # else it was removed
                raise
        try:
            await self.ask("CreateSession", session_id=self.session_id)
        except RpcError as error:  # it may exist
            if (error.data or {}).get("field") != "session_id":
                raise
        self._has_session = True
        return await self.ask_plain(method, session_id=self.session_id, **params)

    async def ask_plain(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method with only these parameters and the agent's name.

        Raises `RpcError`, and `DaemonUnavailable` also for a daemon that hangs.
        """
        named = {**params, "agent_name": self.agent_name or None}
        given = {name: value for name, value in named.items() if value is not None}
        return await self._call(method, given, self._call_s)

    async def _call(self, method: str, params: Mapping[str, Any], within_s: float) -> dict[str, Any]:
        try:
            async with asyncio.timeout(within_s):
                result: dict[str, Any] = await self._link.call(method, params)
        except TimeoutError as error:
            raise DaemonUnavailable(f"the daemon didn't answer {method} within {within_s:g} s") from error
        return result

    async def hook_event(self, payload: Mapping[str, Any], settle: Callable[[], Awaitable[None]]) -> str:
        """Return the answer to an event of the host's hooks, within the time that its process would have;
        `settle` settles this session first, in the same time.

        The agent is the one that the event names, as there, which may be a subagent.
        """
        event = str(payload.get("hook_event_name") or "")
        within_s = budget_s(self.agent_name, event) * ANSWER_SHARE
        due = asyncio.get_running_loop().time() + within_s
        try:
            async with asyncio.timeout_at(due):
                await settle()
        except TimeoutError as error:
            raise DaemonUnavailable(f"the session wasn't settled within {within_s:g} s") from error
        within_s = due - asyncio.get_running_loop().time()
        told = f"{self.agent_name}_{self._version.replace('.', '-')}_mcp"
        params = {
            "host": self.agent_name,
            "event": event,
            "payload": dict(payload),
            "cwd": self.cwd,
            "variables": {"AI_AGENT": told},
            "deadline_ms": int(within_s * 1000),
        }
        return str((await self._call("HookEvent", params, within_s))["output"])

    async def open_project(self) -> str:
        """Open the project, and return its root."""
        return str((await self.ask("OpenProject"))["root"])


def choose_folder(cwd: str, uris: Iterable[str]) -> str:
    """Return `cwd` if it lies in a root or there are no roots, else the first root that is a folder.

    Hosts with a window start their servers in the home folder or `/`, and name what is open as roots.
    """
    folders = [folder for folder in map(_folder_of, uris) if folder]
    here = f"{os.path.realpath(cwd)}/"
    if any(here.startswith(f"{os.path.realpath(folder).rstrip('/')}/") for folder in folders):
        return cwd
    return folders[0] if folders else cwd


def _folder_of(uri: str) -> str:
    """Return the folder of a root's URI; "" for any other URI and for a missing folder."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return ""
    if parts.scheme != "file" or parts.netloc not in {"", "localhost"}:
        return ""
    path = unquote(parts.path)
    return path if os.path.isabs(path) and "\0" not in path and os.path.isdir(path) else ""


class ToolError(Exception):
    """The request can't be done as it is. `message` says why, `hint` what to do instead."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(f"{message}. {hint[:1].upper()}{hint[1:]}.")


def tool_error(error: ToolError | RpcError | DaemonUnavailable) -> ToolError:
    """Return the error that an agent reads for an error of the daemon, or if no daemon answers."""
    if isinstance(error, ToolError):
        return error
    if isinstance(error, RpcError):
        return ToolError(error.message.rstrip("."), _HINTS.get(error.code, _OTHERWISE))
    return ToolError(
        f"foveal's daemon doesn't answer: {error}".rstrip("."),
        "call the tool again, which starts the daemon; if that fails too, go on without foveal's tools",
    )


_OTHERWISE = "go on without this tool, and tell the user to run: foveal doctor"

_HINTS = {
    codes.INVALID_PARAMS: "correct the argument and call the tool again",
    codes.NOT_FOUND: "check the name with search_code and call the tool again",
    codes.PERMISSION_DENIED: "this project's policy keeps it from this agent: go on without it",
    codes.PROJECT_UNAVAILABLE: (
        "no project can be served there: the user can name one, with `foveal mcp --cwd DIR`"
    ),
    codes.TOO_LARGE: "give less at once, and call the tool again",
    codes.TIMEOUT: "call the tool again, with a narrower question if it fails twice",
    codes.BUSY: "call the tool again in a moment",
    codes.UNKNOWN_METHOD: "another version of the daemon runs: the user can mend that with: foveal restart",
}
