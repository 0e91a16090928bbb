"""Pages have five sizes of letters and one scale of spaces."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from foveal.dashboard.view import STATIC

SHEETS = sorted(Path(STATIC).glob("*.css"))

SPACES = {"0px", "2px", "4px", "8px", "12px", "16px", "24px", "32px", "48px"}

ROOT = {"html": "the size of one rem"}
"""Selectors that may set a size of their own."""


def rules(sheet: Path) -> list[tuple[str, str, str]]:
    """Return each declaration of a sheet with its selector."""
    text = re.sub(r"/\*.*?\*/", "", sheet.read_text("utf-8"), flags=re.DOTALL)
    found = []
    for selector, body in re.findall(r"([^{}]+)\{([^{}]*)\}", text):
        for declaration in body.split(";"):
            name, _, value = declaration.partition(":")
            if value:
                found.append((selector.strip(), name.strip(), value.strip()))
    return found


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: str(sheet.name))
def test_letters_have_one_of_five_sizes(sheet: Path) -> None:
    wrong = [
        (selector, name, value)
        for selector, name, value in rules(sheet)
        if name in ("font-size", "font")
        and value != "inherit"
        and not re.search(r"var\(--f[1-5]\)", value)
        and selector not in ROOT
    ]
    assert wrong == []


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: str(sheet.name))
def test_spaces_are_of_one_scale(sheet: Path) -> None:
    wrong = [
        (selector, name, value)
        for selector, name, value in rules(sheet)
        if re.fullmatch(r"(padding|margin)(-\w+)*|(row-|column-)?gap", name)
        and set(re.findall(r"(?<![\w.-])[\d.]+(?:px|r?em)\b", value)) - SPACES
    ]
    assert wrong == []
