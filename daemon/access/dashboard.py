"""The dashboard's port on loopback, and who may sign in to it. Another process serves its pages."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import hmac
import logging
import os
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated

from msgspec import Meta, Struct, convert, field, to_builtins
from msgspec.structs import replace

from ..config.settings import DashboardConfig
from ..core.errors import Busy, FovealError, NewerVersion, StateError
from ..core.json_file import JsonFile
from ..core.quarantine import KEPT_AS, clear_own_file, quarantine
from ..core.system import System

log = logging.getLogger(__name__)

LOOPBACK = "127.0.0.1"

BACKLOG = 128
"""Connections that wait while the serving process starts."""

TAKEN_S = 10.0
"""Seconds to retry a taken port if browsers are signed in, since their cookies are for that port. After a
daemon was killed, its web process holds the port until it has ended."""

TAKEN_PAUSE_S = 0.05


class Dashboard:
    """The port and the access of one daemon. On the event loop only. `lend` takes the listening socket."""

    def __init__(
        self,
        state_dir: str,
        config: DashboardConfig,
        lend: Callable[[socket.socket], None],
        system: System,
    ) -> None:
        self.access = DashboardAccess(DashboardFile(state_dir, system), system)
        self.config = config
        self._lend = lend
        self._listener: socket.socket | None = None
        self._opening = asyncio.Lock()
        self.remark = ""
        """Why the port isn't the wanted one, or ""."""

    @property
    def port(self) -> int:
        """The port that the dashboard is served on, 0 while it isn't."""
        return 0 if self._listener is None else int(self._listener.getsockname()[1])

    async def reopen(self) -> None:
        """Serve the dashboard again if browsers are signed in: their open pages then reconnect."""
        if self.access.port and self.access.sessions:
            try:
                await self.open()
            except FovealError as error:
                log.error("the dashboard isn't served: %s", error)

    async def open(self) -> int:
        """Serve the dashboard unless it is served already, and return the port. Raises `Busy`,
        `StateError`."""
        async with self._opening:
            if self._listener is None:
                listener = await self._bind()
                try:
                    await self.access.keep_port(listener.getsockname()[1])
                except BaseException:
                    listener.close()
                    raise
                self._listener = listener
                self._lend(listener)
                log.info("the dashboard is on http://%s:%d/", LOOPBACK, self.port)
            return self.port

    def close(self) -> None:
        """Release the port."""
        if self._listener is not None:
            self._listener.close()

    async def _bind(self) -> socket.socket:
        for wanted in filter(None, dict.fromkeys((self.config.port, self.access.port))):
            try:
                return await _bind_patiently(wanted, TAKEN_S if self.access.sessions else 0.0)
            except OSError as error:
                reason = error.strerror or error
                self.remark = f"the dashboard's port {wanted} can't be used ({reason}): it has another one"
                log.warning("%s", self.remark)
        try:
            return _bound(0)
        except OSError as error:
            message = f"no port on {LOOPBACK} can be used for the dashboard: {error.strerror or error}"
            raise Busy(message) from error


async def _bind_patiently(port: int, seconds: float) -> socket.socket:
    loop = asyncio.get_running_loop()
    ends = loop.time() + seconds
    while True:
        try:
            return _bound(port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or loop.time() > ends:
                raise
        await asyncio.sleep(TAKEN_PAUSE_S)


def _bound(port: int) -> socket.socket:
    """Return a socket that listens on loopback. Raises `OSError`."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        # So that closed connections of the previous daemon (TIME_WAIT) don't block the port.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((LOOPBACK, port))
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


CODE_S = 60.0
"""Seconds for which a login code is valid."""

CODES_MAX = 32
"""Maximum number of unused codes; the oldest is dropped."""

SESSION_S = 7 * 24 * 3600.0
"""Seconds after which an unused session ends."""

RENEWAL_S = 24 * 3600.0
"""Seconds of a session after which its use prolongs it: one write a day."""

SESSIONS_MAX = 50
"""Maximum number of sessions; the one that ends first is dropped."""


class Admission(Struct, frozen=True):
    """A valid session.

    `csrf` is the token that its changes must carry. `cookie` is the new cookie for the browser if the
    session is new or was prolonged, else empty.
    """

    csrf: str
    cookie: str = ""


class DashboardAccess:
    """Sign-in: login codes, sessions and the token for programs. On the event loop only; the file is read
    and written in a thread."""

    def __init__(self, file: DashboardFile, system: System) -> None:
        self._file = file
        self._system = system
        self._state = DashboardState()
        self.token = secrets.token_urlsafe(32)
        """The bearer token for programs: new at each start, never written to disk."""
        self._codes: dict[str, float] = {}
        self._writing = asyncio.Lock()

    @property
    def port(self) -> int:
        """The last port of the dashboard, 0 for none."""
        return self._state.port

    @property
    def sessions(self) -> int:
        """Number of signed-in browsers."""
        return len(self._live())

    async def load(self) -> str:
        """Read the file; returns what is wrong with it, or ""."""
        self._state, problem = await asyncio.to_thread(self._file.read)
        return problem

    async def keep_port(self, port: int) -> None:
        """Remember the port for the next start. Raises `StateError`."""
        if port != self._state.port:
            await self._keep(replace(self._state, port=port))

    def new_code(self) -> str:
        """Return a code that one browser can sign in with, once, within `CODE_S`."""
        now = self._system.monotonic()
        self._codes = {digest: ends for digest, ends in self._codes.items() if ends > now}
        while len(self._codes) >= CODES_MAX:
            del self._codes[next(iter(self._codes))]
        code = secrets.token_urlsafe(32)
        self._codes[_digest(code)] = now + CODE_S
        return code

    def is_token(self, token: str) -> bool:
        """Whether this is the token of this start."""
        return _same(_digest(token), _digest(self.token))

    async def redeem(self, code: str) -> Admission | None:
        """Exchange a code for a new session, durable on return; None for a used, expired or unknown code.

        Raises `StateError`; the code is used up all the same.
        """
        digest = _digest(code)
        found = [code for code in self._codes if _same(code, digest)]
        if not found or self._codes.pop(found[0]) <= self._system.monotonic():
            return None
        cookie = secrets.token_urlsafe(32)
        session = KeptSession(_digest(cookie), self._now() + SESSION_S)
        kept = sorted(self._live(), key=lambda session: session.expires)[-(SESSIONS_MAX - 1) :]
        await self._keep(replace(self._state, sessions=(*kept, session)))
        return Admission(self._csrf(cookie), cookie)

    async def admit(self, cookie: str) -> Admission | None:
        """Return the session of a cookie, None if there is no valid one."""
        digest = _digest(cookie)
        found = [session for session in self._live() if _same(session.digest, digest)]
        if not found:
            return None
        ends = self._now() + SESSION_S
        if found[0].expires > ends - RENEWAL_S:
            return Admission(self._csrf(cookie))
        kept = [session for session in self._live() if session is not found[0]]
        try:
            await self._keep(replace(self._state, sessions=(*kept, KeptSession(digest, ends))))
        except StateError as error:
            log.warning("a session of the dashboard isn't prolonged: %s", error)
            return Admission(self._csrf(cookie))
        return Admission(self._csrf(cookie), cookie)

    async def revoke(self) -> int:
        """End all sessions, codes and the token; returns the number of sessions.

        Raises `StateError` if that can't be written: it then holds until the daemon ends.
        """
        count = self.sessions
        self._codes.clear()
        self.token = secrets.token_urlsafe(32)
        await self._keep(DashboardState(port=self._state.port))
        return count

    def _live(self) -> list[KeptSession]:
        """Return the valid sessions. A session that ends too far in the future was made by a wrong clock."""
        now = self._now()
        latest = now + SESSION_S + RENEWAL_S
        return [session for session in self._state.sessions if now < session.expires <= latest]

    def _csrf(self, cookie: str) -> str:
        return hmac.new(bytes.fromhex(self._state.secret), cookie.encode(), hashlib.sha256).hexdigest()

    async def _keep(self, state: DashboardState) -> None:
        """Put a state into effect, and write the latest state. Raises `StateError`."""
        self._state = state
        async with self._writing:
            await asyncio.to_thread(self._file.write, self._state)

    def _now(self) -> float:
        return self._system.now().timestamp()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _same(given: str, known: str) -> bool:
    return hmac.compare_digest(given.encode(), known.encode())


NAME = "dashboard.json"
VERSION = 1
FILE_BYTES = 64 * 1024
"""Maximum size of the file in bytes; it takes 6 KB with all sessions."""

Hash = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]


class KeptSession(Struct, frozen=True):
    """A signed-in browser: the SHA-256 of its cookie in hexadecimal, and the end of its session in seconds
    since the epoch."""

    digest: Hash
    expires: float


class DashboardState(Struct, frozen=True):
    """The persistent state. `port` is 0 before there was one; `secret` makes anti-forgery tokens."""

    port: Annotated[int, Meta(ge=0, lt=1 << 16)] = 0
    secret: Hash = field(default_factory=lambda: secrets.token_hex(32))
    sessions: tuple[KeptSession, ...] = ()


def dashboard_file(path: str, system: System) -> JsonFile[DashboardState]:
    """Return the file of the state, 0600, replaced as a whole."""
    return JsonFile(
        path,
        system,
        version=VERSION,
        max_bytes=FILE_BYTES,
        called=path,
        decode=lambda content: convert(content, DashboardState),
    )


class DashboardFile:
    """The file in a state folder. Both methods block."""

    def __init__(self, state_dir: str, system: System) -> None:
        self._path = os.path.join(state_dir, NAME)
        self._system = system
        self._file = dashboard_file(self._path, system)
        self._is_newer = False

    def read(self) -> tuple[DashboardState, str]:
        """Return the content, and what is wrong with the file or "".

        An unusable file is quarantined: then nobody is signed in, which a new login repairs. One of a newer
        version stays, and what is signed in holds until the daemon ends.
        """
        problem = ""
        try:
            problem = clear_own_file(self._path, self._system)
            state = self._file.read()
        except NewerVersion as error:
            self._is_newer = True
            return DashboardState(), f"{error}; browsers are signed in until the daemon ends"
        except (OSError, StateError) as error:
            state, problem = None, str(error)
            with suppress(OSError):
                problem += f" ({KEPT_AS} {quarantine(self._path, self._system)})"
        problem = problem and f"{problem}: open the dashboard anew with: foveal dashboard"
        return state or DashboardState(), problem

    def write(self, state: DashboardState) -> None:
        """Replace the file, unless it is a newer version's. Raises `StateError`: nobody can sign in then."""
        if not self._is_newer:
            self._file.write(to_builtins(state))
