"""The linking of one file: resolves each of its references."""

from __future__ import annotations

import logging
import re
from bisect import bisect_right
from collections.abc import Collection, Sequence
from typing import Final, Literal, NamedTuple

from msgspec.structs import replace

from ..languages.shared.chains import last_name, parts_of
from ..languages.shared.interface import SELF_NAMES
from ..languages.shared.language import link_rules_of
from ..languages.shared.link_rules import (
    UNKNOWN_VALUE,
    VALUES_MAX,
    LinkerView,
    LinkRules,
    Value,
    Values,
    What,
    is_external,
)
from ..languages.shared.qualified_names import base_name
from ..languages.shared.records import Owners, Reference, ReferenceKind, References, Symbol, TypeFact
from .evaluator import Evaluator

log = logging.getLogger(__name__)

LINKER_VERSION: Final = 6
"""Increment this when the same facts would give other links; all files are then linked again."""

LinkState = Literal["resolved", "name", "external"]
"""`name` may be any definition of that name; `external` certainly lies outside of the project."""

LOCAL_DEPTH: Final = 8
"""Maximum number of local variables followed, each bound to the next."""


class Linked(NamedTuple):
    """A reference and its target: a definition by its file and qualified name, a file if the target is a
    module, nothing if it is unknown. `name` is the last name of the chain, `scope` the index of the symbol
    around the reference or -1."""

    line: int
    kind: ReferenceKind
    name: str
    scope: int
    target_path: str
    target_name: str
    state: LinkState


class LinkedFile(NamedTuple):
    """A file's links and their dependencies: the paths of the interfaces read, and with a trailing slash the
    folders in which another file may change the result.

    `steps` is the number of steps taken, `cut` the number of references that reached their limit (see
    questions.py); `exhausted` says that the file reached its own limit, so that its last references are known
    by name only.
    """

    links: tuple[Linked, ...]
    consulted: frozenset[str]
    steps: int = 0
    cut: int = 0
    exhausted: bool = False


def link_file(
    path: str, language: str, symbols: Sequence[Symbol], references: References, world: LinkerView
) -> LinkedFile:
    """Return the links of a file's references. Deterministic; it ends even if files import each other.

    A `type` or `use` without any known target is left out: nobody would search for it by name.
    """
    linker = _Linker(path, language, symbols, references, world)
    links = tuple(link for reference in references.references for link in linker.link(reference))
    questions = linker.evaluator.questions
    consulted = frozenset(linker.evaluator.consulted - {path})
    return LinkedFile(links, consulted, questions.steps, questions.cut, questions.exhausted)


def link_named(
    path: str,
    language: str,
    symbols: Sequence[Symbol],
    references: References,
    world: LinkerView,
    names: Collection[str],
) -> LinkedFile:
    """Return those links of a file that concern `names`: references that mention one, references in
    definitions of these names, and the bases of their classes. If there are none, return the bases of all
    classes of the file."""
    wanted = frozenset(names)
    bearing = [not wanted.isdisjoint(_WORDS.findall(symbol.name)) for symbol in symbols]
    owners = {each.name.rpartition(".")[0] for each, bears in zip(symbols, bearing, strict=True) if bears}
    mentions = [not wanted.isdisjoint(_WORDS.findall(each.chain)) for each in references.references]
    foreign = not any(bearing) and not any(mentions)
    chosen = tuple(
        each
        for each, mentioned in zip(references.references, mentions, strict=True)
        if mentioned
        or (each.scope >= 0 and bearing[each.scope])
        or (each.kind == "inherit" and each.scope >= 0 and (foreign or symbols[each.scope].name in owners))
    )
    return link_file(path, language, symbols, replace(references, references=chosen), world)


class _ReferenceMeaning(NamedTuple):
    """The meaning of a reference: its last name, and its possible values."""

    name: str
    targets: Values
    state: LinkState


_NOTHING: Final = _ReferenceMeaning("", (), "name")


class _Linker:
    def __init__(
        self, path: str, language: str, symbols: Sequence[Symbol], references: References, world: LinkerView
    ) -> None:
        self._path = path
        self._language = language
        self._symbols = symbols
        self._bindings = {(each.scope, each.name): each for each in references.bindings if each.scope >= 0}
        self._rules: LinkRules = link_rules_of(language)
        self.evaluator = Evaluator(world, link_rules_of, len(references.references))
        self._owners = Owners(symbols)
        self._names = {symbol.name: index for index, symbol in enumerate(symbols)}
        self._facts = _facts_by_name(references.types)
        self._by_line: dict[tuple[int, str], _Facts] = {}
        self._first: dict[int, TypeFact] = {}
        for fact in references.types:
            if fact.name != "()":
                self._first.setdefault(fact.scope, fact)
        self._blurred = self._blurred_by(references) if self._rules.block_scoped else frozenset()
        self._variables = {name for _, name in self._facts}
        self._inner_names = {
            *self._variables,
            *(name for _, name in self._bindings),
            *(name.rpartition(".")[2] for name in self._names),
        }
        """Names bound in some inner scope of the file; other names are looked up at the top only."""
        self._holders: dict[int, str] = {}
        self._meant: dict[tuple[ReferenceKind, int, str], _ReferenceMeaning] = {}
        self._found: dict[tuple[int, int, str], Values] = {}
        self._running: set[tuple[int, int, str]] = set()

    def link(self, reference: Reference) -> tuple[Linked, ...]:
        """Return a link for each possible target of a reference, none if no link is worth keeping."""
        key = reference.kind, reference.scope, reference.chain
        found = self._meant.get(key)
        if found is None:
            found = self._meaning(reference)
            if self._is_same_on_each_line(reference):
                self._meant[key] = found
        return tuple(
            self._linked(reference, found.name, target, found.state)
            for target in found.targets
            if not self._is_itself(target, reference)
        )

    def _is_same_on_each_line(self, reference: Reference) -> bool:
        """Return whether a reference certainly has the same target on every line of its scope: it doesn't
        start with a variable. Such a reference is resolved once."""
        if reference.kind == "inherit" or (self._rules.methods_apart and reference.chain.isidentifier()):
            return False
        steps = parts_of(reference.chain)
        return not (steps and self._is_local(steps[0], reference.scope))

    def _meaning(self, reference: Reference) -> _ReferenceMeaning:
        name = last_name(reference.chain)
        if not name:
            return _NOTHING
        self.evaluator.begin()
        try:
            values = self._values(reference)
        except RecursionError:  # far below the limits
            log.warning("%s:%d is followed deeper than Python goes", self._path, reference.line)
            self.evaluator.questions.meet_bound()
            values = UNKNOWN_VALUE
        targets = [each for each in values if each.what in _TARGETS and self._is_meant(each, reference, name)]
        if not targets:
            if reference.kind in {"type", "use"}:
                return _NOTHING
            state: LinkState = "name" if self._may_be_inside(values, reference) else "external"
            return _ReferenceMeaning(name, (Value(What.EXTERNAL),), state)
        if any(each.what is What.DEFINITION for each in targets):
            targets = [each for each in targets if each.what is What.DEFINITION]
        kept = dict.fromkeys((each.path, each.name) for each in targets)
        return _ReferenceMeaning(name, tuple(Value(What.DEFINITION, *each) for each in kept), "resolved")

    def _linked(self, reference: Reference, name: str, target: Value, state: LinkState) -> Linked:
        place = reference.line, reference.kind, name, reference.scope
        return Linked(*place, target.path, target.name, state)

    def _is_meant(self, target: Value, reference: Reference, name: str) -> bool:
        """Return whether a reference means a definition itself, not the content of a variable or attribute:
        `runner.state` doesn't mean the constant that the state began with."""
        if "." not in reference.chain or base_name(target.name) == name:
            return True
        if reference.kind == "use":
            return False
        interface = self.evaluator.interface(target.path)
        kind = interface.names.get(target.name) if interface is not None else None
        return kind not in {"variable", "constant"}

    def _may_be_inside(self, values: Values, reference: Reference) -> bool:
        """Return whether an unresolved reference may mean a definition in the project: it may, unless all of
        its values lie outside."""
        if not (is_external(values) or _is_container(values)):
            return True
        # A string can't be called, so in this block the name must mean something else.
        root = parts_of(reference.chain)
        return reference.kind == "call" and len(root) == 1 and self._is_local(root[0], reference.scope)

    def _blurred_by(self, references: References) -> frozenset[str]:
        """Return the names that a block or anonymous function at the top of the file binds again."""
        bound = {each.name for each in references.bindings}
        imports = {(each.name, each.line) for each in references.types if each.chain.startswith(_REQUIRED)}
        blurred: set[str] = set()
        for fact in references.types:
            if fact.scope >= 0 or (fact.name, fact.line) in imports:
                continue
            at = self._names.get(fact.name)
            symbol = self._symbols[at] if at is not None else None
            elsewhere = symbol is not None and not symbol.start_line <= fact.line <= symbol.end_line
            if fact.name in bound or elsewhere:
                blurred.add(fact.name)
        return frozenset(blurred)

    def _is_itself(self, target: Value, reference: Reference) -> bool:
        """Return whether a variable refers to itself in its own binding."""
        return (
            reference.kind == "use"
            and target.path == self._path
            and reference.scope >= 0
            and self._symbols[reference.scope].name == target.name
            and self._symbols[reference.scope].start_line == reference.line
        )

    def _values(self, reference: Reference) -> Values:
        scope, line = reference.scope, reference.line
        if reference.kind in {"inherit", "decorate"} and scope >= 0:
            if reference.kind == "inherit":
                name = self._symbols[scope].name
                return self.evaluator.in_class_file(self._path, name, reference.chain, 0)
            scope = self._owners.outer(scope)
        if reference.kind == "call" and self._rules.methods_apart and reference.chain.isidentifier():
            return self._look_up(reference.chain, scope, line, 0, methods=True)
        values = self._follow(reference.chain, scope, self._line_of(reference), 0)
        if reference.kind in {"use", "type"}:
            values = tuple(each for each in values if each.what is What.DEFINITION)
        return values

    def _follow(self, chain: str, scope: int, line: int, depth: int) -> Values:
        steps = parts_of(chain)
        at = line if steps and self._is_local(steps[0], scope) else 0
        key = (scope, at, chain)
        if key not in self._found:
            if key in self._running or depth > LOCAL_DEPTH or not self.evaluator.spend():
                return UNKNOWN_VALUE
            self._running.add(key)
            try:
                self._found[key] = self.evaluator.follow(
                    chain, self._path, lambda name: self._look_up(name, scope, line, depth)
                )
            finally:
                self._running.discard(key)
        return self._found[key]

    def _line_of(self, reference: Reference) -> int:
        """Return the line on which a reference's names are looked up: in `user = user.new()` the second
        `user` is not the variable, but what the name meant before."""
        first = parts_of(reference.chain)[:1]
        facts = self._facts.get((reference.scope, first[0]), ()) if first else ()
        line = reference.line
        return line - any(fact.line == line and fact.chain.startswith(reference.chain) for fact in facts)

    def _is_local(self, name: str, scope: int) -> bool:
        while scope >= 0 and name in self._variables:
            if (scope, name) in self._facts:
                return True
            scope = self._owners.outer(scope)
        return False

    def _look_up(self, name: str, scope: int, line: int, depth: int, *, methods: bool = False) -> Values:
        """Return the meaning of a name on a line: in the functions and classes around it, then in the
        file."""
        inner = scope
        if name not in self._inner_names and not self._rules.implicit_members:
            scope = -1
        while scope >= 0:
            symbol = self._symbols[scope]
            is_class = symbol.kind in self._rules.class_kinds
            if not is_class or scope == inner or self._rules.implicit_members:
                found = self._in_scope(name, scope, line, depth, is_class, methods)
                if found is not None:
                    return found
            scope = self._owners.outer(scope)
        if inner < 0 and name in self._blurred:
            return UNKNOWN_VALUE
        holder = self._holder(inner)
        if holder and (values := self.evaluator.named_object(self._rules, name, (self._path, holder))):
            return values
        return self.evaluator.top(self._path, name)

    def _in_scope(
        self, name: str, scope: int, line: int, depth: int, is_class: bool, methods: bool
    ) -> Values | None:
        """Return the meaning of a name in one scope, None if the scope doesn't bind it."""
        symbol = self._symbols[scope]
        holder = self._holder(scope)
        facts = self._facts.get((scope, name))
        if facts is not None and not is_class and not methods:
            near = self._nearest(facts, line)
            if near and all(fact.line > line and _is_own_source(fact) for fact in near):
                return None
            if name in SELF_NAMES and self._is_first(near, scope, holder):
                return self.evaluator.named_object(self._rules, name, (self._path, holder))
            return self._known(near, scope, depth)
        binding = self._bindings.get((scope, name))
        if binding is not None:
            return self.evaluator.binding(self._path, self._language, binding, name, 0)
        if f"{symbol.name}.{name}" in self._names:
            return (Value(What.DEFINITION, self._path, f"{symbol.name}.{name}"),)
        if is_class and (self._rules.implicit_members or facts is not None):
            return self.evaluator.class_member(self._path, symbol.name, name, 0) or None
        return None

    def _nearest(self, facts: Sequence[TypeFact], line: int) -> Sequence[TypeFact]:
        """Return the facts about a variable that are valid on a line."""
        if len(facts) == 1:
            return facts
        key = facts[0].scope, facts[0].name
        if key not in self._by_line:
            self._by_line[key] = _Facts(facts)
        return self._by_line[key].nearest(line)

    def _is_first(self, facts: Sequence[TypeFact], scope: int, holder: str) -> bool:
        """Return whether a name is a method's first parameter; other parameters may also be called `cls`."""
        symbol = self._symbols[scope]
        is_method = bool(holder) and symbol.kind == "method" and symbol.name.rpartition(".")[0] == holder
        if not is_method or not facts:
            return False
        return not any(fact.chain for fact in facts) and facts[0] is self._first.get(scope)

    def _known(self, facts: Sequence[TypeFact], scope: int, depth: int) -> Values:
        """Return the possible values of a local variable, according to its facts."""
        found: dict[Value, None] = {}
        for fact in facts:
            if not fact.chain:
                continue
            if fact.is_type:
                values = self.evaluator.typed(
                    fact.chain,
                    self._path,
                    self._rules,
                    lambda name, at=fact: self._look_up(name, scope, at.line, depth + 1),  # type: ignore[misc]  # bound now, called at once
                    depth,
                )
            else:
                # In `x = f(x)` the second `x` means the previous binding.
                before = fact.line - _is_own_source(fact)
                values = self._follow(fact.chain, scope, before, depth + 1)
                values = self._read(values)
            found.update(dict.fromkeys(values))
        return tuple(found)

    def _read(self, values: Values) -> Values:
        """Replace variables and properties among values by their contents."""
        found: list[Value] = []
        for value in values:
            if value.what is What.DEFINITION and not self.evaluator.is_class(value.path, value.name):
                held = self.evaluator.read(value, 0)
                objects = [each for each in held if each.what is not What.DEFINITION]
                found.extend(objects or [value])
            else:
                found.append(value)
        return tuple(found)

    def _holder(self, scope: int) -> str:
        """Return the name of the class around a scope, or an empty string."""
        known = self._holders.get(scope)
        if known is None:
            known = self._holders[scope] = self._holder_of(scope)
        return known

    def _holder_of(self, scope: int) -> str:
        while scope >= 0:
            symbol = self._symbols[scope]
            if symbol.kind in self._rules.class_kinds:
                return symbol.name
            owner = symbol.name.rpartition(".")[0]
            if symbol.kind == "method" and owner:
                return owner
            scope = self._owners.outer(scope)
        return ""


_REQUIRED = ("require()", "import()")

_WORDS = re.compile(r"\w+")

_TARGETS = frozenset({What.DEFINITION, What.MODULE})


def _is_container(values: Values) -> bool:
    """Return whether a chain ends at a builtin container or one of its methods."""
    return bool(values) and all(value.what in {What.ELEMENTS, What.EXTERNAL, What.SUPER} for value in values)


def _is_own_source(fact: TypeFact) -> bool:
    """Return whether a variable is bound to something that its own name leads to: `user = user.new()`."""
    return not fact.is_type and parts_of(fact.chain)[:1] == (fact.name,)


def _facts_by_name(facts: Sequence[TypeFact]) -> dict[tuple[int, str], list[TypeFact]]:
    found: dict[tuple[int, str], list[TypeFact]] = {}
    for fact in facts:
        if fact.scope >= 0:
            found.setdefault((fact.scope, fact.name), []).append(fact)
    return found


class _Facts:
    """The facts about one variable, by line."""

    def __init__(self, facts: Sequence[TypeFact]) -> None:
        by_line: dict[int, list[TypeFact]] = {}
        for fact in facts:
            by_line.setdefault(fact.line, []).append(fact)
        self._lines = sorted(by_line)
        # More bindings of a variable on one line are generated code.
        self._facts = [by_line[line] if len(by_line[line]) <= VALUES_MAX else [] for line in self._lines]

    def nearest(self, line: int) -> Sequence[TypeFact]:
        """Return the facts of the last binding before a line, else those of the first after it."""
        return self._facts[max(bisect_right(self._lines, line) - 1, 0)]
