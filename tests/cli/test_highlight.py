"""Code keeps its text and lines under colours."""

from __future__ import annotations

import re

import pytest
from foveal.cli.highlight import highlight

ANSI = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(autouse=True)
def colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)


def plain(lines: list[str]) -> str:
    return ANSI.sub("", "\n".join(lines))


def test_the_text_stays() -> None:
    def check(code: str, path: str, expected: str | None = None) -> None:
        assert plain(highlight(code, path)) == (code if expected is None else expected)

    check("def f():\n    return [1]  # [bold]x[/bold]", "a.py")
    check("", "a.py")
    check("\n\nx = 1\n\n", "a.py")
    check("no language at all\n\n  indented", "LICENSE")
    check("nobody knows\nthis one", "a.klingon")
    check("\tif x {", "a.go", "    if x {")
    check("'unfinished", "a.js")
