"""The identity of an MCP client (agent, session and project), its calls to the daemon, and their errors."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from ...ipc import errors as codes
from ...ipc.aclient import DaemonLink
from ...ipc.errors import INVALID_PARAMS, NOT_FOUND, DaemonUnavailable, RpcError

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
    """The daemon as one MCP connection uses it. `call_s` is the maximum time of a call.

    The host is asked for its roots once, and again after they changed.
    """

    def __init__(self, caller: ClientIdentity, link: DaemonLink, call_s: float = CALL_S) -> None:
        self._caller = caller
        self._link = link
        self._call_s = call_s
        self.has_unseen = False
        """Whether the daemon counts contexts as sent that were too large for the agent to see."""
        self._folder: str | None = None
        self._roots: dict[str, str] = {}
        self._session_made = False

    @property
    def session_id(self) -> str:
        """The session that this connection works in."""
        return self._caller.session_id

    async def settle_folder(self, ask_roots: Callable[[], Awaitable[list[str]]] | None) -> None:
        """Choose the folder in which the project is looked for; `ask_roots` returns the host's URIs.

        Never raises for the host: without roots it is served where it started the pump.
        """
        if self._folder is None:
            asked = ask_roots is not None and not self._caller.chosen
            uris = await ask_roots() if asked and ask_roots is not None else []
            self._folder = choose_folder(self._caller.cwd, uris)

    def forget_folder(self) -> None:
        """Ask for the roots again at the next request."""
        self._folder = None

    def about(self, agent_name: str) -> Inquiry:
        """Return a request of the agent with that name."""
        return Inquiry(self, self._folder or self._caller.cwd, agent_name[:AGENT_NAME_CHARACTERS])

    async def call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Call a method of the daemon. Raises `RpcError`, and `DaemonUnavailable` also for a hanging one."""
        try:
            async with asyncio.timeout(self._call_s):
                result: dict[str, Any] = await self._link.call(method, params)
        except TimeoutError as error:
            raise DaemonUnavailable(f"the daemon didn't answer {method} within {self._call_s:g} s") from error
        return result

    async def root_of(self, cwd: str, agent_name: str) -> str:
        """Return the root of the project that a folder belongs to, which an agent asks for."""
        root = self._roots.get(cwd)
        if root is None:
            params = {"cwd": cwd, "agent_name": agent_name}
            found = await self.call("OpenProject", {name: value for name, value in params.items() if value})
            root = str(found["root"])
            self._roots[cwd] = root
        return root

    async def make_session(self, cwd: str, agent_name: str) -> None:
        """Make the session if it doesn't exist yet."""
        if self._session_made:
            return
        params = {"cwd": cwd, "session_id": self.session_id, "agent_name": agent_name}
        try:
            await self.call("CreateSession", {name: value for name, value in params.items() if value})
        except RpcError as error:
            if error.code != INVALID_PARAMS or (error.data or {}).get("field") != "session_id":
                raise
            await self.call(
                "GetSession", {"session_id": self.session_id}
            )  # fails for a bad id, not for an existing session
        self._session_made = True

    def forget_session(self) -> None:
        """Make the session again when it is needed: it was removed."""
        self._session_made = False


class Inquiry:
    """One request of an agent: each of its calls names the project and the agent."""

    def __init__(self, session: DaemonSession, cwd: str, agent_name: str) -> None:
        self._session = session
        self.cwd = cwd
        self.agent_name = agent_name

    @property
    def session_id(self) -> str:
        """The session that the request is part of."""
        return self._session.session_id

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method on the project; parameters that are None are left out."""
        return await self._call(method, {"cwd": self.cwd, **params})

    async def ask_session(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method on the session, which is made if it doesn't exist."""
        for last in (False, True):
            await self._session.make_session(self.cwd, self.agent_name)
            try:
                return await self._call(method, {"session_id": self.session_id, **params})
            except RpcError as error:
                if last or error.code != NOT_FOUND:
                    raise
                self._session.forget_session()
        raise AssertionError("unreachable")

    async def ask_scope(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method on the session's scope in the project."""
        scope = await self.ask("PrepareContext", session_id=self.session_id)
        return await self._call(method, {"scope_id": scope["scope_id"], **params})

    async def ask_plain(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method with only these parameters, without a project or session."""
        return await self._call(method, params)

    def note_unseen(self) -> None:
        """Record that a context was built that the agent didn't see."""
        self._session.has_unseen = True

    async def forget_unseen(self) -> None:
        """Let the daemon send again what it recorded as sent, if the agent didn't see all of it."""
        if self._session.has_unseen:
            await self.ask_session("ResumeSession")
            self._session.has_unseen = False

    async def root(self) -> str:
        """Return the project's root."""
        return await self._session.root_of(self.cwd, self.agent_name)

    async def _call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        named = {**params, "agent_name": self.agent_name or None}
        return await self._session.call(
            method, {name: value for name, value in named.items() if value is not None}
        )


def choose_folder(cwd: str, uris: Iterable[str]) -> str:
    """Return `cwd` if it lies in a root or there are no roots, else the first root that is a folder.

    Hosts with a window start their servers in the home folder or `/`, and name what is open as roots.
    """
    folders = [folder for folder in map(_folder_of, uris) if folder]
    if any(_holds(folder, cwd) for folder in folders):
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


def _holds(folder: str, path: str) -> bool:
    folder, path = os.path.realpath(folder), os.path.realpath(path)
    return path == folder or path.startswith(folder.rstrip("/") + "/")


class ToolError(Exception):
    """The request can't be done as it is. `message` says why, `hint` what to do instead."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(f"{message}. {hint[:1].upper()}{hint[1:]}.")


def from_rpc(error: RpcError) -> ToolError:
    """Return the error that an agent reads for an error of the daemon."""
    return ToolError(error.message.rstrip("."), _HINTS.get(error.code, _OTHERWISE))


def from_unavailable(error: Exception) -> ToolError:
    """Return the error that an agent reads if no daemon answers."""
    return ToolError(
        f"foveal's daemon doesn't answer: {error}".rstrip("."),
        "call the tool again, which starts the daemon; if that fails too, go on without foveal's tools",
    )


_OTHERWISE = "go on without this tool, and tell the user to run: foveal doctor"

_HINTS = {
    codes.INVALID_PARAMS: "correct the argument and call the tool again",
    codes.NOT_FOUND: "check the name with search_code or find_symbol and call the tool again",
    codes.PERMISSION_DENIED: "this project's policy keeps it from this agent: go on without it",
    codes.PROJECT_UNAVAILABLE: (
        "no project can be served there: the user can name one, with `foveal mcp --project DIR`"
    ),
    codes.TOO_LARGE: "give less at once, and call the tool again",
    codes.TIMEOUT: "call the tool again, with a narrower question if it fails twice",
    codes.BUSY: "call the tool again in a moment",
    codes.UNKNOWN_METHOD: "another version of the daemon runs: the user can mend that with: foveal restart",
}
