"""The reading of word tables: words in lines, as they are easiest to extend."""

from __future__ import annotations


def words(*lines: str) -> frozenset[str]:
    """Return the words of some lines as a set."""
    return frozenset(" ".join(lines).split())
