"""Of an issue the plain sentences are left, cut into windows that an embedding model can take."""

from __future__ import annotations

import pytest
from foveal.daemon.search.blocks import (
    plain,
    telling_lines,
)

ISSUE = """# Total is wrong with two currencies

### Describe the bug
A clear and concise description of what the bug is.
The sum of `Cart.total` ignores the second currency.

## Environment
- OS: Linux
- some tool 3.1

### Steps to reproduce
1. Open the cart
2.
- [x] I have searched the issues
**Version**: 1.2
Python version: 3.12

| a | b |
|---|---|
Expected behavior
The sum is right.

Fixes #12
Signed-off-by: Kim <kim@example.org>"""


def test_templates_versions_and_trailers_are_left_out() -> None:
    kept = [line for line in telling_lines(ISSUE.split("\n")) if line.strip()]
    assert kept == [
        "# Total is wrong with two currencies",
        "The sum of `Cart.total` ignores the second currency.",
        "1. Open the cart",
        "The sum is right.",
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("## A **bold** and *soft* `word`", "A bold and soft word"),
        ("- [ ] do [this](https://example.org/x) now", "do this now"),
        ("> quoted ~~gone~~", "quoted gone"),
        ("see https://example.org/a?b=c.", "see"),
        ("as @kim said in #12 and o/r#3:", "as said in and :"),
        ("a <b>bold</b> <br/> tag", "a bold tag"),
        ("__init__ and snake_case_name stay", "__init__ and snake_case_name stay"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("since 8d819856d488668b81a187d6335997baab2e075c", "since"),
    ],
)
def test_plain(line: str, expected: str) -> None:
    assert " ".join(plain(line).split()) == expected
