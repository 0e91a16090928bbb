"""How far an embedding is, in words: for a cell of a table, a sentence, and a rate with its estimate."""

from __future__ import annotations

from typing import Any

import pytest
from foveal.cli.embedding import how_far, in_a_cell, rate


def project(state: str, embedded: int = 0, pending: int = 0, **more: Any) -> dict[str, Any]:
    known = {"chunks": 2_000, "chunks_per_second": 0.0, "eta_ms": None}
    return {**known, "embedding": state, "embedded": embedded, "pending": pending, **more}


@pytest.mark.parametrize(
    ("given", "cell", "sentence"),
    [
        (project("off"), "off", "embedding is switched off"),
        (
            project("waiting"),
            "starting",
            "the embedder is starting: how much of 2,000 chunks is embedded isn't known yet",
        ),
        (project("running", 1_999, 1), "99%", "1,999 of 2,000 chunks are embedded"),
        (project("paused", 500, 500), "paused 50%", "500 of 1,000 chunks are embedded"),
        (project("paused"), "paused", "0 of 0 chunks are embedded"),
        (project("failed", 0, 1), "failed", "0 of 1 chunk are embedded"),
        (project("done", 1_000), "done", "1,000 of 1,000 chunks are embedded"),
    ],
)
def test_words(given: dict[str, Any], cell: str, sentence: str) -> None:
    assert (in_a_cell(given), how_far(given)) == (cell, sentence)


def test_rate() -> None:
    def check(per_second: float, eta_ms: int | None, expected: str) -> None:
        assert rate(project("running", chunks_per_second=per_second, eta_ms=eta_ms)) == expected

    check(0.0, None, "")
    check(110.4, 14_200, "110/s, about 14 s left")
    check(90.0, 300, "90/s, about 1 s left")
    check(1_200.0, 125_000, "1,200/s, about 2 min 5 s left")
