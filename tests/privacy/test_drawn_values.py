"""Secrets without a name beside them are found by their line, their column or their INSERT, and code isn't."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from foveal.daemon.privacy import drawn_values
from foveal.daemon.privacy.secret_values import mask_secrets

WORD = "q7#Vx2m!Lz4t"

LINES = {
    f'driver("10.0.0.1", "admin", "{WORD}")': True,
    f"login with anna and {WORD}": True,
    f"the wrong password, I typed {WORD} there": True,
    f'driver("10.0.0.1", "{WORD}")': False,  # nothing says what it is
    "if (login) { return q7*Vx2mLz4t; }": False,
    "login?next=/a%2FB%2Fc1": False,
    'user = "anna@Mail4Example.org"': False,
    'integrity="sha512-q7Vx2mLz4tq7Vx2mLz4tq7Vx2mLz4t" of oauth': False,
}


@pytest.mark.parametrize("line", LINES)
def test_a_drawn_value_is_masked_on_a_line_that_speaks_of_a_login(line: str) -> None:
    assert bool(mask_secrets(line).count) is LINES[line]


def test_each_row_below_a_header_is_masked_up_to_the_end_of_the_table() -> None:
    text = f'"user";"passwort"\n"anna";"{WORD}"\n"bert";"Falcon7061!"\n\n"carl";"Winter2041"\n'
    masked = text.replace(WORD, "[masked]").replace("Falcon7061!", "[masked]")
    assert mask_secrets(text).text == masked


def test_words_of_a_column_stay() -> None:
    text = "| option | password | default |\n|---|---|---|\n| user | required | none |\n"
    assert mask_secrets(text).text == text


def test_the_right_column_of_an_insert_is_masked_in_each_row() -> None:
    text = "INSERT INTO t (id, login, password) VALUES (1, 'it''s', 'a1b2c3d4'), (2, 'x1', 'e5f6g7h8');"
    assert mask_secrets(text).text == text.replace("a1b2c3d4", "[masked]").replace("e5f6g7h8", "[masked]")


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


def test_each_part_of_a_long_line_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = list[int]()

    def counted(text: str, start: int, end: int, cue: int) -> Iterator[tuple[int, int]]:
        parts.append(end - start)
        yield from on_line(text, start, end, cue)

    on_line = drawn_values._on_line
    monkeypatch.setattr(drawn_values, "_on_line", counted)
    text = "login Ab1$ " * 2_000
    assert mask_secrets(text).text == text
    assert len(text) < sum(parts) < 5 * len(text)
