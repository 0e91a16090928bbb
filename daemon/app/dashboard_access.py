"""Owns who may use the dashboard: the token of this start, one-time codes, sessions; knows no HTTP.

Secrets are 256 random bits. What is kept of them is SHA-256, also in memory, and hashes are compared in
constant time. None is logged.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import secrets

from msgspec import Struct
from msgspec.structs import replace

from ..core.errors import StateError
from ..core.system import System
from .dashboard_file import DashboardFile, DashboardState, KeptSession

log = logging.getLogger(__name__)

CODE_S = 60.0
"""How long a login code waits for the browser that was started with it."""

CODES_MAX = 32
"""Codes that wait; of more the oldest is forgotten."""

SESSION_S = 7 * 24 * 3600.0
"""How long a session is kept that nobody uses."""

RENEWAL_S = 24 * 3600.0
"""A session that is used is prolonged when this much of its time has passed: one write a day."""

SESSIONS_MAX = 50
"""Of more the one that ends first is forgotten."""


class Admission(Struct, frozen=True):
    """A session that holds. `csrf` is what its changes must carry. `cookie` is what the browser is to keep
    from now on, for a new session or one that was prolonged, else empty."""

    csrf: str
    cookie: str = ""


class DashboardAccess:
    """Decides who is let in. On the event loop only; the file is read and written in a thread."""

    def __init__(self, file: DashboardFile, system: System) -> None:
        self._file = file
        self._system = system
        self._state = DashboardState()
        self._token = secrets.token_urlsafe(32)
        self._codes: dict[str, float] = {}
        self._writing = asyncio.Lock()

    @property
    def token(self) -> str:
        """The bearer token for programs; a new one at each start, and on nobody's disk."""
        return self._token

    @property
    def port(self) -> int:
        """The port that the dashboard had last, 0 for none."""
        return self._state.port

    @property
    def sessions(self) -> int:
        """How many browsers are signed in."""
        return len(self._live())

    async def load(self) -> str:
        """Read what was kept; returns a sentence about what is wrong with it, or nothing."""
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
        return _same(_digest(token), _digest(self._token))

    async def redeem(self, code: str) -> Admission | None:
        """Take a code for a new session, durable on return; None for one that is used, old or none.

        Raises `StateError`, and the code is used up all the same.
        """
        digest = _digest(code)
        found = [one for one in self._codes if _same(one, digest)]
        if not found or self._codes.pop(found[0]) <= self._system.monotonic():
            return None
        cookie = secrets.token_urlsafe(32)
        session = KeptSession(_digest(cookie), self._now() + SESSION_S)
        kept = sorted(self._live(), key=lambda one: one.expires)[-(SESSIONS_MAX - 1) :]
        await self._keep(replace(self._state, sessions=(*kept, session)))
        return Admission(self._csrf(cookie), cookie)

    async def admit(self, cookie: str) -> Admission | None:
        """Return what a session's requests need; None for a cookie of none that holds."""
        digest = _digest(cookie)
        found = [one for one in self._live() if _same(one.digest, digest)]
        if not found:
            return None
        ends = self._now() + SESSION_S
        if found[0].expires > ends - RENEWAL_S:
            return Admission(self._csrf(cookie))
        kept = [one for one in self._live() if one is not found[0]]
        try:
            await self._keep(replace(self._state, sessions=(*kept, KeptSession(digest, ends))))
        except StateError as error:
            log.warning("a session of the dashboard isn't prolonged: %s", error)
            return Admission(self._csrf(cookie))
        return Admission(self._csrf(cookie), cookie)

    async def revoke(self) -> int:
        """Sign everybody out: sessions, codes and the token; returns how many sessions there were.

        Raises `StateError` where that can't be written: then it holds until the daemon ends.
        """
        count = self.sessions
        self._codes.clear()
        self._token = secrets.token_urlsafe(32)
        await self._keep(DashboardState(port=self._state.port))
        return count

    def _live(self) -> list[KeptSession]:
        """Return the sessions that hold. One that ends too late is of a clock that went wrong."""
        now = self._now()
        return [one for one in self._state.sessions if now < one.expires <= now + SESSION_S + RENEWAL_S]

    def _csrf(self, cookie: str) -> str:
        return hmac.new(bytes.fromhex(self._state.secret), cookie.encode(), hashlib.sha256).hexdigest()

    async def _keep(self, state: DashboardState) -> None:
        """Take a state, which holds at once, and write the latest one. Raises `StateError`."""
        self._state = state
        async with self._writing:
            await asyncio.to_thread(self._file.write, self._state)

    def _now(self) -> float:
        return self._system.now().timestamp()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())
