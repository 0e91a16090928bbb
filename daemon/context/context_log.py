"""The log of delivered contexts: request records, history, metrics, and what each conversation holds."""

from __future__ import annotations

import time
from typing import Any

from ..core.events import EventHub
from ..core.metrics import ContextFigures, Metrics
from ..sessions.request_log_service import RequestLog
from ..sessions.scope import Scope
from ..sessions.service import Sessions
from ..sessions.timeline_service import Timeline
from .assembly import Built
from .caller import ContextJob
from .context_history import ContextHistory
from .requests import ContextRequest
from .sent_content import ContextWindows

LAST_MAX = 1_000
"""Maximum number of conversations whose last context is remembered."""


class ContextLog:
    """Logs each reply to GetContext. On the event loop only; logging takes some tens of microseconds."""

    def __init__(
        self,
        sessions: Sessions,
        requests: RequestLog,
        timeline: Timeline,
        history: ContextHistory,
        metrics: Metrics,
        events: EventHub,
    ) -> None:
        self.windows = ContextWindows()
        """The content that the conversations of sessions hold."""
        self._history = history
        self._sessions = sessions
        self._requests = requests
        self._timeline = timeline
        self._metrics = metrics
        self._events = events
        self._last: dict[tuple[str, str], str] = {}
        """The last context of each conversation, so that repeating it costs nothing."""

    def given(self, job: ContextJob, built: Built, reply: dict[str, Any]) -> dict[str, Any]:
        """Log a delivered context; return the reply with ids and counts of tokens."""
        scope, request, agent_name = job.scope, job.request, job.agent_name
        if scope.session_id and not request.preview:
            self._note_window(scope, request, built, reply)
            if job.caller.session is not None:
                self._sessions.note_use(job.caller.session)
        elapsed_ms = round((time.perf_counter() - job.started) * 1000, 3)
        if scope.session_id and request.prompt.strip() and not request.preview:
            request_id = self._requests.record(scope, request, built, reply, agent_name, elapsed_ms)
            if request_id is not None:
                reply["request_id"] = request_id
        reply["context_id"] = built.context_id
        if not request.preview:
            self._timeline.given(scope, request, built, reply, agent_name)
        self._history.note(job, agent_name, built, reply, elapsed_ms)
        figures = ContextFigures(
            agent_name,
            reply["tokens"],
            max(built.tokens_before, reply["tokens"]),  # those are of slices, without headings
            built.tokens_by_type,
            reply["cached"],
            reply["partial"],
            reply.get("masked", 0),
        )
        self._metrics.context_given(figures)
        if reply["cached"] and "context.built" in self._events.topics:
            self.announce(job, built, job.started, cached=True)  # a new context is announced when it is built
        return reply

    def announce(self, job: ContextJob, built: Built, started: float, *, cached: bool = False) -> None:
        """Publish `context.built` for a new context or for a delivered cached one."""
        if not self._events.wanted("context.built"):
            return
        types: dict[str, int] = {}
        for item in built.reply["slices"]:
            types[item["type"]] = types.get(item["type"], 0) + 1
        data = {
            "context_id": built.context_id,
            "project": job.scope.root,
            "scope_id": job.scope.id,
            "session_id": job.scope.session_id,
            "agent_name": job.agent_name,
            "task_type": job.request.task_type,
            "tokens": built.reply["tokens"],
            "tokens_before": built.tokens_before,
            "slices": types,
            "cached": cached,
            "elapsed_ms": round((time.perf_counter() - started) * 1000, 3),
        }
        self._events.publish("context.built", data)

    def forget_window(self, session_id: str, agent_id: str | None = None) -> None:
        """Forget the content that a session's conversations hold, or only one agent's.

        Called after a compaction or a new start of a conversation.
        """
        self.windows.forget(session_id, agent_id)
        for window in [item for item in self._last if item[0] == session_id and agent_id in {None, item[1]}]:
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
