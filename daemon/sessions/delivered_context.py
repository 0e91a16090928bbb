"""A delivered context: what its builder hands down, and what is read of it later."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from ..privacy.policy import Policy
from .request_record import RequestRecord, Sent


def new_context_id() -> str:
    """Return a new random id of 64 bits."""
    return f"c_{secrets.token_hex(8)}"


class Access(Struct, frozen=True):
    """What decides who may see a context: its project, the names of its agent in scope and session, and the
    policy that it was built under."""

    project: str
    agent_names: tuple[str, ...]
    policy: Policy


class ContextSummary(Struct, frozen=True, kw_only=True):
    """What a list says of a context and no later delivery changes.

    `slices`, `dropped`, `gaps` and `degraded` are counts; `prompt` is its first line.
    """

    prompt: str
    task_type: str
    format: str
    model: str
    tokens: int
    tokens_before: int
    bytes: int
    max_tokens: int
    reserve_tokens: int
    max_bytes: int
    elapsed_ms: float
    partial: bool
    truncated: bool
    layers: dict[str, int]
    slices: int
    dropped: int
    gaps: int
    degraded: int


class ShownPlace(Struct, frozen=True):
    """A file in a context: the type of its slice, the characters shown of it, and its size in bytes, 0 if
    unknown. The type is "" if nothing tells whether an agent uses it."""

    path: str
    type: str = ""
    characters: int = 0
    size: int = 0


class DeliveredContext(Struct, frozen=True, kw_only=True):
    """A context as it is stored, with the secrets in its texts masked.

    `scope`, `request` and `reply` are plain values; `texts` names the fields of the reply that `sent` has.
    `types` has by type of slice: tokens, tokens before compression, bytes. `record` is that of the request
    with which the context was delivered, None without one.
    """

    scope_id: str
    session_id: str
    project: str
    agent_name: str
    summary: ContextSummary
    scope: Mapping[str, Any]
    request: Mapping[str, Any]
    reply: Mapping[str, Any]
    texts: tuple[str, ...]
    sent: Sent
    access: Access
    places: tuple[ShownPlace, ...] = ()
    types: Mapping[str, tuple[int, int, int]] = {}
    record: RequestRecord | None = None


class Delivery(Struct):
    """Says that a context was delivered `times` times, last at `at`, in milliseconds since 1970.

    `describe` returns it as it is stored; it may take milliseconds, and runs in the thread that writes.
    """

    context_id: str
    at: int
    elapsed_ms: float
    cached: bool
    preview: bool
    request_id: str
    describe: Callable[[], DeliveredContext]
    times: int = 1


class ContextRow(ContextSummary, frozen=True, kw_only=True):
    """A delivered context in a list. Times are in milliseconds since 1970.

    `previous` is the id of the scope's preceding context, and `same_as` the same if that has the same text;
    each is "" if there is none or it isn't kept.
    """

    id: str
    scope_id: str
    session_id: str
    project: str
    agent_name: str
    request_id: str
    first_at: int
    at: int
    times: int
    last_elapsed_ms: float
    cached: bool
    preview: bool
    previous: str
    same_as: str
    text_kept: bool
    access: int
    """The id of who may see it."""


class StoredContext(Struct, frozen=True):
    """A context that was delivered earlier, as plain values: its row, scope, request and reply as they were
    then. What the caller wrote is masked; `reply` has the texts if they are kept."""

    row: ContextRow
    scope: Mapping[str, Any]
    request: Mapping[str, Any]
    reply: Mapping[str, Any]
    access: Access


class ContextFilter(Struct, frozen=True):
    """The contexts of a list; None for any. `since` and `until` are times, the second exclusive.

    `scope_ids` takes the latest one of each of these scopes, and the latest that answered a prompt of a
    session; `given` takes only what wasn't a preview.
    """

    project: str | None = None
    scope_id: str | None = None
    session_id: str | None = None
    agent_name: str | None = None
    path: str | None = None
    since: int | None = None
    until: int | None = None
    scope_ids: tuple[str, ...] | None = None
    given: bool = False
