"""Dispatch of requests: from a name and a map to a typed method, and back."""

from __future__ import annotations

import errno
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from itertools import islice
from typing import Any

from ...ipc import errors as codes
from ...ipc.connection import Connection
from ...ipc.errors import RpcError
from ...ipc.protocol import PROTOCOL_VERSION, PackedResult
from ...ipc.version import __version__
from ..access.dashboard import Dashboard
from ..context.built import ContextReply
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
from ..core.parameters import read_request
from ..core.storage import OperationalError
from ..core.work import CLIENT
from ..engine.engine import Engine
from .contexts import ContextMethods
from .daemon import DaemonMethods, DashboardMethods
from .deliveries import DeliveryMethods
from .guard import PolicyGuard
from .hooks import HookMethods
from .memory import ExperienceMethods
from .method import Answer, Declaration, WireMap, declarations, wire_map
from .projects import ProjectMethods
from .requests import RequestMethods
from .rules import ItemMethods
from .scopes import ScopeMethods
from .search import QueryMethods
from .sessions import SessionMethods

NAME_MAX = 80
"""Maximum characters of an unknown method's name when the nearest known method is suggested."""

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

_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EDQUOT})
"""Errors that clear once resources are freed; Status lists them until then."""


def to_error(error: Exception) -> RpcError | None:
    """Return the wire's error for an exception raised on purpose; None for any other."""
    for kind, code in _CODES:
        if isinstance(error, kind):
            return RpcError(code, str(error), _data_of(error))
    if isinstance(error, FovealError):
        return RpcError(codes.INTERNAL, str(error))
    if isinstance(error, OperationalError):
        return RpcError(
            codes.INTERNAL, f"the state folder could not be written ({error}); see: foveal doctor"
        )
    if isinstance(error, OSError) and error.errno in _EXHAUSTED:
        return RpcError(
            codes.BUSY,
            f"the daemon ran out of a system resource ({error.strerror}); try again, or see: foveal status",
        )
    return None


def _data_of(error: FovealError) -> Mapping[str, Any] | None:
    if isinstance(error, Unsupported):
        return error.data
    field = error.field if isinstance(error, InvalidRequest) else None
    told = {"field": field, "advice": error.advice}
    return {name: text for name, text in told.items() if text} or None


class Handlers:
    """The methods over one engine and its dashboard. `stop` asks the daemon to shut down."""

    def __init__(self, engine: Engine, dashboard: Dashboard, stop: Callable[[], None]) -> None:
        self._engine = engine
        self._guard = PolicyGuard(engine.permissions, engine.projects, engine.scopes, engine.sessions)
        contexts = ContextMethods(engine)
        self.hooks = HookMethods(engine, contexts)
        groups = (
            contexts,
            QueryMethods(engine),
            ScopeMethods(engine),
            ProjectMethods(engine),
            SessionMethods(engine),
            RequestMethods(engine),
            ItemMethods(engine),
            ExperienceMethods(engine),
            DeliveryMethods(engine),
            self.hooks,
            DashboardMethods(dashboard),
            DaemonMethods(engine, stop, PROTOCOL_VERSION),
        )
        self._methods: Mapping[str, tuple[Declaration, Callable[..., Answer]]] = {
            declared.name: (declared, partial(declared.function, group))
            for group in groups
            for declared in declarations(type(group))
        }

    @property
    def methods(self) -> tuple[str, ...]:
        """The names of all methods."""
        return tuple(self._methods)

    def handle(
        self, connection: Connection, method: str, params: WireMap
    ) -> Mapping[str, Any] | PackedResult | Awaitable[WireMap]:
        """Answer a request: at once if nothing has to be awaited, else by an awaitable."""
        started = time.perf_counter()
        CLIENT.set(connection.process)
        try:
            answer = self._answer(connection, method, params)
            if isinstance(answer, Awaitable):
                return self._counted(method, answer, started)
            reply = wire_map(answer)
        except Exception as error:
            self._count_failure(method, error)
            raise
        self._engine.metrics.answered(method, (time.perf_counter() - started) * 1000)
        # Only for repeated requests: most contexts are requested once.
        if isinstance(reply, ContextReply) and reply["cached"]:
            shared = reply.built
            return PackedResult(
                len(shared.reply), shared.packed, dict(islice(reply.items(), len(shared.reply), None))
            )
        return reply

    async def _counted(self, method: str, answer: Awaitable[Any], started: float) -> WireMap:
        try:
            reply = wire_map(await answer)
        except Exception as error:
            self._count_failure(method, error)
            raise
        self._engine.metrics.answered(method, (time.perf_counter() - started) * 1000)
        return reply

    def _count_failure(self, method: str, error: Exception) -> None:
        # Unknown methods aren't counted: a client could fill the memory with names.
        if method in self._methods:
            rpc_error = error if isinstance(error, RpcError) else to_error(error)
            self._engine.metrics.failed(method, rpc_error.code if rpc_error else codes.INTERNAL)

    def _answer(self, connection: Connection, name: str, params: WireMap) -> Answer:
        found = self._methods.get(name)
        if found is None:
            raise self._unknown(name)
        declared, function = found
        request = read_request(declared.request, params)
        ask = (
            partial(function, request, connection)
            if declared.takes_connection
            else partial(function, request)
        )
        return self._guard.answer(declared, request, ask)

    def _unknown(self, method: str) -> RpcError:
        """Return the error for an unknown method, with the nearest known one; `data` lists all."""
        from difflib import get_close_matches  # imported here, since only a client's mistake needs it

        known = {name.lower(): name for name in self.methods}
        near = [known[name] for name in get_close_matches(method[:NAME_MAX].lower(), known)]
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {len(known)}, such as GetContext"
        message = (
            f"there is no method {method!r:.80}; {hint} (this daemon is foveal {__version__}; if that was "
            "updated since, run: foveal restart)"
        )
        return RpcError(codes.UNKNOWN_METHOD, message, {"methods": list(self.methods)})
