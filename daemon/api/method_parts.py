"""Owns what the methods have in common: their form, and how fresh, until when and about which nodes."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any, cast

from ..context.requests import Freshness
from ..core.parameters import Parameters
from ..project.roots import relative_path

Answer = dict[str, Any] | Awaitable[dict[str, Any]]
"""A plain map: at once where nothing has to be waited for, else by an awaitable."""

Method = Callable[[Parameters], Answer]

DEADLINE_MAX_MS = 600_000
FRESHNESS = ("shown", "tree", "no")


def freshness_in(parameters: Parameters) -> Freshness:
    """Return how fresh the answer must be. Raises `InvalidRequest`."""
    return cast("Freshness", parameters.choice("fresh", "shown", FRESHNESS))


def deadline_in(parameters: Parameters) -> int | None:
    """Return after how many milliseconds the answer is of no use any more. Raises `InvalidRequest`."""
    return parameters.integer("deadline_ms", None, 0, DEADLINE_MAX_MS)


def node_id_in(root: str, given: str, field: str) -> str:
    """Return a focus path or node id with its path relative to the root; globs are left as they are.

    Raises `InvalidRequest` or `PermissionDenied`.
    """
    path, mark, symbol = given.partition("#")
    if path in {"", ".", "./"} and not mark:
        return "."
    return (relative_path(root, path, field) or ("" if mark else ".")) + mark + symbol


def timed(reply: dict[str, Any], started: float) -> dict[str, Any]:
    """Return a reply with the milliseconds since `started`, a time of `perf_counter`."""
    reply["elapsed_ms"] = round((time.perf_counter() - started) * 1000, 3)
    return reply
