"""Owns the summary: what a list of sessions says of one, small enough to be kept for thousands of them."""

from __future__ import annotations

from msgspec import Struct

from .sessions import Session


class SessionSummary(Struct, frozen=True):
    """A session without its content; `items` and `context_items` count it. Times as in a `Session`."""

    id: str
    project_root: str
    name: str
    agent_name: str
    created: str
    last_observed: str
    last_idle: str
    ended: str
    current_intent: str
    items: int
    context_items: int
    revision: int
    active: str
    """When something was last heard of it."""


def summary_of(session: Session) -> SessionSummary:
    """Return the summary of a session."""
    return SessionSummary(
        session.id,
        session.project_root,
        session.name,
        session.agent_name,
        session.created,
        session.last_observed,
        session.last_idle,
        session.ended,
        session.current_intent,
        len(session.items),
        sum(len(entries) for entries in session.context.values()),
        session.revision,
        session.active,
    )
