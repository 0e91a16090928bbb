"""Walks over the links: members and constructors, what leads to a definition, and through what."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from ..index.link_table import Definition, Link
from ..index.store import Reader
from ..languages.shared.qualified_names import base_name, without_number
from ..languages.shared.table import family_of
from ..project.path_roles import role_of
from ..project.tree import Tree

CONSTRUCTORS: Final = frozenset(
    {"__init__", "__new__", "__post_init__", "__construct", "constructor", "initialize", "init", "new"}
)
"""What languages call the method that makes an object; some name it like its class."""

CLASSES: Final = frozenset(
    {
        "class",
        "struct",
        "union",
        "interface",
        "trait",
        "protocol",
        "enum",
        "record",
        "object",
        "type",
        "module",
    }
)
"""Kinds of definitions that have members and may be inherited from."""

MAKERS_MAX: Final = 50
"""The classes of so many constructors are looked up: all of a project's `__init__` would take 100 ms."""

CALLS: Final = ("call", "decorate")
"""What calls a definition: a decorator is called with what it decorates."""


class Reached(NamedTuple):
    """A reference that leads to where a walk began. `steps` are the definitions from the one that it means to
    that beginning, both included."""

    link: Link
    depth: int
    steps: tuple[int, ...]


class CodeGraph:
    """One question's view of a project's graph; what it looked up once it remembers. For one thread."""

    def __init__(self, tree: Tree, reader: Reader) -> None:
        self.tree = tree
        self.reader = reader
        self.links = reader.links
        self._known: dict[int, Definition] = {}

    def definitions(self, ids: Iterable[int]) -> dict[int, Definition]:
        """Return definitions by id; those that are gone are left out."""
        wanted = [each for each in dict.fromkeys(ids) if each]
        missing = [each for each in wanted if each not in self._known]
        if missing:
            self._known.update(self.links.definitions(missing))
        return {each: self._known[each] for each in wanted if each in self._known}

    def family(self, path: str) -> str:
        """Return the family of languages of a file, whose files can mean each other's definitions."""
        record = self.tree.files.get(path)
        return family_of(record.language if record else "")

    def members(self, ids: Collection[int]) -> list[Definition]:
        """Return what lies in definitions, at any depth: methods of classes, nested functions."""
        return list(self.definitions(self.links.inside(ids)).values())

    def is_test(self, path: str) -> bool:
        """Whether a file holds tests or what belongs to them."""
        record = self.tree.files.get(path)
        return role_of(path, record.language if record else "") == "test"

    def place(self, path: str) -> int:
        """Return how early a file is told of: sources first, then tests, then examples and the like."""
        record = self.tree.files.get(path)
        role = role_of(path, record.language if record else "")
        return 0 if role in _SOURCES else 1 if role == "test" else 2

    def made_by(self, definitions: Iterable[Definition]) -> dict[int, int]:
        """Return by their ids these definitions and those that are called in their place, with the one for
        which they stand: the constructors of classes, and the class of a constructor."""
        given = list(definitions)
        found = {each.id: each.id for each in given}
        classes = [each.id for each in given if each.symbol.kind in CLASSES]
        queries = self.reader.graph
        for member, owner in queries.constructors(classes, CONSTRUCTORS).items() if classes else ():
            found.setdefault(member, owner)
        makers = [each.id for each in given if _may_construct(each.symbol.name)][:MAKERS_MAX]
        for member, owner in queries.constructed(makers, CONSTRUCTORS).items():
            found.setdefault(owner, member)
        return found

    def reached(
        self, starts: Collection[int], kinds: Collection[str], depth: int, most: int
    ) -> Iterator[Reached]:
        """Walk against the links from definitions to what refers to them, and so on, nearest first.

        Each definition that refers comes once, with its first reference; so does each file that refers
        outside of any. Ends at `depth`, or behind a level that leads to more than `most`; so cycles end, too.
        """
        steps: dict[int, tuple[int, ...]] = dict.fromkeys(starts, ())
        files: set[str] = set()
        frontier = list(starts)
        for level in range(1, depth + 1):
            stands_for = self.made_by(self.definitions(frontier).values())
            following: list[int] = []
            for link in self.links.into(stands_for, kinds, most):
                met = link.scope in steps if link.scope else link.path in files
                if not met:
                    meant = stands_for[link.target]
                    through = (meant, *steps[meant])
                    if link.scope:
                        steps[link.scope] = through
                        following.append(link.scope)
                    else:
                        files.add(link.path)
                    yield Reached(link, level, through)
            if not following or len(steps) > most:
                return
            frontier = following[:most]


def is_constructor(name: str, owner: str) -> bool:
    """Whether a member makes the objects of the class that it belongs to."""
    return name in CONSTRUCTORS or name == base_name(owner)


def _may_construct(qualified: str) -> bool:
    owner, _, last = without_number(qualified).rpartition(".")
    return bool(owner) and is_constructor(last, owner)


def leads(names: Sequence[str]) -> str:
    """Return in words the way from one definition to another."""
    return " → ".join(names)


_SOURCES = frozenset({"source", "barrel", "stub", "shim"})
