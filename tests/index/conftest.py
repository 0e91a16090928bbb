"""A project with its index, for each test that asks for one, and what was parsed for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from foveal.daemon.index import reading
from foveal.daemon.languages.shared.parse import parse_source
from foveal.daemon.languages.shared.records import ParsedFile

from tests.indexer_cases import Bench, open_bench


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    with open_bench(tmp_path, monkeypatch) as opened:
        yield opened


@pytest.fixture
def parses(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Return the contents that were parsed."""
    parsed: list[bytes] = []
    real = parse_source

    def parse(data: bytes, language: str, path: str) -> ParsedFile:
        parsed.append(data)
        return real(data, language, path)

    monkeypatch.setattr(reading, "parse_source", parse)
    return parsed
