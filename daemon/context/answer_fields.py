"""Owns the form of an answer with a context: which fields are the same in each answer. Knows no wire."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class ContextReply(dict[str, Any]):
    """An answer whose first fields are those of `kept`, which never changes; what differs comes after."""

    __slots__ = ("kept",)

    def __init__(self, kept: Mapping[str, Any]) -> None:
        super().__init__(kept)
        self.kept = kept
