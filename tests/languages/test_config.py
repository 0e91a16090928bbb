"""Configuration and build files are divided into blocks, which are sections."""

from __future__ import annotations

import pytest
from foveal.daemon.languages.config import BLOCK_LINES, BLOCKS_MAX
from foveal.daemon.languages.shared.parse import parse_source

STEPS = "".join(f"      - run: step {number}\n" for number in range(BLOCK_LINES))
WORKFLOW = f"name: test\n\non:\n  push:\n\njobs:\n  lint:\n    steps:\n      - run: ruff\n\n  build:\n    steps:\n{STEPS}"
END = 12 + BLOCK_LINES

CASES = {
    "yaml": (
        WORKFLOW,
        [
            ("on", 3, 4),
            ("jobs", 6, END),
            ("jobs/lint", 7, 9),
            ("jobs/build", 11, END),
            ("jobs/build/steps", 12, END),
        ],
    ),
    "json": (
        '{\n  "name": "a",\n  "scripts": {\n    "lint": "x"\n  },\n  "files": [\n    "b"\n  ]\n}\n',
        [("scripts", 3, 5), ("files", 6, 9)],
    ),
    "toml": (
        "[project]\nname = 'a'\n\n[[tool.x]]\ny = [1]\n",
        [("project", 1, 2), ("tool.x", 4, 5)],
    ),
    "makefile": ("A := 1\n.PHONY: all\nall: a b\n\tcc\n\ntest:\n\trun\n", [("all", 3, 4), ("test", 6, 7)]),
    "dockerfile": ("FROM a:1 AS build\nRUN x\nFROM b\nCOPY c d\n", [("build", 1, 2), ("b", 3, 4)]),
}


@pytest.mark.parametrize("language", CASES)
def test_blocks_of_a_language(language: str) -> None:
    text, blocks = CASES[language]
    parsed = parse_source(text.encode(), language)
    assert [(symbol.name, symbol.start_line, symbol.end_line) for symbol in parsed.symbols] == blocks
    assert {symbol.kind for symbol in parsed.symbols} == {"section"}


def test_data_has_no_blocks() -> None:
    rows = "".join(f'  "key{number}": {{\n  }},\n' for number in range(BLOCKS_MAX + 1))
    assert not parse_source(f"{{\n{rows}}}\n".encode(), "json").symbols


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\n",
        b"\xff:\n",
        b"a:\n" * 9_000,
        b"{" * 90_000,
        b" a:\n  b:\n" * 3_000,
        b"data" + b" " * 400_000,
    ],
)
@pytest.mark.parametrize("language", CASES)
def test_any_bytes_are_divided(language: str, text: bytes) -> None:
    """Were a line read once for each of its characters, the longest would take minutes."""
    assert len(parse_source(text, language).symbols) <= BLOCKS_MAX
