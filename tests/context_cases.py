"""A context as GetBuiltContext gives it, made by hand where a test needs one of a certain shape."""

from __future__ import annotations

from typing import Any


def slice_map(identifier: str, tokens: int, layer: str = "focus", **fields: Any) -> dict[str, Any]:
    """Return a slice as GetContext lists it."""
    kind, _, path = identifier.partition(":")
    found = {
        "id": identifier,
        "type": kind,
        "layer": layer,
        "weight": 0.5,
        "tokens": tokens,
        "tokens_before": tokens,
        "compressed": False,
        "source": "asked for",
        **({"path": path.partition("#")[0]} if path else {}),
    }
    return {**found, **fields}


def context_map(slices: list[dict[str, Any]], context: str = "", **fields: Any) -> dict[str, Any]:
    """Return a context with these slices."""
    found = {
        "context_id": "c_1",
        "format": "markdown",
        "context": context,
        "tokens": sum(one["tokens"] for one in slices) + 10,
        "max_tokens": 8000,
        "reserve_tokens": 2000,
        "slices": slices,
    }
    return {**found, **fields}
