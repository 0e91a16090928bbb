"""The daemon's life: startup, run, shutdown. Composes state folder, engine and sockets."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import logging
import logging.handlers
import os
import signal
import socket
import sys
from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from ...ipc import paths
from ...ipc.connection import Limits
from ...ipc.listener import (
    SocketInUse,
    bind,
    connection_limit,
    path_mark,
    raise_file_limit,
    remove_socket,
)
from ...ipc.paths import DaemonInfo
from ...ipc.protocol import PROTOCOL_VERSION
from ...ipc.server import Server
from ...ipc.version import __version__
from ..access.service import Dashboard
from ..api.service import Handlers, to_error
from ..config.files import load_or_last, load_user_config
from ..config.settings import LOG_LEVELS, Environment, UserConfig
from ..core.errors import ConfigError, FovealError
from ..core.quarantine import clear_file, clear_folder, clear_socket
from ..core.state_folder import STATE_VERSION, Migration, StateLock, bring_up, check_version
from ..core.system import System, disk_problem, share_heaps
from ..core.times import timestamp_of
from ..engine.service import Engine
from ..sessions.service import move_former
from .web_process import WebProcessStarter

MIGRATIONS: Mapping[int, Migration | None] = {1: None, 2: move_former}
"""None changes the mark alone: then only an earlier program needs to know, because the owners of the files
bring them up themselves."""


log = logging.getLogger(__name__)

SWITCH_INTERVAL_S = 0.0005
"""Maximum seconds for which a build thread holds the interpreter while the event loop waits. With one busy
thread the 99th percentile of reply times rose from 0.36 to 37 ms with Python's default of 5 ms, and to 2.4 ms
with this value."""

GC_THRESHOLD = 50_000
"""Number of new objects that starts a garbage collection; with the default of 700 many builds are
interrupted."""

IDLE_CHECK_S = 15.0

CHECK_S = 2.0
"""Seconds between two checks of the sockets' and the lock's paths, which take a few microseconds."""

FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""Errors of a full disk. A daemon starts all the same, and Status says so."""

HTTP_BACKLOG = 128
"""Connections that wait while the web process starts."""

RESTARTED = "FOVEAL_RESTARTED"
"""The variable that tells a daemon which begins anew why it does."""

LOG_LEVEL = "FOVEAL_LOG_LEVEL"
"""The variable that sets the log's level for one daemon, whatever config.toml says."""

LAST_CONFIG = "config.last.toml"
FOLDERS = ("projects", "sessions", "embeddings", "tools")
"""Folders of the state folder."""

UNABLE_TO_START = (FovealError, paths.PathError, SocketInUse)
"""Errors of `prepare` and `serve` that keep a daemon from starting; their text is fit for a person."""

SIGNALS = (signal.SIGTERM, signal.SIGINT)
"""Signals that ask a daemon to shut down."""


class Startup(Struct, frozen=True):
    """The paths, settings and log of a daemon."""

    socket: str
    environment: Environment
    config: UserConfig
    config_warnings: tuple[str, ...]
    """Warnings about config.toml at the start, for the log; Status shows the current ones."""
    log_to_file: bool
    log_level: str
    """The least severe message that is logged: `LOG_LEVEL` of the environment, else that of config.toml."""
    socket_is_ours: bool = False
    """Whether the socket's path is the default, so that anything in its place may be quarantined."""
    mended: tuple[str, ...] = ()
    """Repairs of the state folder at the start."""


def prepare(socket_path: str | None, environ: Mapping[str, str], *, log_to_file: bool) -> Startup:
    """Check folders and configuration. Raises `PathError`, `ConfigError`, `StateError`, fit for a person."""
    log_level = environ.get(LOG_LEVEL, "").lower()
    if log_level and log_level not in LOG_LEVELS:
        raise ConfigError(f"{LOG_LEVEL} is {log_level!r}: set it to {', '.join(LOG_LEVELS)}, or unset it")
    system = System()
    state = paths.private_folder(paths.state_folder(environ))
    # Another user's parent folder can't be synced, and needn't be: the state folder is not new then.
    with contextlib.suppress(PermissionError):
        system.fsync_folder(os.path.dirname(state))
    config_folder = paths.config_folder(environ)
    environment = Environment(
        home=os.path.realpath(os.path.expanduser("~")),
        state_dir=state,
        config_dir=config_folder,
        uid=os.geteuid(),
        variables=dict(environ),
    )
    check_version(state, system)  # before anything is written there
    loaded, problem = load_or_last(
        lambda path: load_user_config(path, system),
        paths.config_file(config_folder),
        os.path.join(state, LAST_CONFIG),
        system,
    )
    socket = paths.daemon_socket(socket_path, environ)
    return Startup(
        socket,
        environment,
        loaded.config,
        (*filter(None, [problem]), *loaded.warnings),
        log_to_file,
        log_level or loaded.config.daemon.log_level,
        socket_is_ours=socket == paths.default_socket(environ),
        mended=tuple(filter(None, [environ.get(RESTARTED)])),
    )


def serve(startup: Startup) -> None:
    """Run a daemon until it is asked to stop. Raises `StateError` or `SocketInUse` if one is running
    already.

    The daemon begins anew in the same process if its state folder is removed, and reports that in Status. So
    it does if the disk was full when it opened its files, as soon as there is space again.
    """
    os.umask(0o077)  # new files of this process and its children are readable by the user alone
    said = _serve(startup)
    if said is not None:
        environ = {**os.environ, RESTARTED: said}
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environ)  # noqa: S606 - itself


def _serve(startup: Startup) -> str | None:
    """Run a daemon. Returns None if it was asked to stop, else why it has to begin anew, or ""."""
    state = startup.environment.state_dir
    system = System()
    mended = [*startup.mended, clear_file(paths.log_file(state), system)]
    _set_up_logging(startup)
    with contextlib.ExitStack() as stack:
        # Signals wait until the loop handles them: before that, one would end the process without removing
        # its sockets and files.
        stack.callback(signal.pthread_sigmask, signal.SIG_SETMASK, _hold_signals())
        lock = StateLock.take(paths.lock_file(state))
        stack.callback(lock.release)
        http_path = paths.http_socket(startup.socket)
        try:
            mended += bring_up(state, system, STATE_VERSION, MIGRATIONS)
        except OSError as error:
            if error.errno not in FULL:
                raise
            mended.append(f"the disk of {state} was full at the start: the version of the folder isn't noted")
        mended += _clear_places(startup, http_path, system)
        startup = replace(startup, mended=tuple(filter(None, mended)))
        own, http = (_bind(path, stack) for path in (startup.socket, http_path))
        http.listener.listen(HTTP_BACKLOG)
        stack.callback(_remove_info, state)
        unwritten = _write_info(startup, http_path)
        for warning in filter(None, (*startup.mended, *startup.config_warnings, unwritten)):
            log.warning("%s", warning)
        return _run(startup, lock, own, http)


class _Bound:
    """A bound socket with its path, and a mark that tells whether the path still leads to it."""

    def __init__(self, path: str, listener: socket.socket) -> None:
        self.path = path
        self.listener = listener
        self._mark = path_mark(path)

    @property
    def is_there(self) -> bool:
        """Whether the path leads to the socket."""
        return self._mark is not None and path_mark(self.path) == self._mark

    def bind_again(self) -> socket.socket:
        """Bind a new socket to the path; returns the former socket. Raises as `bind` does."""
        former, self.listener = self.listener, bind(self.path)
        self._mark = path_mark(self.path)
        return former

    def remove(self) -> None:
        """Close the socket, and remove its path unless another daemon has bound it since."""
        self.listener.close()
        if self.is_there:
            remove_socket(self.path)


class Daemon:
    """A running daemon: `run` serves until `stop` is called."""

    def __init__(self, startup: Startup, lock: StateLock, own: _Bound, http: _Bound) -> None:
        self._startup = startup
        self._lock = lock
        self._own = own
        self._http = http
        self._stopping = asyncio.Event()
        self._restarts: str | None = None
        """Why the daemon begins anew, for Status; None unless it does."""
        self._started_full = False
        self._engine = Engine(startup.environment, startup.config, System())
        self._engine.warnings = startup.mended
        self._web_process = WebProcessStarter(http.listener, startup.socket)
        self._dashboard = Dashboard(
            startup.environment.state_dir, startup.config.dashboard, self._web_process.lend, System()
        )
        self._handlers = Handlers(self._engine, self._dashboard, self.stop)

    def stop(self) -> None:
        """Ask the daemon to shut down; further calls have no effect."""
        self._stopping.set()

    async def run(self) -> str | None:
        """Serve, then shut down within the configured deadline; returns what `_serve` does."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self.stop)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        try:
            await self._serve()
        finally:
            _hold_signals()  # the loop drops its handlers now, but sockets and files are still to be removed
        return self._restarts

    async def _serve(self) -> None:
        deadline_s = self._startup.config.daemon.shutdown_deadline_ms / 1000
        started = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            engine = tasks.create_task(self._engine.run(started), name="engine")
            await _first(started, engine)
            if problem := await self._dashboard.access.load():
                self._engine.warnings = (*self._engine.warnings, problem)
                log.warning("%s", problem)
            self._started_full = bool(disk_problem(self._startup.environment.state_dir, System()))
            limits = Limits(connections=connection_limit())
            async with Server(self._handlers.handle, to_error, _log_error, limits=limits) as server:
                server.start(self._own.listener)
                background = (
                    tasks.create_task(self._stop_when_idle(server), name="idle"),
                    tasks.create_task(self._web_process.run(), name="web process"),
                    tasks.create_task(self._dashboard.reopen(), name="dashboard"),
                    tasks.create_task(self._handlers.hooks.run(), name="hooks"),
                    tasks.create_task(self._check_paths(server), name="check sockets and lock"),
                )
                # Objects from the start live as long as the daemon, so collections skip them. The collector
                # was off until now: collecting the thousand garbage objects of the imports took 25 ms.
                gc.freeze()
                gc.enable()
                log.info("foveal %s serves on %s (pid %d)", __version__, self._startup.socket, os.getpid())
                await self._stopping.wait()
                log.info("shutting down")
                for task in background:
                    task.cancel()
                await server.shutdown(deadline_s)
                await self._engine.close(deadline_s)
        self._dashboard.close()
        log.info("stopped")

    def _restart(self, why: str = "") -> None:
        self._restarts = why
        self.stop()

    async def _check_paths(self, server: Server) -> None:
        """Rebind sockets whose paths were removed, and restart if the state folder was removed."""
        state = self._startup.environment.state_dir
        bind_error = ""
        while True:
            await asyncio.sleep(CHECK_S)
            if not self._lock.lies_at(paths.lock_file(state)):
                self._restart(
                    f"the state folder {state} was removed at {timestamp_of(System().now())} while the "
                    "daemon ran, and made anew: scopes, sessions, decisions and requests that lay in "
                    "it are lost, indexes and embeddings are built anew; see: foveal doctor"
                )
                return
            if self._started_full and not disk_problem(state, System()):
                log.warning("there is space on the disk again: the daemon restarts, to open its files")
                self._restart()
                return
            try:
                if not self._own.is_there:
                    self._own.bind_again()  # the server closes the former socket
                    server.start(self._own.listener)
                    log.warning("%s was removed, and is bound again", self._own.path)
                if not self._http.is_there:
                    former = self._http.bind_again()
                    self._http.listener.listen(HTTP_BACKLOG)
                    self._web_process.replace(former, self._http.listener)
                    log.warning("%s was removed, and is bound again", self._http.path)
                bind_error = ""
            except (OSError, paths.PathError, SocketInUse) as error:
                if bind_error != str(error):
                    bind_error = str(error)
                    log.error("the socket can't be bound again: %s", error)

    async def _stop_when_idle(self, server: Server) -> None:
        """Stop after the configured time without connections and indexing."""
        minutes = self._startup.config.daemon.idle_shutdown_minutes
        if not minutes:
            return
        loop = asyncio.get_running_loop()
        last = loop.time()
        seen = -1
        while True:
            await asyncio.sleep(min(IDLE_CHECK_S, minutes * 60))
            statistics = server.statistics()
            busy = statistics.connections or any(
                project.state in {"scanning", "indexing"} for project in self._engine.projects
            )
            if busy or statistics.accepted != seen:
                last, seen = loop.time(), statistics.accepted
            elif loop.time() - last >= minutes * 60:
                log.info("nobody was connected for %g minutes", minutes)
                self.stop()
                return


def _clear_places(startup: Startup, http_path: str, system: System) -> Iterator[str]:
    """Quarantine anything else, such as a folder, that has the path of one of the daemon's files or
    folders."""
    state = startup.environment.state_dir
    info = paths.daemon_file(state)
    yield from (clear_file(path, system) for path in (info, f"{info}.tmp"))
    yield from (clear_folder(os.path.join(state, name), system) for name in FOLDERS)
    if startup.socket_is_ours:
        yield from (clear_socket(path, system) for path in (startup.socket, http_path))


def _hold_signals() -> set[int]:
    """Block the signals that end a daemon, and return the signals that were blocked before."""
    return {int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)}


def _bind(path: str, stack: contextlib.ExitStack) -> _Bound:
    """Bind a socket that is closed and removed with the stack."""
    bound = _Bound(path, bind(path))
    stack.callback(bound.remove)
    return bound


def _run(startup: Startup, lock: StateLock, own: _Bound, http: _Bound) -> str | None:
    import uvloop  # imported here, since it takes 170 ms

    raise_file_limit()
    share_heaps()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    gc.set_threshold(GC_THRESHOLD, 20, 50)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_main(startup, lock, own, http))


async def _main(startup: Startup, lock: StateLock, own: _Bound, http: _Bound) -> str | None:
    return await Daemon(startup, lock, own, http).run()


async def _first(started: asyncio.Event, engine: asyncio.Task[None]) -> None:
    """Wait until the engine has started. Raises the engine's error if it failed."""
    waiting = asyncio.ensure_future(started.wait())
    await asyncio.wait((waiting, engine), return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if engine.done():
        engine.result()


def _log_error(error: BaseException, method: str) -> None:
    log.error("%s failed", method, exc_info=error)


def _write_info(startup: Startup, http_path: str) -> str:
    """Write daemon.json, which clients need only for a socket in an unusual place; return why that failed,
    or ""."""
    info = DaemonInfo(
        pid=os.getpid(),
        start_time=timestamp_of(System().now()),
        socket=startup.socket,
        http_socket=http_path,
        version=__version__,
        protocol=PROTOCOL_VERSION,
    )
    try:
        paths.write_daemon_info(startup.environment.state_dir, info)
    except OSError as error:
        return f"{paths.daemon_file(startup.environment.state_dir)} isn't written: {error}"
    return ""


def _remove_info(state: str) -> None:
    """Remove daemon.json if the disk permits: a remaining file counts only while its socket is there."""
    try:
        paths.remove_daemon_info(state)
    except OSError as error:
        log.warning("%s stays: %s", paths.daemon_file(state), error.strerror)


def _set_up_logging(startup: Startup) -> None:
    config = startup.config.daemon
    handler: logging.Handler
    if startup.log_to_file:
        path = paths.log_file(startup.environment.state_dir)
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        handler = logging.handlers.RotatingFileHandler(
            path, maxBytes=config.log_max_bytes, backupCount=config.log_backups, encoding="utf-8"
        )
    else:
        handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(name)s  %(message)s"))
    root = logging.getLogger("foveal")
    for former in root.handlers[:]:
        root.removeHandler(former)
        former.close()
    root.addHandler(handler)
    root.setLevel(startup.log_level.upper())
