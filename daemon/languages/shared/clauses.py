"""Import clauses of languages whose packages are written with dots: their names and paths."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from .language import UseItem
from .source_text import MAX_NAME, lazy_pattern

CLAUSE_MAX = 20_000
"""Maximum number of characters read of a clause."""

NAME = r"`?[^\W\d][\w$]*`?"
PATH = rf"{NAME}(?:\s*\.\s*{NAME})*+"

_COMMENT = lazy_pattern(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)


def read_clause(clause: str, reader: Callable[[str], Iterator[UseItem]]) -> list[UseItem]:
    """Return the names that an import clause introduces, in order, ignoring comments."""
    text = _COMMENT.sub(" ", clause[:CLAUSE_MAX])
    return [use for use in reader(text) if use.module and len(use.module) <= MAX_NAME]


def plain_path(path: str) -> str:
    """Return a path without spaces and quotes."""
    return re.sub(r"[\s`]+", "", path)


def split_use(path: str, name: str = "") -> UseItem:
    """Return the use of the last name of a path."""
    module, _, last = plain_path(path).rpartition(".")
    return UseItem(module, last, plain_path(name) or last)
