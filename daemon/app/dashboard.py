"""Owns the dashboard's port: bound on loopback, the same one at each start, and lent; serves nothing."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import Callable

from ..config.settings import DashboardConfig
from ..core.errors import Busy, FovealError
from ..core.system import System
from .dashboard_access import DashboardAccess
from .dashboard_file import DashboardFile

log = logging.getLogger(__name__)

LOOPBACK = "127.0.0.1"

BACKLOG = 128
"""Connections that wait while the process that serves them starts."""

TAKEN_S = 10.0
"""How long a port is tried that is taken, where browsers are signed in, whose cookies are for that port: a
daemon that was killed leaves it to a process that is ending."""

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
        self._remark = ""

    @property
    def port(self) -> int:
        """The port that it is served on, 0 while it isn't."""
        return 0 if self._listener is None else int(self._listener.getsockname()[1])

    @property
    def remark(self) -> str:
        """Why the port is another one than was wanted, or nothing."""
        return self._remark

    async def reopen(self) -> None:
        """Serve it again where browsers are signed in: their open pages come back by themselves."""
        if self.access.port and self.access.sessions:
            try:
                await self.open()
            except FovealError as error:
                log.error("the dashboard isn't served: %s", error)

    async def open(self) -> int:
        """Serve it, if it isn't yet, and return the port. Raises `Busy`, `StateError`."""
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
        """Give the port back."""
        if self._listener is not None:
            self._listener.close()

    async def _bind(self) -> socket.socket:
        for wanted in filter(None, dict.fromkeys((self.config.port, self.access.port))):
            try:
                return await _bind_patiently(wanted, TAKEN_S if self.access.sessions else 0.0)
            except OSError as error:
                reason = error.strerror or error
                self._remark = f"the dashboard's port {wanted} can't be used ({reason}): it has another one"
                log.warning("%s", self._remark)
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
        # Connections of the daemon before, which the system still remembers, don't hold the port.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((LOOPBACK, port))
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener
