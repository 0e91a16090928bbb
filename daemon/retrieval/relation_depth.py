"""Owns how many edges far a relation is asked for: `callers of callers`, `up to depth 3`, `directly`."""

from __future__ import annotations

from .clauses import Clause
from .patterns import compiled

MAX_DEPTH = 99
"""A greater depth is a slip, and means no more than this one: no call chain of that length is read."""


def depth_of(clause: Clause) -> int:
    """Return the number of edges that a clause gives, 1 for direct ones, 0 if it gives none."""
    number = compiled(_DEPTH).search(clause.form) or compiled(_LEVELS).search(clause.form)
    if number:
        said = number["number"]
        return min(int(said) if said.isdecimal() else _NUMBERS.index(said), MAX_DEPTH)
    chain = compiled(_CHAIN).search(clause.form)
    if chain:
        return min(len(compiled(_LINK).findall(chain[0])), MAX_DEPTH)
    direct = compiled(_DIRECT).search(clause.form) and not compiled(_INDIRECT).search(clause.form)
    return 1 if direct else 0


_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBER = rf"(?P<number>\d{{1,3}}|{'|'.join(_NUMBERS)})"
_DEPTH = (
    rf"\b(?:depth|levels|hops)"
    rf"(?: (?:of|up|to|=|:|<=))* {_NUMBER}\b"
)
_LEVELS = (
    rf"\b{_NUMBER}[ -](?:level|hop|layer|generation|call)\w{{0,3}}\b"
    r"(?: (?:deep|up|down|away|of))?"
)
_LINK = r"\b(?:callers?|callees?|importers?|dependents?|users?)\b"
_CHAIN = rf"{_LINK}(?: of (?:(?:the|its|their|all) )*{_LINK})+"
_DIRECT = r"\b(?:directly|direct|immediate|immediately)\b"
_INDIRECT = r"\b(?:indirect|transitive|recursive)\w{0,2}\b"
