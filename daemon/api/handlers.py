"""Owns the list of the wire's methods and those about the daemon itself. The wire stops here."""

from __future__ import annotations

import asyncio
import errno
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from ... import __version__
from ...ipc import errors as codes
from ...ipc.connection import Connection
from ...ipc.errors import RpcError
from ...ipc.protocol import PROTOCOL_VERSION, PackedResult
from ...ipc.shared_fields import SharedFields
from ..app.dashboard import Dashboard
from ..app.engine import Engine
from ..context.reply import ContextReply
from ..core.errors import (
    Busy,
    ChildDied,
    ConfigError,
    DeadlineExceeded,
    FovealError,
    InvalidRequest,
    NotFound,
    PermissionDenied,
    ProjectUnavailable,
    StateError,
    TooLarge,
    Unsupported,
)
from ..core.events import TOPICS
from ..core.parameters import Parameters
from ..core.process_memory import resident_bytes
from ..core.storage import OperationalError
from ..core.work import CLIENT
from .contexts import ContextMethods
from .dashboard import DashboardMethods
from .feedback import FeedbackMethods
from .given_contexts import GivenContextMethods
from .guard import PolicyGuard
from .hooks import HookMethods
from .memory import ExperienceMethods
from .method_parts import Answer, Method
from .metrics import MetricsMethods
from .projects import ProjectMethods, project_map
from .requests import RequestMethods
from .rules import ItemMethods
from .scopes import ScopeMethods
from .search import QueryMethods
from .sessions import SessionMethods
from .trust import TrustMethods

NAME_MAX = 80
"""Characters of an unknown method's name that are compared with those that there are."""


class MethodGroup(Protocol):
    """The methods about one kind of things, by name."""

    @property
    def methods(self) -> Mapping[str, Method]:
        """Each takes parameters and gives a plain map."""


_CODES: tuple[tuple[type[FovealError], str], ...] = (
    (InvalidRequest, codes.INVALID_PARAMS),
    (NotFound, codes.NOT_FOUND),
    (PermissionDenied, codes.PERMISSION_DENIED),
    (ConfigError, codes.PROJECT_UNAVAILABLE),
    (ProjectUnavailable, codes.PROJECT_UNAVAILABLE),
    (TooLarge, codes.TOO_LARGE),
    (DeadlineExceeded, codes.TIMEOUT),
    (Busy, codes.BUSY),
    (ChildDied, codes.BUSY),
    (Unsupported, codes.UNSUPPORTED),
    (StateError, codes.INTERNAL),
)


def to_error(error: Exception) -> RpcError | None:
    """Return the wire's error for one that was raised on purpose; None for any other."""
    for kind, code in _CODES:
        if isinstance(error, kind):
            field = error.field if isinstance(error, InvalidRequest) else None
            return RpcError(code, str(error), {"field": field} if field else None)
    if isinstance(error, FovealError):
        return RpcError(codes.INTERNAL, str(error))
    if isinstance(error, OperationalError):
        return RpcError(
            codes.INTERNAL, f"the state folder could not be written ({error}); see: foveal doctor"
        )
    if isinstance(error, OSError) and error.errno in _EXHAUSTED:
        return RpcError(
            codes.BUSY,
            f"the system gave the daemon nothing ({error.strerror}); try again, or see: foveal status",
        )
    return None


_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EDQUOT})
"""What passes when others give back what they took, and Status tells until then."""


class Handlers:
    """The methods over one engine and its dashboard. `stop` asks the daemon to shut down."""

    def __init__(self, engine: Engine, dashboard: Dashboard, stop: Callable[[], None]) -> None:
        self._engine = engine
        self._stop = stop
        self._started = time.monotonic()
        self._contexts = SharedFields()
        """What the answers with one context have alike."""
        self._methods: Mapping[str, Callable[[Connection, Parameters], Answer]] = {
            "Ping": self._ping,
            "Status": self._status,
            "Subscribe": self._subscribe,
            "Shutdown": self._shutdown,
        }
        self.hooks = HookMethods(engine)
        groups: tuple[MethodGroup, ...] = (
            ProjectMethods(engine),
            ContextMethods(engine),
            GivenContextMethods(engine),
            ScopeMethods(engine),
            QueryMethods(engine),
            ExperienceMethods(engine),
            ItemMethods(engine),
            SessionMethods(engine),
            RequestMethods(engine),
            MetricsMethods(engine),
            self.hooks,
            TrustMethods(engine),
            FeedbackMethods(engine),
            DashboardMethods(dashboard),
        )
        self._guard = PolicyGuard(engine.permissions, engine.projects, engine.scopes, engine.sessions)
        self._others = {name: method for group in groups for name, method in group.methods.items()}

    @property
    def methods(self) -> tuple[str, ...]:
        """The names of all methods."""
        return (*self._methods, *self._others)

    def handle(
        self, connection: Connection, method: str, params: dict[str, Any]
    ) -> Answer | Mapping[str, Any] | PackedResult:
        """Answer a request: at once where nothing has to be waited for, else by an awaitable."""
        started = time.perf_counter()
        CLIENT.set(connection.process)
        try:
            answer = self._handle(connection, method, params)
        except Exception as error:
            self._count_failure(method, error)
            raise
        if isinstance(answer, dict):
            self._engine.metrics.answered(method, (time.perf_counter() - started) * 1000)
            # Only of one that was asked for again: most are asked for once.
            if isinstance(answer, ContextReply) and answer["cached"]:
                return self._contexts.result(answer.kept, answer)
            return answer
        return self._counted(method, answer, started)

    async def _counted(
        self, method: str, answer: Awaitable[dict[str, Any]], started: float
    ) -> dict[str, Any]:
        try:
            reply = await answer
        except Exception as error:
            self._count_failure(method, error)
            raise
        self._engine.metrics.answered(method, (time.perf_counter() - started) * 1000)
        return reply

    def _count_failure(self, method: str, error: Exception) -> None:
        # What no method is called isn't counted: a client could fill the memory with names.
        if method in self._methods or method in self._others:
            told = error if isinstance(error, RpcError) else to_error(error)
            self._engine.metrics.failed(method, told.code if told else codes.INTERNAL)

    def _handle(self, connection: Connection, method: str, params: dict[str, Any]) -> Answer:
        handler = self._methods.get(method)
        if handler is not None:
            return handler(connection, Parameters(params))
        other = self._others.get(method)
        if other is None:
            raise self._unknown(method)
        return self._guard.answer(method, other, Parameters(params))

    def _unknown(self, method: str) -> RpcError:
        """Return the error for a method that there is none of, with the nearest; `data` has all."""
        from difflib import get_close_matches  # here, since only a client's mistake needs it

        known = {name.lower(): name for name in self.methods}
        near = [known[name] for name in get_close_matches(method[:NAME_MAX].lower(), known)]
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {len(known)}, such as GetContext"
        message = (
            f"there is no method {method!r:.80}; {hint} (this daemon is foveal {__version__}; if that was "
            "updated since, run: foveal restart)"
        )
        return RpcError(codes.UNKNOWN_METHOD, message, {"methods": list(self.methods)})

    def _ping(self, connection: Connection, parameters: Parameters) -> Answer:
        wanted = parameters.integer("protocol", None, 0, 1 << 31)
        if wanted is not None and wanted != PROTOCOL_VERSION:
            older = "client" if wanted < PROTOCOL_VERSION else "daemon (foveal restart after an upgrade)"
            raise RpcError(
                codes.UNSUPPORTED,
                f"the client speaks protocol {wanted}, the daemon {PROTOCOL_VERSION}: update the {older}",
                {"protocol": PROTOCOL_VERSION, "version": __version__},
            )
        return {"version": __version__, "protocol": PROTOCOL_VERSION, "pid": os.getpid()}

    async def _status(self, connection: Connection, parameters: Parameters) -> dict[str, Any]:
        engine = self._engine
        chosen = list(engine.projects)
        if parameters.has("cwd"):
            root = await engine.projects.root_of(parameters.text("cwd"))
            chosen = [project for project in chosen if project.root == root]
        return {
            "version": __version__,
            "protocol": PROTOCOL_VERSION,
            "pid": os.getpid(),
            "uptime_s": round(time.monotonic() - self._started, 3),
            "rss_bytes": resident_bytes(os.getpid()),
            "projects": [await project_map(engine, project) for project in chosen],
            "scopes": len(engine.scopes),
            "scopes_bytes": engine.scopes_bytes,
            "indexer_pid": engine.indexing.link.pid,
            "embedder": engine.semantics.describe(),
            "compressor": engine.compressing.describe(),
            "degraded": list(dict.fromkeys(await engine.problems())),
        }

    def _subscribe(self, connection: Connection, parameters: Parameters) -> Answer:
        topics = parameters.texts("topics")
        if topics is None:
            raise InvalidRequest(f"topics is missing; there are {', '.join(sorted(TOPICS))}", "topics")
        unknown = [topic for topic in topics if topic not in TOPICS]
        if unknown:
            raise InvalidRequest(
                f"topics names {unknown[0]!r:.80}, which is none; there are {', '.join(sorted(TOPICS))}",
                "topics",
            )
        events = self._engine.events
        events.subscribe(connection, topics, connection.publish)
        connection.when_lost(events.unsubscribe)
        return {"topics": list(topics)}

    def _shutdown(self, connection: Connection, parameters: Parameters) -> Answer:
        asyncio.get_running_loop().call_soon(self._stop)
        return {"stopping": True}
