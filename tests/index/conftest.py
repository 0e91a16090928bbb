"""A project with its index, for each test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.indexer_cases import Bench, open_bench


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    with open_bench(tmp_path, monkeypatch) as opened:
        yield opened
