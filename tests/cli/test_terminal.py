"""What people see: units, tables, colours only where they belong, nothing that steers a terminal."""

from __future__ import annotations

import io
from typing import Any

import pytest
from foveal.cli import terminal, text
from foveal.cli.table import Column, number, path, table, words

from tests.command_cases import Terminal


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        *((text.size(amount), written) for amount, written in (
            (0, "0 B"), (999, "999 B"), (1_000, "1.0 kB"), (9_940, "9.9 kB"), (9_960, "10 kB"),
            (999_499, "999 kB"), (999_999, "1.0 MB"), (19_000_000_000, "19 GB"), (19 * 10**14, "1,900 TB"),
        )),
        *((text.duration(seconds), written) for seconds, written in (
            (0.4, "0 s"), (59.9, "59 s"), (60, "1 min"), (125, "2 min 5 s"), (3_659, "1 h"),
            (11_400, "3 h 10 min"), (187_260, "2 d 4 h"),
        )),
        *((text.count(amount, "file"), written) for amount, written in (
            (0, "0 files"), (1, "1 file"), (6_869, "6,869 files"),
        )),
        (text.lines_of(3, 8), "3-8"),
        (text.lines_of(3, 3), "3"),
        (text.shortened("a\n  b", 3), "a b"),
        (text.shortened("abcdef", 4), "abc…"),
        *((text.end_of_path("/home/me/shop", most), written) for most, written in (
            (13, "/home/me/shop"), (12, "…/me/shop"), (8, "…/shop"),
        )),
        (text.end_of_path("/home/me/ashop", 6), "…ashop"),
        *((text.clean(given), written) for given, written in (
            ("plain ünïcode ✓", "plain ünïcode ✓"), ("\x1b[31mred", "\\x1b[31mred"),
            ("two\nlines\tand\r", "two\\nlines\\tand\\r"), ("\x9d0;x\x07", "\\x9d0;x\\x07"),
            ("abc\u202egnp.exe", "abc\\u202egnp.exe"),
        )),
        (text.clean_lines("a\tb\nc\r\nd"), "a\tb\nc\r\nd"),
        (text.clean_lines("over\rwritten"), "over\\rwritten"),
        (text.clean_lines("\x1b]0;title\x07"), "\\x1b]0;title\\x07"),
    ],
)  # fmt: skip
def test_values_as_people_read_them(shown: str, expected: str) -> None:
    assert shown == expected


def test_colour_depends_on_stream_and_environment() -> None:
    pipe = io.StringIO()
    coloured: list[tuple[Any, dict[str, str]]] = [
        (Terminal(), {}), (Terminal(), {"NO_COLOR": ""}), (pipe, {"FORCE_COLOR": "1"}),
    ]  # fmt: skip
    plain: list[tuple[Any, dict[str, str]]] = [
        (pipe, {}), (None, {}), (Terminal(), {"TERM": "dumb"}), (Terminal(), {"NO_COLOR": "1"}),
        (pipe, {"FORCE_COLOR": "0"}), (pipe, {"FORCE_COLOR": "1", "NO_COLOR": "1"}),
    ]  # fmt: skip
    assert [terminal.use_colour(*given) for given in coloured] == [True] * len(coloured)
    assert [terminal.use_colour(*given) for given in plain] == [False] * len(plain)


def test_errors_are_coloured_only_for_people(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    terminal.show_error("it broke\x1b[2J", "mend it")
    assert capsys.readouterr().err == "error: it broke\\x1b[2J\nhint: mend it\n"
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    terminal.show_error("it broke")
    assert capsys.readouterr().err == "\x1b[31m\x1b[1merror\x1b[0m\x1b[1m:\x1b[0m it broke\x1b[0m\n"


def test_a_table_fits_where_lines_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    shown = (Column("ID", "id"), path("PATH", "path"), number("N", "n", spare=1), words("TEXT", "text"))
    row = {"id": "id-1", "path": "/home/me/" + "x/" * 20 + "shop", "n": 7, "text": "words " * 9}

    def drawn(width: str) -> list[str]:
        monkeypatch.setenv("COLUMNS", width)
        return table(shown, [row]).splitlines()

    assert drawn("0")[1].startswith(f"id-1  {row['path']}  7  words words")
    wide, narrow = drawn("60"), drawn("24")
    assert max(map(len, wide)) <= 60
    assert "/shop  7  words" in wide[1]
    assert max(map(len, narrow)) <= 24
    assert narrow[0].split() == ["ID", "PATH", "TEXT"]  # the spare column goes
