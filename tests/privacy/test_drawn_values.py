"""Secrets without a name beside them are found by their line, their column or their INSERT, and code isn't."""

from __future__ import annotations

import pytest
from foveal.daemon.privacy import drawn_values
from foveal.daemon.privacy.secret_values import mask_secrets


def test_words_of_a_column_stay() -> None:
    text = "| option | password | default |\n|---|---|---|\n| user | required | none |\n"
    assert mask_secrets(text).text == text


def test_each_row_is_looked_at_once_though_it_could_be_a_header(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = list[str]()

    def counted(line: str, start: int, mark: str) -> list[tuple[int, int]]:
        rows.append(line)
        return cells(line, start, mark)

    cells = drawn_values._cells
    monkeypatch.setattr(drawn_values, "_cells", counted)
    text = "password,secret\n" * 3_000
    assert mask_secrets(text).text == text
    assert 3_000 < len(rows) < 10_000
