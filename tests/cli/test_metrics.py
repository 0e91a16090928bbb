"""Metrics as curves: each figure's line with its numbers, and how values become bars."""

from __future__ import annotations

from typing import Any

from foveal.cli.metrics import FIGURES, describe_history


def sample(minute: int, **fields: Any) -> dict[str, Any]:
    nothing = {"p50": None, "p95": None, "p99": None}
    return {
        "at": f"2026-01-31T12:{minute:02}:00.000Z",
        "requests": 0,
        "errors": 0,
        "contexts": 0,
        "cached": 0,
        "tokens": 0,
        "tokens_by_agent": {},
        "context_ms": nothing,
        "all_ms": nothing,
        "files_pending": 0,
        "chunks_pending": 0,
        "memory_bytes": {"daemon": 50_000_000, "indexer": 40_000_000, "embedder": None},
    } | fields


def lines_of(*samples: dict[str, Any], step_s: float = 10.0) -> list[str]:
    return list(describe_history({"period": "hour", "step_s": step_s, "samples": list(samples)}))


def test_each_figure_has_a_line_with_its_numbers() -> None:
    busy = sample(
        1,
        requests=40,
        contexts=4,
        cached=3,
        tokens=12_000,
        context_ms={"p50": 0.2, "p95": 12.5, "p99": 20.0},
        tokens_by_agent={"": 2_000, "sam": 10_000},
    )
    quiet = sample(2, requests=20, tokens=1, tokens_by_agent={"kim\n": 1})
    lines = {line[:15].strip(): line for line in lines_of(busy, quiet)}
    assert lines["requests"].split()[1:] == ["█▅", "20", "40"]
    assert lines["from the cache"].split()[-2:] == ["█", "75%"]
    assert lines["context P95"].split()[-2:] == ["12.50", "ms"]
    assert lines["memory"].split()[-4:] == ["90", "MB", "90", "MB"]
    assert [line.strip() for line in lines_of(busy, quiet)[-3:]] == [
        "sam: 10,000 tokens",
        "(no name): 2,000 tokens",
        "kim\\n: 1 token",
    ]
    assert len(lines_of(busy)) == 2 + len(FIGURES) + 2
