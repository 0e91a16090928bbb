"""The borders between linked projects: what code of one project means in another one, decided by the linker
when a question asks for it. No index holds anything of another project."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from ..index.records import Definition
from ..languages.shared.imports import ImportResolver
from ..languages.shared.interface import FileInterface
from ..languages.shared.link_rules import ModuleFiles
from ..languages.shared.qualified_names import base_name
from ..languages.shared.records import Import
from ..linking.service import link_named
from .code_graph import CALLS, FOUND_MAX, CodeGraph, Findings, FoundPlace, Meaning, at_definition, in_order
from .connection import WHY, reaching

FILES_MAX: Final = 200
"""Maximum number of files, of all projects, that are linked again for one question; one takes 1 to 10 ms."""

MENTIONS_MAX: Final = 1_000
"""Maximum number of files, of all projects, whose imports are read for other names of what is asked for."""


class CrossingBudget:
    """How much of the files one question may still read at borders, of all projects: until a moment on
    `time.monotonic`, and at most some files. Used by one thread.

    `was_cut` says that some files weren't looked at.
    """

    def __init__(self, until: float, files: int = FILES_MAX, mentions: int = MENTIONS_MAX) -> None:
        self._until = until
        self._left = {"files": files, "mentions": mentions}
        self._kept = {"files": 0, "mentions": 0}
        self.was_cut = False

    def share(self, parts: int) -> CrossingBudget:
        """Keep what is left for the other parts, of which each gets as much; return the budget itself."""
        self._kept = {name: left - -(-left // parts) for name, left in self._left.items()}
        return self

    def take(self, name: Literal["files", "mentions"]) -> bool:
        """Whether one more file may be read."""
        if self._left[name] <= self._kept[name] or time.monotonic() >= self._until:
            self.was_cut = True
            return False
        self._left[name] -= 1
        return True


class Side(Struct, frozen=True):
    """A project at a border: its graph, what imports mean in it, and its name in answers."""

    graph: CodeGraph
    resolver: ImportResolver
    label: str


class BorderView:
    """The linker's `LinkerView` of a project and of those that it may use.

    Only files that the asking agent may see are in it. A path of another project has the number of its side
    before it. An import that its own project doesn't have means a file of another one only if it names a
    package that the other one declares.
    """

    def __init__(self, own: Side, others: Sequence[Side]) -> None:
        self._sides = (own, *others)
        self._interfaces: dict[str, FileInterface | None] = {}

    def divided(self, path: str) -> tuple[int, str]:
        """Return the number of a path's side, 0 for the own project, and the path in its project."""
        number, mark, inner = path.partition(_MARK)
        return (int(number), inner) if mark else (0, path)

    def interface(self, path: str) -> FileInterface | None:
        """Return a file's interface, or None if it isn't known."""
        if path not in self._interfaces:
            number, inner = self.divided(path)
            graph = self._sides[number].graph
            self._interfaces[path] = graph.reader.facts(inner)[0] if inner in graph.tree.files else None
        return self._interfaces[path]

    def module(self, importer: str, language: str, module: str, name: str = "") -> ModuleFiles:
        """Return the files that an import means in its own project, else in another one."""
        number, inner = self.divided(importer)
        imported = Import(module, name, 0)
        own = self._sides[number].resolver
        paths = own.resolve_all(inner, language, imported)
        if paths or number:
            return ModuleFiles(_marked(number, paths), bool(paths))
        for other, side in enumerate(self._sides[1:], 1):
            paths = side.resolver.published(language, imported)
            if paths:
                return ModuleFiles(_marked(other, paths), internal=True)
        return ModuleFiles((), own.is_internal(inner, language, imported))

    def siblings(self, path: str) -> tuple[str, ...]:
        """Return the files of the same language family in a file's folder, sorted, with the file itself."""
        number, inner = self.divided(path)
        graph = self._sides[number].graph
        folder = inner.rpartition("/")[0]
        found = graph.tree.layout.folders.get(folder)
        paths = (f"{folder}/{name}".lstrip("/") for name in (found.files if found is not None else ()))
        return _marked(number, [each for each in paths if graph.family(each) == graph.family(inner)])


_MARK: Final = "\0"


def _marked(number: int, paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{number}{_MARK}{path}" for path in paths) if number else tuple(paths)


class Crossed(NamedTuple):
    """A reference of one project that means a definition of another, whose side it names."""

    path: str
    line: int
    name: str
    kind: str
    scope: int
    side: Side
    definition: Definition


Decided = set[tuple[str, int, str]]
"""The references about whose meaning the linker is certain, by path, line and last name ("" for any)."""


class Crossing:
    """The references of one project that lead to others, for one question, as far as its budget goes."""

    def __init__(self, own: Side, others: Sequence[Side], budget: CrossingBudget) -> None:
        self._own = own
        self._others = others
        self._budget = budget
        self._view = BorderView(own, others)
        self.decided: Decided = set()

    def uses(
        self, asked: Iterable[tuple[Side, Meaning]], kinds: Collection[str], *, members: bool
    ) -> list[Crossed]:
        """Return the references of these kinds to definitions of other projects, all kinds if none is given;
        a class is also referred to by the calls of its constructor, and with `members` by those of its
        methods."""
        wanted: dict[tuple[str, int], int] = {}
        families: dict[str, set[str]] = {}
        for side, meaning in asked:
            meant = side.graph.definitions(side.graph.affected(meaning)) if members else {}
            stands_for = side.graph.made_by(meant.values() or meaning.definitions)
            for definition in side.graph.definitions(stands_for).values():
                if definition.path in side.graph.tree.files:
                    wanted[side.label, definition.id] = stands_for[definition.id]
                    names = families.setdefault(base_name(definition.symbol.name), set())
                    names.add(side.graph.family(definition.path))
        found = []
        for each in self._naming(families, kinds):
            stood = wanted.get((each.side.label, each.definition.id))
            if stood == each.definition.id or (stood and each.kind in {*CALLS, "inherit"}):
                found.append(each)
        return found

    def used_by(self, meaning: Meaning, kinds: Collection[str]) -> list[Crossed]:
        """Return the references to other projects in the definitions of the own one, in order."""
        graph = self._own.graph
        ids = [each.id for each in meaning.definitions if each.path in graph.tree.files]
        inside = {*ids, *graph.links.inside(ids)}
        names: dict[str, set[str]] = {}
        for link in graph.links.out_of(sorted(inside), kinds, FOUND_MAX):
            if link.state != "resolved":
                names.setdefault(link.path, set()).add(link.name)
        found = (each for path, named in names.items() for each in self._in_file(path, named, kinds))
        return [each for each in found if each.scope in inside]

    def _naming(self, families: Mapping[str, set[str]], kinds: Collection[str]) -> Iterator[Crossed]:
        """Yield what crosses in the files that refer to some names, each in the languages that define it."""
        graph = self._own.graph
        files: dict[str, set[str]] = {}
        for name, known in sorted(families.items()):
            links = graph.links.named(name, kinds, ("external", "name"), FOUND_MAX + 1)
            self._budget.was_cut = self._budget.was_cut or len(links) > FOUND_MAX
            for link in links:
                if link.path in graph.tree.files and graph.family(link.path) in known:
                    files.setdefault(link.path, set()).add(name)
        for path in graph.reader.mentioning(families):
            if path not in graph.tree.files:
                continue
            if not self._budget.take("mentions"):
                break
            if other_names := self._other_names(path, families):
                files.setdefault(path, set()).update(other_names)
        for path in sorted(files, key=lambda path: (graph.place(path), path)):
            yield from self._in_file(path, files[path], kinds)

    def _other_names(self, path: str, families: Mapping[str, set[str]]) -> set[str]:
        """Return the names under which a file imports what has one of some names: `import x as y`."""
        interface, references = self._own.graph.reader.facts(path)
        bindings = (*interface.bindings, *references.bindings) if interface and references else ()
        family = self._own.graph.family(path)
        return {each.name for each in bindings if family in families.get(each.imported, ())} - {"*"}

    def _in_file(self, path: str, names: Collection[str], kinds: Collection[str]) -> Iterator[Crossed]:
        graph = self._own.graph
        if not self._budget.take("files"):
            return
        _, references = graph.reader.facts(path)
        if references is None:
            return
        own = graph.links.definitions_at(path)
        symbols = [each.symbol for each in own]
        language = graph.tree.files[path].language
        for link in link_named(path, language, symbols, references, self._view, names).links:
            number, inner = self._view.divided(link.target_path)
            if link.state != "name" and link.name in names:
                self.decided.add((path, link.line, ""))
            if number and link.target_name and (not kinds or link.kind in kinds):
                side = self._others[number - 1]
                target = side.graph.links.definitions_at(inner, link.target_name)
                scope = own[link.scope].id if link.scope >= 0 else 0
                if target:
                    yield Crossed(path, link.line, link.name, link.kind, scope, side, target[0])


INHERITS: Final = ("inherit",)

_KINDS: Final[dict[str, tuple[str, ...]]] = {
    "callers": CALLS,
    "references": (),
    "subclasses": INHERITS,
    "implementations": INHERITS,
    "impact": (),
    "tests": (),
    "callees": CALLS,
    "superclasses": INHERITS,
}
"""The kinds of references that a relation follows over a border."""

CROSSING: Final = frozenset(_KINDS)
"""The relations that are followed over borders."""


def across(
    relation: str,
    asked: Sequence[tuple[Side, Meaning]],
    own: Side,
    others: Sequence[Side],
    depth: int,
    budget: CrossingBudget,
) -> tuple[Findings, Decided]:
    """Return the places in the project `own` that have a relation to definitions of `others`, and what is
    decided about its references.

    `asked` are the meanings of the subjects in their projects. What is affected is followed over one border,
    and from there on in `own`.
    """
    kinds = _KINDS[relation]
    there = [(side, meaning) for side, meaning in asked if side is not own]
    if relation in {"callees", "superclasses"}:
        why = "called" if relation == "callees" else "inherited from"
        found = [
            at_definition(
                each.definition, "resolved", why, f"{side.label}: {each.path}:{each.line}", distance=at
            )
            for side, meaning in there
            for at, each in enumerate(Crossing(side, [own], budget).used_by(meaning, kinds))
        ]
        leaving = [
            each
            for side, meaning in asked
            if side is own
            for each in Crossing(own, others, budget).used_by(meaning, kinds)
        ]
        return Findings(in_order(found, own.graph.place)), {
            (each.path, each.line, each.name) for each in leaving
        }
    crossing = Crossing(own, others, budget)
    follows = relation in {"impact", "tests"}
    uses = crossing.uses(there, kinds, members=follows)
    found = [
        FoundPlace(
            each.path,
            each.line,
            each.scope,
            "resolved",
            "",
            f"{WHY[each.kind]}, defined in {each.side.label}",
        )
        for each in uses
    ]
    remarks: tuple[str, ...] = ()
    if follows and uses:
        scopes = {each.scope for each in uses if each.scope}
        found += reaching(scopes, own.graph, depth - 1)
        if relation == "tests":
            found = [each for each in found if own.graph.is_test(each.path)]
        remarks = (f"followed over the border into {own.label}",)
    return Findings(in_order(found, own.graph.place), remarks, budget.was_cut), crossing.decided
