"""The code graph: the meaning of a name, places that answer a question, and walks over the links."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final, Generic, Literal, NamedTuple, TypeVar

from msgspec import Struct

from ..core.sized_cache import SizedCache
from ..index.records import Definition, Link
from ..index.service import Reader
from ..languages.shared.language import LANGUAGES, family_of
from ..languages.shared.qualified_names import base_name, without_number
from ..project.service import Tree, is_built, role_of

T = TypeVar("T")

PROJECTS_MAX: Final = 4
"""Maximum number of projects with cached values; the least recently used go first."""


class GenerationCache(Generic[T]):
    """One cached value per project, recomputed when its generation changes. Thread-safe; two threads that ask
    at once may both compute it."""

    def __init__(self, compute: Callable[[Reader], T]) -> None:
        self._compute = compute
        self._known = SizedCache[str, tuple[int, T]](PROJECTS_MAX)

    def get(self, tree: Tree, reader: Reader) -> T:
        """Return a project's value. Raises any error of its computation."""
        known = self._known.get(reader.path)
        if known is None or known[0] != tree.generation:
            known = (tree.generation, self._compute(reader))
            self._known.put(reader.path, known, 1)
        return known[1]


MEANT_MAX: Final = 500
"""Maximum number of definitions of a name examined."""

LISTED_MAX: Final = 5
"""Maximum number of definitions offered to the caller to choose from."""


class Meaning(Struct, frozen=True):
    """The meaning of a name. `name` is its last part, as links record it.

    `definitions` has at most `MEANT_MAX` of `total`. `files` are the files that a path, file name or module
    means. `module` is the part before the last, if it is outside of the project (`subprocess` of
    `subprocess.run`). `guess` says that a similar name was taken instead, and `remarks` which; `near` are
    suggestions for an unknown name.
    """

    written: str
    name: str
    definitions: tuple[Definition, ...] = ()
    total: int = 0
    files: tuple[str, ...] = ()
    module: str = ""
    external: bool = False
    guess: bool = False
    remarks: tuple[str, ...] = ()
    near: tuple[str, ...] = ()

    @property
    def known(self) -> bool:
        """Whether the name has any meaning."""
        return bool(self.definitions or self.files or self.external)

    @property
    def certainty(self) -> Certainty:
        """The highest certainty of answers for this meaning."""
        return "name" if self.guess else "resolved"

    @property
    def paths(self) -> list[str]:
        """The files that it means: those it names, else those of its definitions."""
        return list(self.files or dict.fromkeys(each.path for each in self.definitions))

    @property
    def ids(self) -> list[int]:
        """The ids of its definitions."""
        return [each.id for each in self.definitions]


def node_id_of(definition: Definition) -> str:
    """Return the node id of a definition."""
    return f"{definition.path}#{definition.symbol.name}"


def several(meaning: Meaning) -> str:
    """Return a remark if a name has several definitions, else an empty string."""
    if meaning.total < 2:
        return ""
    names = map(node_id_of, meaning.definitions[:LISTED_MAX])
    dots = ", …" if meaning.total > LISTED_MAX else ""
    most = f", of which {MEANT_MAX:,} are looked at" if meaning.total > MEANT_MAX else ""
    name = meaning.name if meaning.guess else meaning.written
    return (
        f"`{name}` has {meaning.total:,} definitions{most}; to mean one, say its class, its file"
        f" or its node id: {', '.join(names)}{dots}"
    )


Certainty = Literal["", "resolved", "name"]
"""The certainty of an answer: resolved through imports, matched by name alone, or empty if neither
applies."""

FOUND_MAX: Final = 500
"""Maximum number of places of each certainty in an answer; beyond it the answer says that there are more."""


class FoundPlace(Struct, frozen=True):
    """A place that answers a question.

    `node` is the id of the definition that is the answer, or of the definition around the reference; 0 for
    the file itself. `line` is the line to show, in `path`. `reference` is the place of the reference if it is
    elsewhere. `steps` are the definitions from `node` to the subject, and `via` describes them in words.
    `distance` orders answers of the same certainty.
    """

    path: str
    line: int
    node: int = 0
    certainty: Certainty = "resolved"
    via: str = ""
    why: str = ""
    steps: tuple[int, ...] = ()
    reference: tuple[str, int] | None = None
    distance: int = 0


def at_link(link: Link, certainty: Certainty, why: str, via: str = "") -> FoundPlace:
    """Return the place of a reference."""
    return FoundPlace(link.path, link.line, link.scope, certainty, via, why)


def at_definition(
    definition: Definition,
    certainty: Certainty,
    why: str,
    via: str = "",
    steps: tuple[int, ...] = (),
    reference: tuple[str, int] | None = None,
    distance: int = 0,
) -> FoundPlace:
    """Return the place of a definition; the other parameters are those of `FoundPlace`."""
    line = definition.symbol.start_line
    return FoundPlace(definition.path, line, definition.id, certainty, via, why, steps, reference, distance)


class Findings(Struct, frozen=True):
    """The places found, in order, and remarks about them. `more` says that there are more places."""

    found: Sequence[FoundPlace] = ()
    remarks: tuple[str, ...] = ()
    more: bool = False


def in_order(found: Iterable[FoundPlace], place: Callable[[str], int]) -> list[FoundPlace]:
    """Return places without duplicates: resolved ones first, then by distance, then by the `place` of their
    file, such as sources before tests."""
    place_of = cache(place)

    def key(item: FoundPlace) -> tuple[bool, int, int, str, int, str]:
        by_file = (place_of(item.path), item.path, item.line)
        return (item.certainty != "resolved", item.distance, *by_file, item.via)

    unique: dict[tuple[str, int, int], FoundPlace] = {}
    for item in sorted(found, key=key):
        # Several targets on a line are separate answers; several references on a line are shown once.
        unique.setdefault((item.path, item.line, item.node if item.reference else 0), item)
    return list(unique.values())


FindPlaces = Callable[[Meaning, "CodeGraph"], Iterable[Sequence[FoundPlace]]]
"""Finds the places that have a relation to one meaning, in lists; a list of more than `FOUND_MAX` is cut."""


def find_places(find: FindPlaces, meanings: Sequence[Meaning], graph: CodeGraph) -> Findings:
    """Return the places that have a relation to any of some meanings, in order."""
    parts = [part for meaning in meanings for part in find(meaning, graph)]
    found = in_order((each for part in parts for each in part[:FOUND_MAX]), graph.place)
    remarks = tuple(filter(None, map(several, meanings)))
    return Findings(found, remarks, any(len(part) > FOUND_MAX for part in parts))


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

    def defined(self, meaning: Meaning) -> list[Definition]:
        """Return the definitions that a name means, or all those in the files that it means."""
        return list(meaning.definitions) or [
            each for file in meaning.files for each in self.links.definitions_at(file)
        ]

    def affected(self, meaning: Meaning) -> list[int]:
        """Return the ids that a change of a subject affects: the subject and its members."""
        ids = [each.id for each in self.defined(meaning)]
        return [*ids, *self.links.inside(ids)] if meaning.definitions else ids

    def names(self, ids: Sequence[int]) -> str:
        """Return the path over some definitions in words."""
        known = self.definitions(ids)
        return leads([known[each].symbol.name for each in ids if each in known])

    def members(self, ids: Collection[int]) -> list[Definition]:
        """Return the definitions inside others, at any depth: methods of classes, nested functions."""
        return list(self.definitions(self.links.inside(ids)).values())

    def is_test(self, path: str) -> bool:
        """Whether a file holds tests or their helpers."""
        record = self.tree.files.get(path)
        return role_of(path, record.language if record else "") == "test"

    def is_aside(self, path: str) -> bool:
        """Whether a file holds tests or examples, whose calls aren't uses. `build/` may hold sources."""
        record = self.tree.files.get(path)
        return role_of(path, record.language if record else "") in {"test", "example"}

    def is_code(self, path: str) -> bool:
        """Whether a file's language has references; documents and data have none."""
        record = self.tree.files.get(path)
        return record is not None and bool(LANGUAGES.get(record.language, LANGUAGES["text"]).references)

    def place(self, path: str) -> int:
        """Return a file's rank in answers: sources first, then tests, then examples, built copies and the
        like."""
        record = self.tree.files.get(path)
        role = role_of(path, record.language if record else "")
        if is_built(path):
            return 2
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

    def by_name(
        self, meaning: Meaning, kinds: Collection[str], definitions: Iterable[Definition]
    ) -> list[Link]:
        """Return the unresolved references by a name, in the languages of some definitions of it."""
        families = {self.family(each.path) for each in definitions}
        states = ("external", "name") if meaning.external else ("name",)
        return [
            link
            for link in self.links.named(meaning.name, kinds, states, FOUND_MAX + 1)
            if meaning.external or self.family(link.path) in families
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
"""Paths of what builds write, often copies of the sources."""
_SOURCES = frozenset({"source", "barrel", "stub", "shim"})
