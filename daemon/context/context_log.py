"""The log of delivered contexts: request records, history, metrics, and what each conversation holds."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from ..core.events import EventHub
from ..core.metric_history import ContextCost, Metrics
from ..sessions.records import Delivery, Scope
from ..sessions.service import Deliveries, Sessions, Timeline, new_request_id
from .built import Built
from .caller import ContextJob
from .delivered import described
from .requests import ContextRequest
from .sent_content import ContextWindows


class ContextLog:
    """Logs each reply to GetContext. On the event loop only; logging takes some tens of microseconds."""

    def __init__(
        self,
        sessions: Sessions,
        deliveries: Deliveries,
        timeline: Timeline,
        metrics: Metrics,
        events: EventHub,
    ) -> None:
        self.windows = ContextWindows()
        """The content that the conversations of sessions hold."""
        self._deliveries = deliveries
        self._sessions = sessions
        self._timeline = timeline
        self._metrics = metrics
        self._events = events

    def given(self, job: ContextJob, built: Built, reply: dict[str, Any]) -> dict[str, Any]:
        """Log a delivered context; return the reply with ids and counts of tokens."""
        scope, request, agent_name = job.scope, job.request, job.agent_name
        if scope.session_id and not request.preview:
            self._note_window(scope, request, built, reply)
            if job.caller.session is not None:
                self._sessions.note_use(job.caller.session)
        elapsed_ms = round((time.perf_counter() - job.started) * 1000, 3)
        request_id = ""
        if scope.session_id and not request.preview and self._deliveries.is_open:
            if request.prompt.strip() and built.sent is not None:
                request_id = reply["request_id"] = new_request_id()
            conversation = scope.session_id, scope.agent_id
            self._timeline.attach(conversation, built.context_id, request_id, request.prompt, agent_name)
        reply["context_id"] = built.context_id
        self._deliver(job, built, reply, request_id, elapsed_ms)
        figures = ContextCost(
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

    def _deliver(
        self, job: ContextJob, built: Built, reply: dict[str, Any], request_id: str, elapsed_ms: float
    ) -> None:
        """Let the delivery be recorded; what takes time is done later, in a thread."""
        at = self._deliveries.now()
        logged = {**reply, "limit": built.limit, "near": built.near}
        describe = partial(described, job, built, logged, at, elapsed_ms)
        cached, preview = reply["cached"], job.request.preview
        delivery = Delivery(built.context_id, at, elapsed_ms, cached, preview, request_id, describe)
        self._deliveries.deliver(delivery, 2 * (len(reply["context"]) + len(job.request.prompt)))

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

    def _note_window(
        self, scope: Scope, request: ContextRequest, built: Built, reply: dict[str, Any]
    ) -> None:
        window = (scope.session_id, scope.agent_id)
        resident = self.windows.of(*window)
        if resident.last != built.context_id:  # repeating a context costs nothing
            resident = self.windows.sent(*window, built.held, built.context_id)
        if request.delta:
            reply["resident_tokens"] = resident.tokens
            reply["saved_tokens"] = built.saved_tokens
