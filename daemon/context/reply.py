"""Owns the reply that a context is answered with: the text, and the record of what it was made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import render
from .budget import Selection
from .requests import ContextRequest
from .slices import Slice, count_tokens

GAPS_MAX = 20
"""So many gaps are named; the last one counts the rest."""

DROPPED_MAX = 5
"""So many slices are named for which there was no room."""


def reply_of(
    project: str,
    scope_id: str,
    request: ContextRequest,
    selection: Selection,
    context: str,
    gaps: Sequence[str],
    degraded: Sequence[str],
) -> dict[str, Any]:
    """Return what GetContext answers, but for what differs from call to call."""
    layers = {"anchor": 0, "focus": 0, "horizon": 0}
    for one, form in selection.chosen:
        layers[one.layer] += form.tokens
    reply: dict[str, Any] = {
        "scope_id": scope_id,
        "context": context,
        "tokens": count_tokens(context),
        "bytes": len(context.encode("utf-8", "replace")),
        "truncated": bool(selection.dropped) or any(form.compressed for _, form in selection.chosen),
        "gaps": _capped([*gaps, *_no_room(selection.dropped)]),
        "degraded": list(degraded),
        "layers": layers,
        "slices": [render.slice_summary(one, form) for one, form in selection.chosen],
        "items": [
            {"type": "rule", "name": one.path, "include_mode": one.source.rpartition(", ")[2]}
            for one, _ in selection.chosen
            if one.type == "rule"
        ],
    }
    if request.format in {"prompts", "messages"}:
        reply["system_prompt"], reply["user_prompt"] = render.prompts(project, request, context)
    if request.format == "messages":
        reply["messages"] = render.messages(project, request, context)
    return reply


def _no_room(dropped: Sequence[Slice]) -> list[str]:
    if not dropped:
        return []
    named = ", ".join(one.path or one.id for one in dropped[:DROPPED_MAX])
    more = f" and {len(dropped) - DROPPED_MAX:,} more" if len(dropped) > DROPPED_MAX else ""
    return [f"no room in the budget for {named}{more}: ask with a larger max_tokens"]


def _capped(gaps: Sequence[str]) -> list[str]:
    unique = list(dict.fromkeys(gaps))
    if len(unique) <= GAPS_MAX:
        return unique
    return [*unique[: GAPS_MAX - 1], f"{len(unique) - GAPS_MAX + 1:,} more gaps"]
