"""Describes a built context as it is stored: what was sent, what it was made of, and who may see it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct, convert, to_builtins
from msgspec.structs import asdict, replace

from ..core.times import iso_of
from ..privacy.policy import Policy
from ..privacy.secret_gate import gate_of, mask_said
from ..privacy.secret_values import mask_piece
from ..rules.service import key_of
from ..sessions.records import (
    TEXT_FIELDS,
    Access,
    ConsideredItem,
    ContextSummary,
    DeliveredContext,
    DroppedSlice,
    LeftOut,
    RecordedSlice,
    RequestRecord,
    Scope,
    Sent,
    SentMessage,
    ShownPlace,
    StoredContext,
    UsedItem,
)
from ..sessions.service import message_hash
from .built import Built
from .caller import ContextJob
from .requests import ContextRequest

PROMPT_CHARACTERS = 200
"""Maximum characters of a prompt's first line in a list."""

PLACE_TYPES = frozenset(
    ("focus", "expansion", "session_set", "document", "place", "compressed_segment", "dependency")
)
"""Types of slices that show or name places of the project; the others are rules, decisions, and the map."""


def described(
    job: ContextJob, built: Built, reply: Mapping[str, Any], at: int, elapsed_ms: float
) -> DeliveredContext:
    """Return a delivered context as it is stored, with its request if `reply` names one. `at` is in
    milliseconds since 1970. For threads: masking may take some milliseconds."""
    scope, request = job.scope, job.request
    prompt = mask_said(request.prompt).text
    said, masked = masked_sent(built.sent or Sent(built.reply["context"]))
    constraints = tuple(mask_piece(text).text for text in scope.constraints)
    inherited = tuple(mask_piece(text).text for text in scope.inherited)
    session = job.caller.session
    names = scope.agent_name, session.agent_name if session is not None else ""
    types, places = _shown(job, built, reply)
    return DeliveredContext(
        scope_id=scope.id,
        session_id=scope.session_id,
        project=scope.root,
        agent_name=job.agent_name,
        summary=_summary(request, built, reply, prompt, elapsed_ms),
        scope=to_builtins(replace(scope, constraints=constraints, inherited=inherited)),
        request=to_builtins(replace(request, prompt=prompt, history=())),
        reply={name: value for name, value in reply.items() if name not in TEXT_FIELDS},
        texts=tuple(name for name in TEXT_FIELDS if name in reply),
        sent=said,
        access=Access(scope.root, tuple(filter(None, names)), job.caller.policy),
        places=places,
        types=types,
        record=_record(job, built, reply, at, elapsed_ms, masked) if reply.get("request_id") else None,
    )


class PastContext(Struct, frozen=True):
    """A stored context with its scope and request as they were then."""

    scope: Scope
    request: ContextRequest
    reply: Mapping[str, Any]
    policy: Policy


def past_context(stored: StoredContext) -> PastContext:
    """Return a stored context with its scope and request."""
    scope, request = convert(stored.scope, Scope), convert(stored.request, ContextRequest)
    return PastContext(scope, request, stored.reply, stored.access.policy)


def masked_sent(sent: Sent) -> tuple[Sent, int]:
    """Return the stored form of what is sent, with secrets masked, and their number: of very long texts
    of the caller the two ends. Texts of the project are masked already, and stay whole."""
    gate = gate_of((sent.user_prompt, *(message.content for message in sent.history)))
    prompt = gate.of_said(sent.user_prompt)
    before, context, behind = sent.system_prompt.partition(sent.context or "\0")
    around = [gate.of_whole(text) for text in (before, behind)]  # a template may put the prompt there
    system = f"{around[0].text}{context}{around[1].text}"
    said = [gate.of_said(message.content) for message in sent.history]
    count = sum(text.count for text in (prompt, *around, *said))
    messages = zip(sent.history, said, strict=True)
    history = tuple(SentMessage(message.role, text.text) for message, text in messages)
    return replace(sent, user_prompt=prompt.text, system_prompt=system, history=history), count


def _summary(
    request: ContextRequest, built: Built, reply: Mapping[str, Any], prompt: str, elapsed_ms: float
) -> ContextSummary:
    first = prompt.lstrip().partition("\n")[0].rstrip()
    figures = {
        "prompt": first if len(first) <= PROMPT_CHARACTERS else f"{first[: PROMPT_CHARACTERS - 1]}…",
        "tokens_before": built.tokens_before,
        "elapsed_ms": elapsed_ms,
        **{name: len(reply.get(name, ())) for name in ("slices", "dropped", "gaps", "degraded")},
    }
    return convert({**asdict(request), **reply, **figures}, ContextSummary)


def _record(
    job: ContextJob, built: Built, reply: Mapping[str, Any], at: int, elapsed_ms: float, masked: int
) -> RequestRecord:
    return RequestRecord(
        reply["request_id"],
        job.scope.session_id,
        job.scope.root,
        iso_of(at),
        message_hash(job.request.prompt),
        job.agent_name,
        job.request.format,
        items=tuple(
            UsedItem(key_of(planned.item), planned.include, planned.score, planned.item.priority_level)
            for planned in built.items
        ),
        considered=tuple(
            ConsideredItem(
                key_of(left.item), left.score, cast("LeftOut", left.reason), left.item.priority_level
            )
            for left in built.left_out
        ),
        slices=convert(reply["slices"], tuple[RecordedSlice, ...]),
        dropped=convert(reply.get("dropped", ()), tuple[DroppedSlice, ...]),
        tokens=reply["tokens"],
        bytes=reply["bytes"],
        elapsed_ms=elapsed_ms,
        degraded=tuple(reply["degraded"]),
        masked=masked,
    )


def _shown(
    job: ContextJob, built: Built, reply: Mapping[str, Any]
) -> tuple[dict[str, tuple[int, int, int]], tuple[ShownPlace, ...]]:
    """Return the sums of each type of slice, and the files that the slices show."""
    context: str = reply.get("context", "")
    sizes = {shown.path: shown.stamp.size for shown in built.shown}
    types: dict[str, tuple[int, int, int]] = {}
    places: dict[str, ShownPlace] = {}
    for piece in reply["slices"]:
        kind, path = piece["type"], piece.get("path", "")
        start, end = piece.get("span", (0, 0))
        text = context[start:end]
        tokens, before, size = types.get(kind, (0, 0, 0))
        size += len(text.encode("utf-8", "replace"))
        types[kind] = tokens + piece["tokens"], before + piece["tokens_before"], size
        if not path:
            continue
        known = places.get(path, ShownPlace(path))
        if job.scope.session_id and kind in PLACE_TYPES:
            whole = sizes.get(os.path.normpath(os.path.join(job.scope.root, path)), 0)
            known = ShownPlace(path, known.type or kind, known.characters + len(text), whole)
        places[path] = known
    return types, tuple(places.values())
