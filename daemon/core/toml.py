"""The lines of a TOML text that its parser would need too long for."""

from __future__ import annotations

MAX_DOTS_IN_LINE = 1_000
"""Maximum number of dots in a line. tomllib needs time in the square of a key's parts: 3 minutes for one of
500,000 in an inline table."""


def crowded_line(text: str) -> int:
    """Return the number of the first line with more than `MAX_DOTS_IN_LINE` dots, 0 if there is none."""
    lines = enumerate(text.split("\n"), start=1)
    return next((number for number, line in lines if line.count(".") > MAX_DOTS_IN_LINE), 0)
