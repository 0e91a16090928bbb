"""The data of events, marked as replies are, and their filter for a subscriber that names its agent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from ..access.records import Agent
from ..access.service import Permissions
from ..core.events import Sink, Topic
from .marks import Count, Plain, Root, Said, Text, shape_of
from .reply_filter import ReplyFilter


class EventData(Struct, frozen=True, kw_only=True):
    """What events about a project have in common."""

    project: Root[str | UnsetType] = UNSET


class ScopeEvent(EventData, frozen=True, kw_only=True):
    scope_id: Plain[str]
    evicted: bool | UnsetType = UNSET


class SessionEventData(EventData, frozen=True, kw_only=True):
    session_id: Text[str]


class ContextSetsEvent(SessionEventData, frozen=True, kw_only=True):
    context: Said[dict[str, list[str]]]
    files: Said[list[str]]
    applet: Said[dict[str, object] | None]
    added: Said[dict[str, list[str]]]
    removed: Said[dict[str, list[str]]]
    missing_files: Said[list[str] | UnsetType] = UNSET


class ContextBuiltEvent(SessionEventData, frozen=True, kw_only=True):
    context_id: Plain[str]
    scope_id: Plain[str]
    agent_name: Text[str]
    task_type: Said[str]
    tokens: Count[int]
    tokens_before: Count[int]
    slices: Count[dict[str, int]]
    cached: bool
    elapsed_ms: Count[float]


class IndexProgressEvent(EventData, frozen=True, kw_only=True):
    """Progress of the index or of embedding; `model` is the embedding model's, of no project."""

    state: Plain[str | UnsetType] = UNSET
    watch: Plain[str | UnsetType] = UNSET
    files: Count[int | UnsetType] = UNSET
    files_pending: Count[int | UnsetType] = UNSET
    files_unlinked: Count[int | UnsetType] = UNSET
    degraded: Text[list[str] | UnsetType] = UNSET
    embedded: Count[int | UnsetType] = UNSET
    pending: Count[int | UnsetType] = UNSET
    chunks_per_second: Count[float | UnsetType] = UNSET
    eta_ms: Count[int | UnsetType | None] = UNSET
    model: Plain[dict[str, object] | UnsetType] = UNSET


class ProjectChangedEvent(EventData, frozen=True, kw_only=True):
    clock: Plain[str | UnsetType] = UNSET
    resync: bool | UnsetType = UNSET
    count: Count[int | UnsetType] = UNSET
    paths: Text[list[str] | UnsetType] = UNSET
    removed: Text[list[str] | UnsetType] = UNSET
    closed: bool | UnsetType = UNSET


class ExperienceEvent(EventData, frozen=True, kw_only=True):
    experience_ids: Plain[list[str]]
    grafted: Plain[int | UnsetType] = UNSET
    change: Plain[str | UnsetType] = UNSET
    count: Plain[int | UnsetType] = UNSET


EVENTS: Mapping[Topic, type[EventData]] = {
    "context.changed": ContextSetsEvent,
    "context.resumed": ContextSetsEvent,
    "session.changed": SessionEventData,
    "items.changed": EventData,
    "scope.created": ScopeEvent,
    "scope.changed": ScopeEvent,
    "scope.released": ScopeEvent,
    "context.built": ContextBuiltEvent,
    "index.progress": IndexProgressEvent,
    "project.changed": ProjectChangedEvent,
    "experience.grafted": ExperienceEvent,
    "experience.changed": ExperienceEvent,
}

SHAPES = {topic: shape_of(kind) for topic, kind in EVENTS.items()}


def filtered(sink: Sink, agent: Agent, permissions: Permissions) -> Sink:
    """Return a sink for what an agent may see of events, by the rules of their projects as last read.

    An event of a project that isn't open, or whose rules are about to be read again, is left out.
    """

    def publish(event: dict[str, Any]) -> None:
        root = event["data"].get("project")
        if root is None:
            sink(event)
        elif (view := permissions.view_now(root, agent)) is not None:
            shows = ReplyFilter(view.policy, root, sees_all_of=view.sees_all_of, masks=False)
            data = shows.reply(SHAPES[event["topic"]], event["data"])
            if data is not None:
                sink({**event, "data": data})

    return publish
