"""Owns how the history of the metrics reads on a terminal: a curve and its numbers for each figure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from . import terminal
from .sparkline import sparkline
from .times import local_time

WIDTH = 56
"""Characters of a curve: with its name and numbers it fits into 100 columns."""

Value = Callable[[Mapping[str, Any]], float | None]

FIGURES: Sequence[tuple[str, Value, Callable[[float], str]]] = (
    ("requests", lambda one: one["requests"], lambda value: f"{value:,.0f}"),
    ("errors", lambda one: one["errors"], lambda value: f"{value:,.0f}"),
    ("contexts", lambda one: one["contexts"], lambda value: f"{value:,.0f}"),
    ("from what was kept", lambda one: _share(one["cached"], one["contexts"]), lambda value: f"{value:.0%}"),
    ("tokens", lambda one: one["tokens"], lambda value: f"{value:,.0f}"),
    ("context P50", lambda one: one["context_ms"]["p50"], lambda value: f"{value:,.2f} ms"),
    ("context P95", lambda one: one["context_ms"]["p95"], lambda value: f"{value:,.2f} ms"),
    ("all methods P95", lambda one: one["all_ms"]["p95"], lambda value: f"{value:,.2f} ms"),
    ("files to read", lambda one: one["files_pending"], lambda value: f"{value:,.0f}"),
    ("chunks to embed", lambda one: one["chunks_pending"], lambda value: f"{value:,.0f}"),
    ("memory", lambda one: _total(one["memory_bytes"]), lambda value: terminal.size(int(value))),
)
"""What is drawn: its name, its value in a sample, None for none, and how that is written."""


def describe_history(history: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines about the history in a reply to GetMetrics."""
    samples = history["samples"]
    if not samples:
        wait = terminal.duration(history["step_s"])
        yield f"nothing was sampled yet: the daemon started less than {wait} ago"
        return
    yield (
        f"from {local_time(samples[0]['at'])} to {local_time(samples[-1]['at'])}, a sample every"
        f" {terminal.duration(history['step_s'])}"
    )
    curves = [(name, [value_of(one) for one in samples], write) for name, value_of, write in FIGURES]
    drawn = min(len(samples), WIDTH)
    names = max(len(name) for name, _, _ in curves)
    yield terminal.styled(f"{'':<{names}}  {'':<{drawn}}  {'LAST':>10}  {'MOST':>10}", bold=True)
    for name, values, write in curves:
        last, most = values[-1], max((one for one in values if one is not None), default=None)
        numbers = "  ".join(f"{'' if one is None else write(one):>10}" for one in (last, most))
        yield f"{name:<{names}}  {sparkline(values, WIDTH)}  {numbers}".rstrip()
    yield from _by_agent(samples)


def _by_agent(samples: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the tokens of agents over the whole time, those with the most first."""
    totals: dict[str, int] = {}
    for one in samples:
        for name, tokens in one["tokens_by_agent"].items():
            totals[name] = totals.get(name, 0) + tokens
    for name, tokens in sorted(totals.items(), key=lambda one: (-one[1], one[0])):
        yield f"  {terminal.clean(name) or '(no name)'}: {terminal.count(tokens, 'token')}"


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _total(amounts: Mapping[str, int | None]) -> float:
    return sum(one for one in amounts.values() if one is not None)
