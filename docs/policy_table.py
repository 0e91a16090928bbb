"""Writes the table of docs/policies.md from the methods' declarations and the marks of their replies.

Run it as `python -m docs.policy_table`; a test compares the page with what it would write.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

from foveal.daemon.api import handlers  # so that every method is declared
from foveal.daemon.api.marks import Leaf, ListOf, MapOf, RecordOf, Shape, Shows
from foveal.daemon.api.method import Declaration, declared_methods

from .protocol_table import NOUNS

PAGE = Path(__file__).parent / "policies.md"
ROWS = re.compile(r"(?<=\|---\|---\|---\|---\|\n)(?:\| [A-Z]\w+ \|.*\n)+")
"""The rows of the table, which the page has once."""

MAY = {
    "anyone": "everything",
    "read": "reads",
    "add": "reads; adds what names nothing hidden",
    "own": "reads; changes its own",
    "person": "nothing",
}

OF_PATHS = (
    ("without", (Shows.FILE, Shows.TEXT, Shows.SLICE, Shows.CLAIM, Shows.TOUCHED)),
    ("its own", (Shows.SAID,)),
    ("never", (Shows.SENT,)),
    ("0", (Shows.COUNT,)),
)
OF_ITEMS = (("without", (Shows.ITEM_NAME, Shows.SLICE)), *OF_PATHS[1:])
"""What happens to the fields with some marks for an agent from which paths, or items, are hidden."""

FOR_STRANGERS = {"anyone": "everything", "list": "an empty list", "daemon": "what is of other projects"}


def table() -> str:
    """Return the rows of the table."""
    assert handlers
    by_noun = sorted(declared_methods(), key=lambda one: NOUNS.index(one.function.__module__.split(".")[-1]))
    return "".join(_row(declared) for declared in by_noun)


def page(text: str) -> str:
    """Return the page with the rows as they should be."""
    return ROWS.sub(lambda _: table(), text, count=1)


def _row(declared: Declaration) -> str:
    cells = [_cell(declared, treatments) for treatments in (OF_PATHS, OF_ITEMS)]
    stranger = FOR_STRANGERS.get(declared.access) or "nothing"
    if declared.access == "read":
        stranger = FOR_STRANGERS.get(declared.policy, stranger)
    return f"| {declared.name} | {' | '.join((*cells, stranger))} |\n"


def _cell(declared: Declaration, treatments: tuple[tuple[str, tuple[Shows, ...]], ...]) -> str:
    may = MAY[declared.access]
    if declared.access in {"person", "anyone"}:
        return may
    if declared.policy == "own":
        return f"{may}; made without what is hidden"
    shown = [(word, sorted(set(_names(declared.shape, marks)))) for word, marks in treatments]
    parts = [f"{word}: {', '.join(f'`{name}`' for name in names)}" for word, names in shown if names]
    return "; ".join([may, *parts])


def _names(shape: Shape, marks: Collection[Shows], name: str = "") -> Iterator[str]:
    """Yield the names of the fields with one of some marks, however deep they lie."""
    match shape:
        case Leaf(shows=shows) if shows in marks:
            yield name
        case ListOf(entry=entry):
            yield from _names(entry, marks, name)
        case MapOf(key=key, value=value):
            yield from _names(key, marks, name)
            yield from _names(value, marks, name)
        case RecordOf(fields=fields):
            for inner, part in fields.items():
                yield from _names(part, marks, inner)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
