"""Walks over the links of the code graph: members, constructors, chains of references; cached values."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from ..index.link_table import Definition, Link
from ..index.store import Reader
from ..languages.shared.language import family_of
from ..languages.shared.qualified_names import base_name, without_number
from ..project.path_roles import role_of
from ..project.tree import Tree

CONSTRUCTORS: Final = frozenset(
    {"__init__", "__new__", "__post_init__", "__construct", "constructor", "initialize", "init", "new"}
)
"""Names of constructors in various languages; in some a constructor has the name of its class instead."""

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
"""Kinds of definitions that have members and can be inherited from."""

MAKERS_MAX: Final = 50
"""Maximum number of constructors whose classes are looked up: all of a project's `__init__` would take 100
ms."""

CALLS: Final = ("call", "decorate")
"""Kinds of references that call a definition: a decorator is called with the function that it decorates."""


class Reached(NamedTuple):
    """A reference from which a walk's start can be reached. `steps` are the definitions from the reference's
    target to the start, both included."""

    link: Link
    depth: int
    steps: tuple[int, ...]


class CodeGraph:
    """A view of a project's graph for one question, with a cache of its lookups. For one thread."""

    def __init__(self, tree: Tree, reader: Reader) -> None:
        self.tree = tree
        self.reader = reader
        self.links = reader.links
        self._known: dict[int, Definition] = {}

    def definitions(self, ids: Iterable[int]) -> dict[int, Definition]:
        """Return definitions by id, without those that no longer exist."""
        wanted = [each for each in dict.fromkeys(ids) if each]
        missing = [each for each in wanted if each not in self._known]
        if missing:
            self._known.update(self.links.definitions(missing))
        return {each: self._known[each] for each in wanted if each in self._known}

    def family(self, path: str) -> str:
        """Return the family of languages of a file; files of a family can refer to each other's
        definitions."""
        record = self.tree.files.get(path)
        return family_of(record.language if record else "")

    def members(self, ids: Collection[int]) -> list[Definition]:
        """Return the definitions inside others, at any depth: methods of classes, nested functions."""
        return list(self.definitions(self.links.inside(ids)).values())

    def is_test(self, path: str) -> bool:
        """Whether a file holds tests or their helpers."""
        record = self.tree.files.get(path)
        return role_of(path, record.language if record else "") == "test"

    def place(self, path: str) -> int:
        """Return a file's rank in answers: sources first, then tests, then examples and the like."""
        record = self.tree.files.get(path)
        role = role_of(path, record.language if record else "")
        return 0 if role in _SOURCES else 1 if role == "test" else 2

    def made_by(self, definitions: Iterable[Definition]) -> dict[int, int]:
        """Return a map of ids: each of these definitions to itself, and each constructor or class that is
        called in place of one of them to that definition."""
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

    def uses(self, stands_for: Mapping[int, int], kinds: Collection[str], limit: int) -> list[Link]:
        """Return the references to the definitions in a result of `made_by`.

        If a class stands for its constructor, only calls and bases count, because a type annotation that
        names the class doesn't construct it.
        """
        return [
            link
            for link in self.links.into(stands_for, kinds, limit)
            if stands_for[link.target] == link.target or link.kind in _CONSTRUCTING
        ]

    def reached(
        self, starts: Collection[int], kinds: Collection[str], depth: int, most: int
    ) -> Iterator[Reached]:
        """Walk against the links from definitions to their references, and on to the references of those,
        nearest first.

        Each referring definition is yielded once, with its first reference, and so is each file with a
        reference outside of any definition. The walk ends at `depth`, or after a level with more than `most`
        references. Cycles end because no definition is visited twice.
        """
        steps: dict[int, tuple[int, ...]] = dict.fromkeys(starts, ())
        files: set[str] = set()
        frontier = list(starts)
        for level in range(1, depth + 1):
            stands_for = self.made_by(self.definitions(frontier).values())
            following: list[int] = []
            for link in self.uses(stands_for, kinds, most):
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
    """Whether a member is a constructor of the class that it belongs to."""
    return name in CONSTRUCTORS or name == base_name(owner)


def _may_construct(qualified: str) -> bool:
    owner, _, last = without_number(qualified).rpartition(".")
    return bool(owner) and is_constructor(last, owner)


def leads(names: Sequence[str]) -> str:
    """Describe the path from one definition to another in words."""
    return " → ".join(names)


_CONSTRUCTING = frozenset({*CALLS, "inherit"})
_SOURCES = frozenset({"source", "barrel", "stub", "shim"})
