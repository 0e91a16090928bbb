"""The log of delivered contexts, with their metrics and the content that each conversation holds."""

from __future__ import annotations

import secrets
import sys
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ..core.events import EventHub
from ..core.metrics import ContextFigures, Metrics
from ..core.system import System
from ..privacy.policy import Policy
from ..sessions.request_log_service import RequestLog
from ..sessions.service import Sessions
from ..sessions.timeline_service import Timeline
from .assembly import Built
from .caller import Caller, ContextJob
from .requests import ContextRequest
from .scopes import Scope
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
        metrics: Metrics,
        events: EventHub,
        system: System,
    ) -> None:
        self.windows = ContextWindows()
        """The content that the conversations of sessions hold."""
        self.contexts = GivenContexts(system)
        """The latest delivered contexts."""
        self._sessions = sessions
        self._requests = requests
        self._timeline = timeline
        self._metrics = metrics
        self._events = events
        self._last: dict[tuple[str, str], str] = {}
        """The last context of each conversation, so that repeating it costs nothing."""

    @property
    def reports(self) -> int:
        """The number of reports on earlier requests; each may change the selection."""
        return self._requests.reports

    def given(self, job: ContextJob, built: Built, reply: dict[str, Any]) -> dict[str, Any]:
        """Log a delivered context; return the reply with ids and counts of tokens."""
        scope, request, agent_name = job.scope, job.request, job.agent_name
        if request.prompt and not request.preview:
            job.project.feedback.shown(item["path"] for item in reply["slices"] if "path" in item)
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
        self.contexts.note(job, agent_name, built, reply, elapsed_ms)
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


GIVEN_MAX = 300
"""Maximum number of contexts in the log: an afternoon of one busy agent, or some hours of a few."""

MEMORY_MAX = 32 << 20
"""Maximum bytes of the log."""

TEXTS_PER_SCOPE = 8
"""Maximum number of contexts of one scope that keep their text, so that a busy scope doesn't displace all
other texts."""

TEXT_CHARACTERS_MAX = 1 << 20
"""Maximum characters of a stored text; a longer one would displace many others."""

TEXT_FIELDS = ("context", "system_prompt", "user_prompt", "messages", "tools")
"""Fields of a reply that hold its text; the others are its record."""

SLICE_BYTES = 1_000
"""Bytes of the record of a slice, measured: a dictionary of twelve entries with its texts."""

RECORD_BYTES = 2_200
"""Bytes of the record of a context without its slices and prompt, measured."""


def new_context_id() -> str:
    """Return a new random id of 64 bits."""
    return f"c_{secrets.token_hex(8)}"


class Given(Struct):
    """A delivered context, and how often it was delivered.

    `reply` is the first reply; its texts are dropped when memory is short. `request` has no history. `policy`
    is the one that the context was built under. `agent_names` are the names of its agent in scope and
    session. `elapsed_ms` is of the first delivery, `last_elapsed_ms` and `cached` are of the last. `previous`
    is the id of the scope's preceding context or "", and `is_same` whether its text was identical.
    """

    id: str
    scope: Scope
    request: ContextRequest
    agent_name: str
    agent_names: tuple[str, ...]
    policy: Policy
    reply: dict[str, Any]
    tokens_before: int
    first_at: datetime
    at: datetime
    elapsed_ms: float
    last_elapsed_ms: float
    cached: bool
    request_id: str = ""
    times: int = 1
    has_text: bool = True
    text_bytes: int = 0
    previous: str = ""
    is_same: bool = False
    heading: str | None = None
    """The prompt as lists show it, set when first needed."""

    @property
    def record_bytes(self) -> int:
        """The estimated size without its text."""
        slices = len(self.reply["slices"]) + len(self.reply.get("dropped", ())) + len(self.reply["items"])
        return RECORD_BYTES + SLICE_BYTES * slices + 4 * len(self.request.prompt) + self.scope.memory_bytes


class GivenContexts:
    """The delivered contexts by id, the latest last. On the event loop only.

    If there are too many, the oldest without text are removed first. If they take too much memory, the oldest
    texts are dropped first.
    """

    def __init__(self, system: System) -> None:
        self._system = system
        self._given: OrderedDict[str, Given] = OrderedDict()
        self._with_text: dict[str, OrderedDict[str, None]] = {}
        """The ids of contexts with text, by scope, the latest last."""
        self._last: dict[str, str] = {}
        """The id of the latest context of each scope."""
        self._texts_bytes = 0
        self._records_bytes = 0

    def __len__(self) -> int:
        return len(self._given)

    @property
    def memory_bytes(self) -> int:
        """Bytes of texts and records."""
        return self._texts_bytes + self._records_bytes

    def get(self, context_id: str) -> Given | None:
        """Return a logged context, or None."""
        return self._given.get(context_id)

    def latest_first(self) -> Iterator[Given]:
        """Return an iterator over the contexts, the latest first."""
        return reversed(self._given.values())

    def note(
        self, job: ContextJob, agent_name: str, built: Built, reply: Mapping[str, Any], elapsed_ms: float
    ) -> None:
        """Log a delivery; a repeated one takes a microsecond or two."""
        scope, request = job.scope, job.request
        given = self._given.get(built.context_id)
        if given is None:
            now = self._system.now()
            given = Given(
                id=built.context_id,
                scope=scope,
                request=replace(request, history=()) if request.history else request,
                agent_name=agent_name,
                agent_names=_kept_names(scope, job.caller),
                policy=job.caller.policy,
                reply=dict(reply),
                tokens_before=built.tokens_before,
                first_at=now,
                at=now,
                elapsed_ms=elapsed_ms,
                last_elapsed_ms=elapsed_ms,
                cached=reply["cached"],
                request_id=reply.get("request_id", ""),
            )
            self._add(given)
            return
        if given.request.preview and not request.preview:  # a person looked at it before an agent got it
            given.request = replace(given.request, preview=False)
        given.times += 1
        given.at = self._system.now()
        given.last_elapsed_ms = elapsed_ms
        given.cached = reply["cached"]
        given.request_id = reply.get("request_id", given.request_id)
        self._given.move_to_end(given.id)
        self._last[scope.id] = given.id
        if given.has_text:
            self._with_text[scope.id].move_to_end(given.id)

    def _add(self, given: Given) -> None:
        scope_id = given.scope.id
        before = self._given.get(self._last.get(scope_id, ""))
        self._keep_text(given)
        if before is not None:
            given.previous = before.id
            given.is_same = before.has_text and before.reply["context"] == given.reply.get("context")
        self._given[given.id] = given
        self._last[scope_id] = given.id
        self._records_bytes += given.record_bytes
        texts = self._with_text.get(scope_id, ())
        while len(texts) > TEXTS_PER_SCOPE:
            self._forget_text(self._given[next(iter(texts))])
        self._make_room()

    def _keep_text(self, given: Given) -> None:
        """Count the texts of a reply, or drop them if they are too long to be stored."""
        texts = {name: given.reply[name] for name in TEXT_FIELDS if name in given.reply}
        if len(given.reply["context"]) > TEXT_CHARACTERS_MAX:
            for name in texts:
                del given.reply[name]
            given.has_text = False
            return
        given.text_bytes = _size_of(texts)
        self._texts_bytes += given.text_bytes
        self._with_text.setdefault(given.scope.id, OrderedDict())[given.id] = None

    def _forget_text(self, given: Given) -> None:
        for name in TEXT_FIELDS:
            given.reply.pop(name, None)
        self._texts_bytes -= given.text_bytes
        given.has_text = False
        texts = self._with_text[given.scope.id]
        del texts[given.id]
        if not texts:
            del self._with_text[given.scope.id]

    def _make_room(self) -> None:
        while len(self._given) > GIVEN_MAX:
            earlier = islice(self._given.values(), GIVEN_MAX)  # not the newest one
            bare = next((item for item in earlier if not item.has_text), None)
            self._forget(bare or next(iter(self._given.values())))
        while self.memory_bytes > MEMORY_MAX:
            with_text = next((given for given in self._given.values() if given.has_text), None)
            if with_text is not None:
                self._forget_text(with_text)
            else:
                self._forget(next(iter(self._given.values())))

    def _forget(self, given: Given) -> None:
        if given.has_text:
            self._forget_text(given)
        del self._given[given.id]
        self._records_bytes -= given.record_bytes
        if self._last.get(given.scope.id) == given.id:
            del self._last[given.scope.id]


def _size_of(value: Any) -> int:
    """Return the bytes of the texts in a value of maps, lists and texts."""
    if isinstance(value, str):
        return sys.getsizeof(value)
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return sum(map(_size_of, items))


def _kept_names(scope: Scope, caller: Caller) -> tuple[str, ...]:
    """Return the agent's names in its scope and session, which requests don't change."""
    of_session = caller.session.agent_name if caller.session is not None else ""
    return tuple(filter(None, (scope.agent_name, of_session)))
