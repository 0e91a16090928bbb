"""The estimate of tokens that budgets use."""

from __future__ import annotations

CHARACTERS = 4
"""Of a token, by the estimate."""


def estimate(text: str) -> int:
    """Return ceil(characters / 4)."""
    return -(-len(text) // CHARACTERS)
