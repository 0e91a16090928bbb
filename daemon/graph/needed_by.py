"""What a definition needs to be understood: values of constants, heads of what it calls and lies in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

from ..index.link_table import Definition, Link
from ..index.store import Reader
from ..languages.shared.qualified_names import without_number
from ..languages.shared.records import Symbol
from .code_graph import CLASSES

VALUE_LINES: Final = 3
"""Maximum lines shown of a constant's value; longer ones are tables, whose beginning says enough."""

NEEDED_MAX: Final = 12
"""Maximum number of definitions listed for one; what is named first comes first."""

LINKS_MAX: Final = 300
"""Maximum number of references of a definition that are followed."""

VALUES: Final = frozenset({"constant", "variable", "field", "property", "macro"})
"""Kinds of definitions that are shown with their value, those with one that says it in a few lines."""

Role = Literal["within", "value", "call"]


class Needed(NamedTuple):
    """A definition that another one needs. `role` says why: `within` is the class around it, `value` a
    constant that it names, `call` something that it calls. `first` and `last` are the lines to show, from 1,
    both inclusive: of a value all lines, at most `VALUE_LINES`; of others their head."""

    path: str
    symbol: Symbol
    role: Role
    first: int
    last: int


def needed_by(reader: Reader, path: str, symbol: Symbol) -> list[Needed]:
    """Return what a definition of the project needs, at most `NEEDED_MAX`: the class around it, then the
    constants that it names and then what it calls, each in the order in which they are named.

    Only what a link leads to for sure, or by a name that its own file defines once, and nothing that stands
    in the definition itself. What a class, rather than its members, names is looked at for a class.
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
        one = None if within or target.id in found else _needed(target, link)
        if one is not None:
            found[target.id] = one
    around = _around(at_home, own[0])
    ordered = [item for item in found.values() if item.role == "value"]
    ordered += [item for item in found.values() if item.role == "call"]
    return [*around, *(one for one in ordered if one[:2] not in {each[:2] for each in around})][:NEEDED_MAX]


def head_lines(symbol: Symbol) -> tuple[int, int]:
    """Return the lines of a definition's head, as far as its signature goes."""
    return symbol.start_line, min(symbol.start_line + symbol.signature.count("\n"), symbol.end_line)


def _targets(
    reader: Reader, links: Sequence[Link], at_home: Sequence[Definition], owner: str
) -> Iterator[tuple[Link, Definition]]:
    """Yield what references lead to; by its name alone where the file defines that once, at its top or in the
    class that is the `owner` of what refers."""
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
    if symbol.kind in VALUES and link.kind != "type":  # an alias of a type says nothing by its value
        last = min(symbol.end_line, symbol.start_line + VALUE_LINES - 1)
        return Needed(target.path, symbol, "value", symbol.start_line, last)
    if link.kind == "call":
        return Needed(target.path, symbol, "call", *head_lines(symbol))
    return None


def _around(at_home: Sequence[Definition], own: Definition) -> list[Needed]:
    """Return the class that a definition lies in, by its name, where it stands in the same file."""
    owner = own.symbol.name.rpartition(".")[0]
    for each in at_home:
        if owner and each.symbol.name == owner and each.symbol.kind in CLASSES:
            return [Needed(each.path, each.symbol, "within", *head_lines(each.symbol))]
    return []
