"""Owns what follows from giving a context to an agent: the record, the figures, what its window holds now."""

from __future__ import annotations

import time
from typing import Any

from ..core.events import EventHub
from ..core.metrics import ContextFigures, Metrics
from ..core.system import System
from ..project.project import Project
from ..sessions.request_log_service import RequestLog
from ..sessions.service import Sessions
from .assembly import Built
from .caller import Caller
from .given_contexts import GivenContexts
from .requests import ContextRequest
from .scopes import Scope
from .sent_content import ContextWindows

LAST_MAX = 1_000
"""Maximum number of context windows whose last context is remembered."""


class ContextLog:
    """Notes each answer to GetContext. On the event loop only; takes some tens of microseconds."""

    def __init__(
        self,
        sessions: Sessions,
        requests: RequestLog,
        metrics: Metrics,
        events: EventHub,
        system: System,
    ) -> None:
        self.windows = ContextWindows()
        """What the agents of sessions hold of what they were sent."""
        self.contexts = GivenContexts(system)
        """The contexts that were given last, to be looked at."""
        self._sessions = sessions
        self._requests = requests
        self._metrics = metrics
        self._events = events
        self._last: dict[tuple[str, str], str] = {}
        """What each window was given last, which it holds: the hot path needn't note it again."""

    @property
    def reports(self) -> int:
        """Counts what came of requests; each report may change what is chosen."""
        return self._requests.reports

    def given(
        self,
        project: Project,
        scope: Scope,
        request: ContextRequest,
        caller: Caller,
        built: Built,
        reply: dict[str, Any],
        started: float,
    ) -> dict[str, Any]:
        """Note that an agent is given a context; returns the reply with what that adds to it.

        `started` is when it was asked for, a time of `perf_counter`: the event loop's clock has milliseconds.
        """
        if request.prompt and not request.preview:
            project.feedback.shown(one["path"] for one in reply["slices"] if "path" in one)
        if scope.session_id and not request.preview:
            self._note_window(scope, request, built, reply)
            if caller.session is not None:
                self._sessions.note_use(caller.session)
        elapsed_ms = round((time.perf_counter() - started) * 1000, 3)
        if scope.session_id and request.prompt.strip() and not request.preview:
            agent_name = caller.agent_name(request, scope)
            request_id = self._requests.record(scope, request, built, reply, agent_name, elapsed_ms)
            if request_id is not None:
                reply["request_id"] = request_id
        agent_name = caller.agent_name(request, scope)
        reply["context_id"] = built.context_id
        self.contexts.note(scope, request, agent_name, caller, built, reply, elapsed_ms)
        figures = ContextFigures(
            agent_name,
            reply["tokens"],
            built.tokens_before,
            built.tokens_by_type,
            reply["cached"],
            reply["partial"],
            reply.get("masked", 0),
        )
        self._metrics.context_given(figures)
        if reply["cached"]:  # of one that was built now it was told when it was
            self.announce(scope, request, agent_name, built, started, cached=True)
        return reply

    def announce(
        self,
        scope: Scope,
        request: ContextRequest,
        agent_name: str,
        built: Built,
        started: float,
        *,
        cached: bool = False,
    ) -> None:
        """Tell who subscribed of a context that was built, or given as it was kept."""
        if not self._events.wanted("context.built"):
            return
        types: dict[str, int] = {}
        for one in built.reply["slices"]:
            types[one["type"]] = types.get(one["type"], 0) + 1
        data = {
            "context_id": built.context_id,
            "project": scope.root,
            "scope_id": scope.id,
            "session_id": scope.session_id,
            "agent_name": agent_name,
            "task_type": request.task_type,
            "tokens": built.reply["tokens"],
            "tokens_before": built.tokens_before,
            "slices": types,
            "cached": cached,
            "elapsed_ms": round((time.perf_counter() - started) * 1000, 3),
        }
        self._events.publish("context.built", data)

    def forget_window(self, session_id: str, agent_id: str | None = None) -> None:
        """Forget what a session's agents hold, or one of them does: it was compacted, or begins anew."""
        self.windows.forget(session_id, agent_id)
        for window in [one for one in self._last if one[0] == session_id and agent_id in {None, one[1]}]:
            del self._last[window]

    def _note_window(
        self, scope: Scope, request: ContextRequest, built: Built, reply: dict[str, Any]
    ) -> None:
        window = (scope.session_id, scope.agent_id)
        resident = self.windows.of(*window)
        if self._last.get(window) != built.context_id:
            resident = self.windows.sent(*window, built.held, built.held_lines)
            if len(self._last) >= LAST_MAX:
                self._last.clear()
            self._last[window] = built.context_id
        if request.delta:
            reply["resident_tokens"] = resident.tokens
            reply["saved_tokens"] = built.saved_tokens
