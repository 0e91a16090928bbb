"""Owns whom an MCP connection speaks for, and what each of its requests to the daemon therefore says."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from ...ipc.errors import INVALID_PARAMS, NOT_FOUND, DaemonUnavailable, RpcError
from ...ipc.link import DaemonLink

CALL_S = 90.0
"""What an answer may take: a first question to a large project waits for its index."""

AGENT_NAME_CHARACTERS = 200
"""Of the name that a host gives itself; longer ones are cut."""


@dataclass(frozen=True, slots=True)
class ClientIdentity:
    """Who the pump speaks for: the folder it was started in (or `chosen` by hand), and the session's id."""

    cwd: str
    chosen: bool
    session_id: str


class DaemonSession:
    """What one connection asks the daemon. Roots are asked for once, and again after they changed.

    `call_s` is how long a daemon that hangs is waited for.
    """

    def __init__(self, caller: ClientIdentity, link: DaemonLink, call_s: float = CALL_S) -> None:
        self._caller = caller
        self._link = link
        self._call_s = call_s
        self.has_unseen = False
        """Whether the daemon takes contexts for sent that the agent never saw, since they were too large."""
        self._folder: str | None = None
        self._roots: dict[str, str] = {}
        self._session_made = False

    @property
    def session_id(self) -> str:
        """The session that this connection works in."""
        return self._caller.session_id

    async def settle_folder(self, ask_roots: Callable[[], Awaitable[list[str]]] | None) -> None:
        """Decide from which folder the project is looked for; `ask_roots` gives the host's URIs, if any.

        Raises nothing of the host's: one that can't tell its roots is served where it started the pump.
        """
        if self._folder is None:
            asked = ask_roots is not None and not self._caller.chosen
            uris = await ask_roots() if asked and ask_roots is not None else []
            self._folder = choose_folder(self._caller.cwd, uris)

    def forget_folder(self) -> None:
        """Ask for the roots again at the next request."""
        self._folder = None

    def about(self, agent_name: str) -> Inquiry:
        """Return how an agent of that name asks."""
        return Inquiry(self, self._folder or self._caller.cwd, agent_name[:AGENT_NAME_CHARACTERS])

    async def call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Call a method of the daemon. Raises `RpcError` and `DaemonUnavailable`, also for one that hangs."""
        try:
            async with asyncio.timeout(self._call_s):
                result: dict[str, Any] = await self._link.call(method, params)
        except TimeoutError as error:
            raise DaemonUnavailable(f"the daemon didn't answer {method} within {self._call_s:g} s") from error
        return result

    async def root_of(self, cwd: str) -> str:
        """Return the root of the project that a folder belongs to."""
        root = self._roots.get(cwd)
        if root is None:
            root = str((await self.call("OpenProject", {"cwd": cwd}))["root"])
            self._roots[cwd] = root
        return root

    async def make_session(self, cwd: str, agent_name: str) -> None:
        """Make the session if there is none yet."""
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
            )  # tells one of its own from a bad id
        self._session_made = True

    def forget_session(self) -> None:
        """Make the session again when it is needed: it was removed."""
        self._session_made = False


class Inquiry:
    """One request of an agent: every call says which project, and as whom."""

    def __init__(self, desk: DaemonSession, cwd: str, agent_name: str) -> None:
        self._desk = desk
        self.cwd = cwd
        self.agent_name = agent_name

    @property
    def session_id(self) -> str:
        """The session that the request is part of."""
        return self._desk.session_id

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method about the project; parameters that are None are left out."""
        return await self._call(method, {"cwd": self.cwd, **params})

    async def ask_session(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method about the session, which is made for it if there is none."""
        for last in (False, True):
            await self._desk.make_session(self.cwd, self.agent_name)
            try:
                return await self._call(method, {"session_id": self.session_id, **params})
            except RpcError as error:
                if last or error.code != NOT_FOUND:
                    raise
                self._desk.forget_session()
        raise AssertionError("unreachable")

    async def ask_scope(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method about the scope that this session has in the project."""
        scope = await self.ask("PrepareContext", session_id=self.session_id)
        return await self._call(method, {"scope_id": scope["scope_id"], **params})

    async def ask_plain(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method that is told neither project nor session but in what is given."""
        return await self._call(method, params)

    def note_unseen(self) -> None:
        """Note that a context was made which the agent isn't shown."""
        self._desk.has_unseen = True

    async def forget_unseen(self) -> None:
        """Let the daemon send again what it takes for sent, where the agent didn't see all of that."""
        if self._desk.has_unseen:
            await self.ask_session("ResumeSession")
            self._desk.has_unseen = False

    async def root(self) -> str:
        """Return the project's root."""
        return await self._desk.root_of(self.cwd)

    async def _call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        told = {**params, "agent_name": self.agent_name or None}
        return await self._desk.call(
            method, {name: value for name, value in told.items() if value is not None}
        )


def choose_folder(cwd: str, uris: Iterable[str]) -> str:
    """Return `cwd` if it lies in one of the roots or there is none, else the first root that is a folder.

    Hosts with a window start their servers in the home folder or `/`, and name what is open as roots.
    """
    folders = [folder for folder in map(_folder_of, uris) if folder]
    if any(_holds(folder, cwd) for folder in folders):
        return cwd
    return folders[0] if folders else cwd


def _folder_of(uri: str) -> str:
    """Return the folder that a root's URI names; empty for anything else, or one that isn't there."""
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
