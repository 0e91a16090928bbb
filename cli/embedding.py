"""How far a project's index of meaning is, in words: for status, for waiting, and for `foveal embed`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .text import count, duration

UNFINISHED = frozenset({"waiting", "running"})
"""States of the embedding in which it still makes progress."""


def in_a_cell(project: Mapping[str, Any]) -> str:
    """Return how far it is in a word or two: `done`, `52%`, `paused 52%`, `off`; `starting` while it isn't
    known."""
    state, total = project["embedding"], project["embedded"] + project["pending"]
    percent = f"{project['embedded'] * 100 // total}%" if total else ""
    if state == "running":
        return percent
    if state == "waiting":
        return "starting"
    return f"{state} {percent}" if state == "paused" and percent else str(state)


def rate(project: Mapping[str, Any]) -> str:
    """Return its rate and an estimate, such as `110/s, about 14 s left`; nothing while they are unknown."""
    if not project["eta_ms"]:
        return ""
    left = duration(max(project["eta_ms"] / 1000, 1))
    return f"{project['chunks_per_second']:,.0f}/s, about {left} left"


def how_far(project: Mapping[str, Any]) -> str:
    """Return how far it is as a sentence: `384 of 3,342 chunks are embedded`."""
    if project["embedding"] == "waiting":
        total = count(project["chunks"], "chunk")
        return f"the embedder is starting: how much of {total} is embedded isn't known yet"
    if project["embedding"] == "off":
        return "embedding is switched off"
    total = count(project["embedded"] + project["pending"], "chunk")
    return f"{project['embedded']:,} of {total} are embedded"


def other_reasons(project: Mapping[str, Any]) -> list[str]:
    """Return why a project is degraded, except for unfinished embedding, which is shown elsewhere."""
    return [reason for reason in project["degraded"] if reason != project.get("unfinished")]
