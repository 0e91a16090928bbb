"""Code keeps its text and lines under colours."""

from __future__ import annotations

import re

import pytest
from foveal.cli.highlight import LEXERS, highlight
from foveal.daemon.languages.shared.language import LANGUAGES
from hypothesis import given
from hypothesis import strategies as st
from pygments.lexers import get_lexer_by_name

ANSI = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(autouse=True)
def colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)


def plain(lines: list[str]) -> str:
    return ANSI.sub("", "\n".join(lines))


def test_the_text_stays() -> None:
    def check(code: str, language: str, expected: str | None = None) -> None:
        assert plain(highlight(code, language)) == (code if expected is None else expected)

    check("def f():\n    return [1]  # [bold]x[/bold]", "python")
    check("", "python")
    check("\n\nx = 1\n\n", "python")
    check("no language at all\n\n  indented", "")
    check("nobody knows\nthis one", "klingon")
    check("\tif x {", "go", "    if x {")
    check("'unfinished", "javascript")


@given(st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]) | st.sampled_from("\n [`#")))
def test_any_text_keeps_its_lines(code: str) -> None:
    lines = highlight(code, "markdown")
    assert [ANSI.sub("", line).rstrip() for line in lines] == [line.rstrip() for line in code.split("\n")]


def test_code_is_coloured() -> None:
    [line] = highlight("func main() {", "go")
    assert line.startswith("\x1b[")


def test_every_other_name_of_a_lexer_is_one() -> None:
    for language, lexer in LEXERS.items():
        assert language in LANGUAGES
        assert get_lexer_by_name(lexer)
