"""Owns values: what a chain can be found to mean while it is followed."""

from __future__ import annotations

from enum import Enum, auto
from typing import Final, NamedTuple


class What(Enum):
    """What a value is."""

    DEFINITION = auto()
    INSTANCE = auto()
    MODULE = auto()
    SUPER = auto()
    ELEMENTS = auto()
    EXTERNAL = auto()

    __hash__ = object.__hash__  # by identity, in C: values are looked up a million times


class Value(NamedTuple):
    """One thing that a chain may mean.

    A `DEFINITION` is that of `name` in the file `path`; an `INSTANCE` one of that class; a `MODULE` the file,
    or the package whose files lie in the folder `path` (with its slash). `SUPER` is an object of that class
    seen as its bases see it. `ELEMENTS` is a container, or one of its methods: `element` is what it holds.
    `EXTERNAL` certainly lies outside of the project; `name` is what it is called there. A `receiver` is the
    class, as path and name, through which a method was found: what it returns may depend on it.
    """

    what: What
    path: str = ""
    name: str = ""
    receiver: tuple[str, str] = ("", "")
    element: tuple[Value, ...] = ()


Values = tuple[Value, ...]
"""The alternatives, the likeliest first; none where nothing is known."""

UNKNOWN_VALUE: Final[Values] = ()
VALUES_MAX: Final = 4
"""Alternatives that are followed; more would be guessing."""


def external(name: str = "") -> Values:
    """Return what certainly lies outside of the project."""
    return (Value(What.EXTERNAL, "", name),)


def called_external(name: str) -> Values:
    """Return what calling something outside gives: an object of a class there, else nobody knows."""
    return external(name) if name.rpartition(".")[2][:1].isupper() else UNKNOWN_VALUE


def is_external(values: Values) -> bool:
    """Whether all that something may mean lies outside of the project."""
    return bool(values) and all(value.what is What.EXTERNAL for value in values)
