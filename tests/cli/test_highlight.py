"""Code keeps its text and lines under colours, and a question's words stand out in it in all their forms."""

from __future__ import annotations

import re

import pytest
from foveal.cli.highlight import LEXERS, WORDS_MAX, highlight, question_words
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
        assert plain(highlight(code, language, None)) == (code if expected is None else expected)

    check("def f():\n    return [1]  # [bold]x[/bold]", "python")
    check("", "python")
    check("\n\nx = 1\n\n", "python")
    check("no language at all\n\n  indented", "")
    check("nobody knows\nthis one", "klingon")
    check("\tif x {", "go", "    if x {")
    check("'unfinished", "javascript")


@given(st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]) | st.sampled_from("\n [`#")))
def test_any_text_keeps_its_lines(code: str) -> None:
    lines = highlight(code, "markdown", None)
    assert [ANSI.sub("", line).rstrip() for line in lines] == [line.rstrip() for line in code.split("\n")]


def test_code_is_coloured() -> None:
    [line] = highlight("func main() {", "go", None)
    assert line.startswith("\x1b[")


def test_every_other_name_of_a_lexer_is_one() -> None:
    for language, lexer in LEXERS.items():
        assert language in LANGUAGES
        assert get_lexer_by_name(lexer)


@pytest.mark.parametrize(
    ("question", "code", "expected"),
    [
        ("how do sessions expire?", "expireSession(session)", ["expire", "Session", "session"]),
        ("how do sessions expire?", "SESSION_EXPIRES", ["SESSION", "EXPIRES"]),
        ("is the port open", "import_reopened_port", ["port"]),
        ("parsing an HTTP header", "parseHTTPHeader httpServer", ["parse", "HTTP", "Header", "http"]),
        ("computed", "computing compute computation", ["computing", "compute", "computation"]),
        ("größe", "Größe = größenwahn", ["Größe", "größenwahn"]),
        ("what is a.bcd*c(", "abc", []),
    ],
)
def test_words_of_a_question_stand_out(question: str, code: str, expected: list[str]) -> None:
    words = question_words(question)
    assert words is not None
    assert [match[0] for match in words.finditer(code)] == expected
    emphasised = re.findall(r"\x1b\[1;4m(.*?)\x1b", "\n".join(highlight(code, "", words)))
    assert emphasised == expected


def test_a_question_without_words() -> None:
    assert question_words("") is None
    assert question_words("how does it do that?") is None


def test_a_pasted_log_is_no_work() -> None:
    words = question_words(" ".join(f"word{number}" for number in range(20_000)))
    assert words is not None
    assert words.pattern.count("(?i:") == WORDS_MAX
