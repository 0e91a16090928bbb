"""What people see: units, tables, colours only where they belong, nothing that steers a terminal."""

from __future__ import annotations

import io
from typing import Any

import pytest
from foveal.cli import terminal, text
from foveal.cli.table import Column, number, path, table, words


class Terminal(io.StringIO):
    """A stream that a person sees."""

    def isatty(self) -> bool:
        return True


def test_size() -> None:
    def check(amount: int, expected: str) -> None:
        assert text.size(amount) == expected

    check(0, "0 B")
    check(999, "999 B")
    check(1_000, "1.0 kB")
    check(9_940, "9.9 kB")
    check(9_960, "10 kB")
    check(999_499, "999 kB")
    check(85_300_000, "85 MB")
    check(19_000_000_000, "19 GB")
    for unit, (amount, larger) in enumerate((("kB", "MB"), ("MB", "GB"), ("GB", "TB")), 2):
        check(1000**unit - 1, f"1.0 {larger}")
        check(1000**unit - 1000 ** (unit - 1), f"999 {amount}")
    check(1_900_000_000_000_000, "1,900 TB")


def test_lines() -> None:
    assert (text.lines_of(3, 8), text.lines_of(3, 3)) == ("3-8", "3")


def test_duration() -> None:
    def check(seconds: float, expected: str) -> None:
        assert text.duration(seconds) == expected

    check(0.4, "0 s")
    check(59.9, "59 s")
    check(60, "1 min")
    check(125, "2 min 5 s")
    check(3_600 + 59, "1 h")
    check(3_600 * 3 + 600, "3 h 10 min")
    check(86_400 * 2 + 3_600 * 4 + 60, "2 d 4 h")


def test_count() -> None:
    assert [text.count(n, "file") for n in (0, 1, 6_869)] == ["0 files", "1 file", "6,869 files"]


def test_colour_depends_on_stream_and_environment() -> None:
    def check(stream: Any, environ: dict[str, str], expected: bool) -> None:
        assert terminal.use_colour(stream, environ) is expected

    check(Terminal(), {}, True)
    check(io.StringIO(), {}, False)
    check(None, {}, False)
    check(Terminal(), {"TERM": "dumb"}, False)
    check(Terminal(), {"NO_COLOR": "1"}, False)
    check(Terminal(), {"NO_COLOR": ""}, True)
    check(io.StringIO(), {"FORCE_COLOR": "1"}, True)
    check(io.StringIO(), {"FORCE_COLOR": "0"}, False)
    check(io.StringIO(), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)


def test_clean_shows_what_would_steer_a_terminal() -> None:
    def check(given: str, expected: str) -> None:
        assert text.clean(given) == expected

    check("plain ünïcode ✓", "plain ünïcode ✓")
    check("\x1b[31mred", "\\x1b[31mred")
    check("two\nlines\tand\r", "two\\nlines\\tand\\r")
    check("title \x9d0;x\x07", "title \\x9d0;x\\x07")
    check("abc\u202egnp.exe", "abc\\u202egnp.exe")


def test_clean_lines_keeps_line_breaks_and_tabs() -> None:
    def check(given: str, expected: str) -> None:
        assert text.clean_lines(given) == expected

    check("a\tb\nc\r\nd", "a\tb\nc\r\nd")
    check("over\rwritten", "over\\rwritten")
    check("\x1b]0;title\x07", "\\x1b]0;title\\x07")


def test_table_aligns_and_cleans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    rows = [{"name": "a", "n": 1}, {"name": "long\nname", "n": 1_000}]
    assert (
        table((Column("NAME", "name"), number("N", "n")), rows)
        == "NAME            N\na               1\nlong\\nname  1,000"
    )


def test_short_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")

    def check(path: str, expected: str) -> None:
        assert text.short_path(path) == expected

    check("/home/me", "~")
    check("/home/me/src", "~/src")
    check("/home/menu", "/home/menu")
    check("/tmp/a\nb", "/tmp/a\\nb")


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


def test_a_path_keeps_its_end() -> None:
    def check(path: str, most: int, expected: str) -> None:
        assert text.end_of_path(path, most) == expected

    check("/home/me/shop", 13, "/home/me/shop")
    check("/home/me/shop", 12, "…/me/shop")
    check("/home/me/shop", 8, "…/shop")
    check("/home/me/ashop", 6, "…ashop")


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


def test_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    assert (terminal.columns(), terminal.room(60), terminal.room(90)) == (70, 10, 8)
    monkeypatch.delenv("COLUMNS")
    assert terminal.columns() is None  # a pipe
