"""Reads tables of words, which are written as lines of words so that they are easy to extend."""

from __future__ import annotations


def words(*lines: str) -> frozenset[str]:
    """Return the words of some lines as a set."""
    return frozenset(" ".join(lines).split())
