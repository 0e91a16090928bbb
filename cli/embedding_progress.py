"""Owns how far the embedding of a project is, in words, from what Status says of it."""

from __future__ import annotations

from typing import Any

from . import terminal

UNFINISHED = frozenset({"waiting", "running"})
"""States of the embedding that end by themselves."""


_INCOMPLETE = "not all is found by meaning yet"


def other_reasons(project: dict[str, Any]) -> list[str]:
    """Return why a project is degraded, but for how far its embedding is, which is told in other words."""
    return [reason for reason in project["degraded"] if not reason.startswith(_INCOMPLETE)]


def in_a_cell(project: dict[str, Any]) -> str:
    """Return how far it is in a word or two: `done`, `52%`, `paused 52%`, `off`."""
    state, total = project["embedding"], project["embedded"] + project["pending"]
    percent = f"{project['embedded'] * 100 // total}%" if total else ""
    if state == "running":
        return percent
    return f"{state} {percent}" if state == "paused" and percent else str(state)


def rate(project: dict[str, Any]) -> str:
    """Return its rate and an estimate, such as `110/s, about 14 s left`; nothing while they are unknown."""
    if not project["eta_ms"]:
        return ""
    left = terminal.duration(max(project["eta_ms"] / 1000, 1))
    return f"{project['chunks_per_second']:,.0f}/s, about {left} left"


def how_far(project: dict[str, Any]) -> str:
    """Return how far it is as a sentence: `384 of 3,342 chunks are embedded`."""
    if project["embedding"] == "waiting":
        return f"{terminal.count(project['chunks'], 'chunk')} wait to be embedded"
    total = terminal.count(project["embedded"] + project["pending"], "chunk")
    return f"{project['embedded']:,} of {total} are embedded"
