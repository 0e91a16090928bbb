"""The context that a definition needs: values of constants, heads of its callees and of its class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

from ..index.link_table import Definition, Link
from ..index.store import Reader
from ..languages.shared.qualified_names import without_number
from ..languages.shared.records import Symbol
from .code_graph import CLASSES

VALUE_LINES: Final = 3
"""Maximum lines shown of a constant's value; longer values are tables, whose beginning says enough."""

NEEDED_MAX: Final = 12
"""Maximum number of definitions listed as needed by another, the first named first."""

LINKS_MAX: Final = 300
"""Maximum number of references followed from a definition."""

VALUES: Final = frozenset({"constant", "variable", "field", "property", "macro"})
"""Kinds of definitions that are shown with their value, if it has few lines."""

Role = Literal["within", "value", "call"]


class Needed(NamedTuple):
    """A definition that another one needs. `role` says why: `within` is the class around it, `value` a
    constant that it names, `call` a function that it calls. `first` and `last` are the lines to show, from 1,
    both inclusive: all lines of a value, at most `VALUE_LINES`; the head of other definitions."""

    path: str
    symbol: Symbol
    role: Role
    first: int
    last: int


def needed_by(reader: Reader, path: str, symbol: Symbol) -> list[Needed]:
    """Return the definitions that a definition needs, at most `NEEDED_MAX`: the class around it, then the
    constants it names, then the functions it calls, each in order of first use.

    Only resolved links count, and names that the same file defines once; nothing inside the definition
    itself. For a class, only references of the class itself count, not those of its members.
    """
    own = [each for each in reader.links.definitions_at(path, symbol.name) if each.symbol == symbol]
    if not own:
        return []
    at_home = reader.links.definitions_at(path)
    inside = [] if symbol.kind in CLASSES else reader.links.inside([own[0].id])
    links = reader.links.out_of([own[0].id, *inside], ("call", "use", "type"), LINKS_MAX)
    found: dict[int, Needed] = {}
    for link, target in _targets(reader, links, at_home, own[0].symbol.name.rpartition(".")[0]):
        within = target.path == path and symbol.start_line <= target.symbol.start_line <= symbol.end_line
        needed = None if within or target.id in found else _needed(target, link)
        if needed is not None:
            found[target.id] = needed
    around = _around(at_home, own[0])
    ordered = [item for item in found.values() if item.role == "value"]
    ordered += [item for item in found.values() if item.role == "call"]
    return [*around, *(needed for needed in ordered if needed[:2] not in {each[:2] for each in around})][
        :NEEDED_MAX
    ]


def head_lines(symbol: Symbol) -> tuple[int, int]:
    """Return the first and last line of a definition's head, which ends with its signature."""
    return symbol.start_line, min(symbol.start_line + symbol.signature.count("\n"), symbol.end_line)


def _targets(
    reader: Reader, links: Sequence[Link], at_home: Sequence[Definition], owner: str
) -> Iterator[tuple[Link, Definition]]:
    """Yield the targets of references; unresolved names only where the file defines the name once, at its top
    level or in the class `owner` of the referring definition."""
    targets = reader.links.definitions([link.target for link in links if link.target])
    named: dict[str, list[Definition]] = {}
    for each in at_home:
        around, _, name = without_number(each.symbol.name).rpartition(".")
        if around in {"", owner}:
            named.setdefault(name, []).append(each)
    for link in links:
        target = targets.get(link.target)
        if target is None and link.state == "name":
            bearers = named.get(link.name, ())
            target = bearers[0] if len(bearers) == 1 else None
        if target is not None:
            yield link, target


def _needed(target: Definition, link: Link) -> Needed | None:
    symbol = target.symbol
    if symbol.kind in VALUES and link.kind != "type":  # the value of a type alias explains nothing
        last = min(symbol.end_line, symbol.start_line + VALUE_LINES - 1)
        return Needed(target.path, symbol, "value", symbol.start_line, last)
    if link.kind == "call":
        return Needed(target.path, symbol, "call", *head_lines(symbol))
    return None


def _around(at_home: Sequence[Definition], own: Definition) -> list[Needed]:
    """Return the class around a definition, found by its name, if it is in the same file."""
    owner = own.symbol.name.rpartition(".")[0]
    for each in at_home:
        if owner and each.symbol.name == owner and each.symbol.kind in CLASSES:
            return [Needed(each.path, each.symbol, "within", *head_lines(each.symbol))]
    return []
