"""The replies that show a context: their types say what each field shows.

GetContext and GetBuiltContext answer with maps: a cached answer is packed from the bytes of the one before.
"""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

from .marks import Count, File, Owner, Plain, Root, Said, Sent, SliceId, Text
from .method import ItemName


class ShownItem(ItemName, frozen=True, kw_only=True):
    """An item in a context, or one that is missing for want of room."""

    include_mode: Plain[str]
    similarity_score: Plain[int | float | UnsetType] = UNSET
    dropped: bool | UnsetType = UNSET


class RecordedItem(ShownItem, frozen=True, kw_only=True):
    """An item of a recorded request, with the priority that it had; older records have none."""

    priority_level: Plain[int | UnsetType] = UNSET


class ConsideredItemReply(ItemName, frozen=True, kw_only=True):
    """An item that a search considered and left."""

    similarity_score: Plain[int | float]
    reason: Plain[str]
    priority_level: Plain[int | UnsetType] = UNSET


class ShownSlice(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A slice in a context. `source` says why it is there, and may quote the prompt."""

    id: SliceId[str]
    type: Plain[str]
    layer: Plain[str]
    weight: Plain[int | float]
    tokens: Plain[int]
    compressed: bool
    source: Said[str]
    tokens_before: Plain[int | UnsetType] = UNSET
    start_line: Plain[int | UnsetType] = UNSET
    end_line: Plain[int | UnsetType] = UNSET
    path: File[str | UnsetType] = UNSET
    score: Plain[int | float | UnsetType] = UNSET
    span: Plain[list[int] | UnsetType] = UNSET


class DroppedSliceReply(Struct, frozen=True, forbid_unknown_fields=True):
    """A slice that was left out."""

    id: SliceId[str]
    type: Plain[str]
    weight: Plain[int | float]
    reason: Plain[str]


class SentFields(Struct, frozen=True, kw_only=True):
    """The texts that were sent."""

    context: Sent[str | UnsetType] = UNSET
    system_prompt: Sent[str | UnsetType] = UNSET
    user_prompt: Sent[str | UnsetType] = UNSET
    messages: Sent[list[dict[str, str]] | UnsetType] = UNSET
    tools: Sent[dict[str, list[dict[str, object]]] | UnsetType] = UNSET


class ContextFigures(SentFields, frozen=True, kw_only=True):
    """What replies about a context have; those of a list have no texts and items."""

    context_id: Plain[str]
    scope_id: Plain[str]
    request_id: Plain[str | UnsetType] = UNSET
    tokens: Count[int]
    bytes: Count[int]
    layers: Count[dict[str, int]]
    cached: bool
    partial: bool
    truncated: bool
    elapsed_ms: Plain[float]
    items: list[ShownItem] | UnsetType = UNSET
    clock: Plain[str | UnsetType] = UNSET
    masked: Count[int | UnsetType] = UNSET
    resident_tokens: Count[int | UnsetType] = UNSET
    saved_tokens: Count[int | UnsetType] = UNSET


class ContextFields(ContextFigures, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the reply to GetContext has."""

    slices: list[ShownSlice]
    dropped: list[DroppedSliceReply] | UnsetType = UNSET
    gaps: Text[list[str]]
    degraded: Text[list[str]]


class DeliveryFields(ContextFigures, frozen=True, kw_only=True):
    """What is told of a delivered context, in a list and alone."""

    project: Root[str]
    at: Plain[str]
    first_at: Plain[str]
    times: Count[int]
    agent_name: Owner[str]
    session_id: Text[str]
    prompt: Said[str]
    task_type: Said[str]
    format: Plain[str]
    model: Said[str]
    tokens_before: Count[int]
    max_tokens: Plain[int]
    reserve_tokens: Plain[int]
    max_bytes: Plain[int]
    last_elapsed_ms: Plain[float]
    text_kept: bool
    preview: bool | UnsetType = UNSET
    previous: Plain[str | UnsetType] = UNSET
    same_as: Plain[str | UnsetType] = UNSET


class DeliveredContextReply(DeliveryFields, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A context as it was given, with what became of it."""

    slices: list[ShownSlice]
    dropped: list[DroppedSliceReply]
    gaps: Text[list[str]]
    degraded: Text[list[str]]
    focus_paths: Text[list[str]]
    expanded: Text[list[str]]
    constraints: Said[list[str]]
    used: list[UsedPlaceReply]
    verdict: Text[str]
    limit: Plain[str]
    near: list[NearMissReply]
    problem: Text[str]


class NearMissReply(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that was considered and isn't shown."""

    kind: Plain[str]
    path: File[str]
    line: Plain[int]
    symbol: Text[str]
    score: Plain[float | None]
    reason: Said[str]
    node_id: File[str]
    name: Text[str | UnsetType] = UNSET
    found_by: Said[str | UnsetType] = UNSET


class UsedPlaceReply(Struct, frozen=True):
    """A file of a context that was of use."""

    path: File[str]
    how: Plain[str]
    at: Plain[str]
