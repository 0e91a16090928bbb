"""The status in words: what is wrong stands below the table, what was left out on demand."""

from __future__ import annotations

from typing import Any

import pytest
from foveal.cli.status import describe

PROJECT: dict[str, Any] = {
    "root": "/p/shop",
    "state": "ready",
    "files": 6869,
    "symbols": 43662,
    "embedding": "done",
    "embedded": 9_000,
    "pending": 0,
    "chunks": 9_100,
    "chunks_per_second": 0.0,
    "eta_ms": None,
    "files_pending": 0,
    "watch": "native",
    "degraded": [],
    "skipped": {},
    "index_bytes": 19_000_000,
}
REPLY: dict[str, Any] = {
    "version": "0.1.0",
    "pid": 7,
    "uptime_s": 3725.5,
    "rss_bytes": 52_000_000,
    "scopes": 1,
    "scopes_bytes": 950,
    "embedder": None,
    "compressor": None,
    "degraded": [],
    "projects": [],
}
EMBEDDER: dict[str, Any] = {
    "model": "all-MiniLM-L6-v2",
    "dim": 384,
    "source": "bundled",
    "loaded": False,
    "paused": False,
    "pid": None,
    "degraded": "",
}


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("HOME", "/home/me")


def text(changes: dict[str, Any], *, skipped: bool = False) -> str:
    return "\n".join(describe({**REPLY, **changes}, "/run/foveal.sock", skipped=skipped))


def test_what_is_sent_somewhere_is_told() -> None:
    compressor = {"model": "small", "endpoint": "http://127.0.0.1:1/v1", "calls": 3, "failures": 1}
    told = text({"compressor": {**compressor, "last_problem": "it timed out"}}).splitlines()[3]
    assert told == (
        "documents are sent to small at http://127.0.0.1:1/v1 to be shortened, 3 questions,"
        " 1 failure, the last: it timed out"
    )


def test_what_embeds() -> None:
    def check(changes: dict[str, Any], expected: str) -> None:
        assert text({"embedder": {**EMBEDDER, **changes}}).splitlines()[2] == expected

    check({}, "model all-MiniLM-L6-v2, 384 dimensions, not loaded")
    check({"dim": None, "model": "x/y\x1b"}, "model x/y\\x1b, not loaded")
    check(
        {"loaded": True, "pid": 9, "paused": True},
        "model all-MiniLM-L6-v2, 384 dimensions, loaded (pid 9), paused; to continue, run: foveal embed --resume",
    )


def test_how_far_the_embedding_is() -> None:
    running = {"embedding": "running", "embedded": 384, "pending": 2_958}
    project = {**PROJECT, **running, "chunks_per_second": 58.3, "eta_ms": 50_740, "degraded": ["slow"]}
    *_, row, told, reason = text({"projects": [project]}).splitlines()
    assert row.split()[5] == "11%"
    assert told == "/p/shop: 384 of 3,342 chunks are embedded, 58/s, about 50 s left"
    assert reason == "! /p/shop: slow"
    assert text({"projects": [{**project, "eta_ms": None}]}).splitlines()[-2].endswith("chunks are embedded")


def test_reasons_stand_in_words_below() -> None:
    project = {**PROJECT, "degraded": ["watches ran out\x1b[2J"]}
    found = text({"degraded": ["config: unknown key"], "projects": [project]})
    assert "(embedding.enabled)\n! config: unknown key\n" in found
    assert found.endswith("\n! /p/shop: watches ran out\\x1b[2J")


def test_what_was_left_out() -> None:
    skipped = {"binary": 12, "too_large": 1, "folder:vendored": 1, "a_newer_reason": 2}
    found = text({"projects": [{**PROJECT, "skipped": skipped}]}, skipped=True)
    assert found.endswith(
        "\n\n/p/shop: left out:\n"
        "  2 files: a newer reason\n"
        "  12 files: binary\n"
        "  1 folder: vendored\n"
        "  1 file: too large"
    )
    assert "binary" not in text({"projects": [{**PROJECT, "skipped": skipped}]})
    assert text({"projects": [PROJECT]}, skipped=True).endswith(": nothing is left out")


def embedding(state: str, embedded: int = 0, pending: int = 0, **more: Any) -> dict[str, Any]:
    known = {"chunks": 2_000, "chunks_per_second": 0.0, "eta_ms": None}
    return {**known, "embedding": state, "embedded": embedded, "pending": pending, **more}


def test_linked_projects_are_named() -> None:
    linked = [
        {"name": "api", "path": "../api", "state": "ready"},
        {"name": "ui", "path": "../ui", "state": "closed"},
    ]
    shown = text({"projects": [{**PROJECT, "linked": linked}]})
    assert (
        "/p/shop links ../api (ready), ../ui (closed); a closed one is opened by the first question" in shown
    )
    assert "links" not in text({"projects": [PROJECT]})
