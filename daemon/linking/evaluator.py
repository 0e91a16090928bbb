"""Evaluation of chains through the interfaces of files: names, members, calls, elements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from ..languages.shared.chains import parts_of
from ..languages.shared.interface import FileInterface, LinkEvidence
from ..languages.shared.link_rules import (
    ELEMENT_METHOD,
    ELEMENT_METHODS,
    UNKNOWN_VALUE,
    LinkerView,
    LinkRules,
    ModuleFiles,
    Value,
    Values,
    What,
    called_external,
    external,
    is_external,
    merged,
)
from ..languages.shared.records import Binding, Export
from .questions import DEPTH_MAX, IMPORT_STEPS, INTERFACE_STEPS, Questions, Wildcards

BASES_MAX: Final = 64
"""Maximum number of superclasses examined for a class."""


class Lineage(NamedTuple):
    """A class and its superclasses, nearest first; `open` says that some are unknown, `outside` that one lies
    outside of the project."""

    classes: tuple[tuple[str, str], ...]
    open: bool
    outside: bool


Lookup = Callable[[str], Values]
"""Looks up the first name of a chain at the chain's place."""


class Evaluator:
    """Evaluates chains for one file with `references` references. `consulted` collects the files and folders
    that influenced the result, `questions` caches the answers."""

    def __init__(self, world: LinkerView, rules_of: Callable[[str], LinkRules], references: int = 0) -> None:
        self._world = world
        self._rules_of = rules_of
        self.consulted: set[str] = set()
        self._interfaces: dict[str, FileInterface | None] = {}
        self._rules: dict[str, LinkRules] = {}
        self._modules: dict[tuple[str, str, str], ModuleFiles] = {}
        self.questions = Questions(references)
        self._known = self.questions.known  # checked first: most questions were asked before
        self.begin = self.questions.begin
        self.spend = self.questions.spend
        self.is_too_deep = self.questions.is_too_deep
        self._siblings: dict[str, tuple[str, ...]] = {}
        self._wildcards: dict[str, Wildcards] = {}
        self._named: dict[str, dict[str, list[Binding]]] = {}
        self._exported: dict[str, dict[str, list[Export]]] = {}

    # Files

    def interface(self, path: str) -> FileInterface | None:
        """Return a file's interface, and record that the result depends on it."""
        try:
            return self._interfaces[path]
        except KeyError:
            self.consulted.add(path)
            self.questions.charge(INTERFACE_STEPS)
            found = self._interfaces[path] = self._world.interface(path)
            return found

    def rules(self, path: str) -> LinkRules:
        """Return the link rules of a file's language."""
        rules = self._rules.get(path)
        if rules is None:
            interface = self.interface(path)
            rules = self._rules[path] = self._rules_of(interface.language if interface is not None else "")
        return rules

    def module(self, importer: str, language: str, module: str, name: str = "") -> ModuleFiles:
        """Return the files that an import resolves to."""
        key = (importer, module, name)  # for some languages the file's own name matters: `mod` in Rust
        if key not in self._modules:
            self.questions.charge(IMPORT_STEPS)
            self._modules[key] = self._world.module(importer, language, module, name)
        return self._modules[key]

    def siblings(self, path: str) -> tuple[str, ...]:
        """Return the files in a file's folder, and record that the result depends on the folder."""
        found = self._siblings.get(path)
        if found is None:
            self.consulted.add(path.rpartition("/")[0] + "/")
            found = self._siblings[path] = self._world.siblings(path)
        return found

    # Names

    def top(self, path: str, name: str, depth: int = 0, *, builtins: bool = True) -> Values:
        """Return the meaning of a name at the top of a file; with `builtins` also builtin names."""
        key = ("top" if builtins else "own", path, name)
        known: Values | None = self._known.get(key)
        if known is not None:
            return known
        return self.questions.once(key, depth, lambda: self._top(path, name, depth, builtins), UNKNOWN_VALUE)

    def _top(self, path: str, name: str, depth: int, builtins: bool) -> Values:
        interface = self.interface(path)
        if interface is None:
            return UNKNOWN_VALUE
        bound = self._bound(path, interface, name, depth)
        if bound and not is_external(bound) and interface.names.get(name) in {"variable", "constant"}:
            return bound  # `x = x` behind an import, or a default that an import replaces
        if name in interface.names:
            return (Value(What.DEFINITION, path, name),)
        if bound:
            return bound
        if name in interface.types:
            return self.evidence(path, interface.types[name], "", depth + 1)
        rules = self.rules(path)
        look = self._in_wildcard_files if rules.wildcards_are_files else self._in_wildcards
        if values := look(path, interface, name, depth):
            return values
        return rules.ambient(self, path, name) if builtins else UNKNOWN_VALUE

    def _in_wildcards(self, path: str, interface: FileInterface, name: str, depth: int) -> Values:
        for binding in self.bound_in(path, interface).get("*", ()):
            if not self.spend():
                break
            values = self.binding(path, interface.language, binding, name, depth)
            if values and not is_external(values):
                return values
        return UNKNOWN_VALUE

    def _in_wildcard_files(self, path: str, interface: FileInterface, name: str, depth: int) -> Values:
        """Return the meaning of a name in the first file with that name among those that wildcards import."""
        passes_on = self.rules(path).passes_imports_on
        for each in self._wildcard_files(path):
            if not self.spend():
                break
            near = self.interface(each)
            if near is None:
                continue
            if name in near.names or name in near.types or (passes_on and name in self.bound_in(each, near)):
                values = self.defined(each, near, name, depth + 1)
                if passes_on and (not values or near.names.get(name) in {"variable", "constant"}):
                    bound = self._bound(each, near, name, depth + 1)
                    values = bound if bound and not is_external(bound) else values
                if values and not is_external(values):
                    return values
        return UNKNOWN_VALUE

    def defined(self, path: str, interface: FileInterface, name: str, depth: int) -> Values:
        """Return the meaning of a name that a file defines or assigns, ignoring its imports."""
        if name in interface.names:
            return (Value(What.DEFINITION, path, name),)
        if name in interface.types:
            return self.evidence(path, interface.types[name], "", depth + 1)
        return UNKNOWN_VALUE

    def _wildcard_files(self, path: str) -> Wildcards:
        found = self._wildcards.get(path)
        if found is None:
            rules = self.rules(path)

            def targets(of: str) -> Iterator[str]:
                shown = self.interface(of)
                return iter(()) if shown is None else rules.wildcard_files(self, of, shown)

            found = Wildcards(path, targets, self.spend, passes_on=rules.passes_imports_on)
            self._wildcards[path] = found
        return found

    def _bound(self, path: str, interface: FileInterface, name: str, depth: int) -> Values:
        outside: Values = UNKNOWN_VALUE
        for binding in self.bound_in(path, interface).get(name, ()):
            values = self.binding(path, interface.language, binding, name, depth)
            if values and not is_external(values):
                return values
            outside = outside or values
        return outside

    def bound_in(self, path: str, interface: FileInterface) -> dict[str, list[Binding]]:
        """Return a file's top-level bindings by the names they introduce."""
        if path not in self._named:
            by_name: dict[str, list[Binding]] = {}
            for binding in interface.bindings:
                by_name.setdefault(binding.name, []).append(binding)
            self._named[path] = by_name
        return self._named[path]

    def exports_in(self, path: str, interface: FileInterface) -> dict[str, list[Export]]:
        """Return a file's exports by name."""
        if path not in self._exported:
            by_name: dict[str, list[Export]] = {}
            for export in interface.exports:
                by_name.setdefault(export.name, []).append(export)
            self._exported[path] = by_name
        return self._exported[path]

    def binding(self, path: str, language: str, binding: Binding, name: str, depth: int) -> Values:
        """Return the meaning of a name that a file's binding introduces."""
        imported = name if binding.name == "*" else binding.imported
        if self.questions.is_too_deep(depth):
            return UNKNOWN_VALUE
        rules = self._rules_of(language)
        return rules.imported(self, path, language, binding.module, imported, depth + 1)

    def module_member(self, path: str, name: str, depth: int = 0) -> Values:
        """Return the meaning of a name of a file for its importers."""
        interface = self.interface(path)
        if interface is None:
            return UNKNOWN_VALUE
        return self.questions.once(
            ("member", path, name),
            depth,
            lambda: self.rules(path).module_members(self, path, interface, name, depth),
            UNKNOWN_VALUE,
        )

    # Chains

    def follow(self, chain: str, path: str, lookup: Lookup, depth: int = 0) -> Values:
        """Return the meaning of a chain in a file; `lookup` resolves its first name."""
        head, colon, rest = chain.partition(":")
        steps = parts_of(head)
        if not steps or self.questions.is_too_deep(depth) or not self.spend():
            return UNKNOWN_VALUE
        rules = self.rules(path)
        values = rules.literal(steps[0]) or lookup(steps[0])
        values = self._steps(values, steps[1:], depth)
        if colon:
            return self._steps(self.instances(values, rules), parts_of(rest), depth)
        return values

    def _steps(self, values: Values, steps: Sequence[str], depth: int) -> Values:
        for step in steps:
            if not values or not self.spend():
                return UNKNOWN_VALUE
            if len(values) == 1:  # nearly always
                values = self._step(values[0], step, depth + 1)
                values = values if len(values) < 2 else merged((values,))
            else:
                values = merged(self._step(value, step, depth + 1) for value in values)
        return values

    def _step(self, value: Value, step: str, depth: int) -> Values:
        if step == "()":
            return self.called(value, depth)
        if step == "[]":
            return self.element(value, depth)
        return self.member(value, step.removeprefix("."), depth)

    def evidence(self, path: str, found: Iterable[LinkEvidence], holder: str, depth: int) -> Values:
        """Return the values for evidence from a file; `holder` is the class of the object or method
        concerned."""
        return self.evidence_for(path, found, (path, holder) if holder else ("", ""), depth)

    def evidence_for(
        self, path: str, found: Iterable[LinkEvidence], receiver: tuple[str, str], depth: int
    ) -> Values:
        """Return the values for evidence if the object is an instance of the class `receiver`."""
        if self.questions.is_too_deep(depth):
            return UNKNOWN_VALUE
        rules = self.rules(path)

        def lookup(name: str) -> Values:
            return self.named_object(rules, name, receiver) or self.top(path, name, depth + 1)

        return merged(self._evidence(path, item, rules, lookup, depth + 1) for item in found)

    def _evidence(
        self, path: str, item: LinkEvidence, rules: LinkRules, lookup: Lookup, depth: int
    ) -> Values:
        if not item.is_type:
            return self.follow(item.chain, path, lookup, depth)
        return self.typed(item.chain, path, rules, lookup, depth)

    def typed(self, chain: str, path: str, rules: LinkRules, lookup: Lookup, depth: int) -> Values:
        """Return an instance of the type named by a chain; `list[].Foo` holds instances of `Foo`."""
        _, dot, element = chain.partition("[].")
        if dot:
            held = self.typed(element, path, rules, lookup, depth + 1) if depth < DEPTH_MAX else ()
            return (Value(What.ELEMENTS, element=held),)
        if chain in rules.opaque_types:
            return UNKNOWN_VALUE
        return self.instances(self.follow(chain, path, lookup, depth), rules)

    def instances(self, values: Values, rules: LinkRules) -> Values:
        """Return instances of the types among values."""
        return merged(self._instance(value, rules) for value in values)

    def _instance(self, value: Value, rules: LinkRules) -> Values:
        if value.what is What.EXTERNAL:
            last = value.name.rpartition(".")[2]
            return UNKNOWN_VALUE if last in rules.opaque_types else external(value.name)
        if value.what is What.INSTANCE:
            return (value,)  # `Self`, looked up as the object
        if value.what is What.DEFINITION and self.is_class(value.path, value.name):
            return (Value(What.INSTANCE, value.path, value.name),)
        return UNKNOWN_VALUE

    def named_object(self, rules: LinkRules, name: str, receiver: tuple[str, str]) -> Values:
        """Return the object, its class or its bases for a keyword of the language such as `self` or
        `super`."""
        if not receiver[1]:
            return UNKNOWN_VALUE
        if name in rules.self_names:
            return (Value(What.INSTANCE, *receiver),)
        if name in rules.class_names:
            return (Value(What.DEFINITION, *receiver),)
        if name in rules.super_names:
            return (Value(What.SUPER, *receiver),)
        return UNKNOWN_VALUE

    # Steps

    def called(self, value: Value, depth: int) -> Values:
        """Return the result of calling a value."""
        match value.what:
            case What.EXTERNAL:
                return called_external(value.name)
            case What.ELEMENTS if value.name == ELEMENT_METHOD:
                return value.element
            case What.SUPER | What.ELEMENTS:
                return (value,)  # `super()`; the result of a container's method has the same elements
            case What.DEFINITION if self.is_class(value.path, value.name):
                return (Value(What.INSTANCE, value.path, value.name),)
            case What.DEFINITION:
                return self._returned(value, depth)
            case _:
                return UNKNOWN_VALUE

    def _returned(self, value: Value, depth: int) -> Values:
        interface = self.interface(value.path)
        if interface is None or self.questions.is_too_deep(depth):
            return UNKNOWN_VALUE
        found = interface.types.get(f"{value.name}()")
        if found is None:
            return UNKNOWN_VALUE
        receiver = value.receiver
        if not receiver[1]:
            holder = value.name.rpartition(".")[0]
            receiver = (value.path, holder) if holder and self.is_class(value.path, holder) else ("", "")
        return self.questions.once(
            ("returned", value.path, value.name, *receiver),
            depth,
            lambda: self.evidence_for(value.path, found, receiver, depth + 1),
            UNKNOWN_VALUE,
        )

    def element(self, value: Value, depth: int) -> Values:
        """Return an element of a value."""
        if value.what is What.ELEMENTS:
            return value.element
        if value.what is What.DEFINITION and not self.is_class(value.path, value.name):
            held = self.read(value, depth)
            return merged(each.element for each in held if each.what is What.ELEMENTS)
        return UNKNOWN_VALUE

    def member(self, value: Value, name: str, depth: int) -> Values:
        """Return a member of a value."""
        match value.what:
            case What.EXTERNAL:
                return external(f"{value.name}.{name}")
            case What.MODULE:
                return self.module_member(value.path, name, depth)
            case What.ELEMENTS:
                gives_one = name in ELEMENT_METHODS
                return (value._replace(name=ELEMENT_METHOD if gives_one else name),)
            case What.SUPER:
                return self.class_member(value.path, value.name, name, depth, above=True)
            case What.INSTANCE:
                return self.class_member(value.path, value.name, name, depth)
            case _:
                return self._member_of_definition(value, name, depth)

    def _member_of_definition(self, value: Value, name: str, depth: int) -> Values:
        interface = self.interface(value.path)
        if interface is None:
            return UNKNOWN_VALUE
        if self.is_class(value.path, value.name):
            return self.class_member(value.path, value.name, name, depth)
        nested = f"{value.name}.{name}"
        if nested in interface.names:
            return (Value(What.DEFINITION, value.path, nested),)
        return merged(self.member(each, name, depth + 1) for each in self.read(value, depth))

    def read(self, value: Value, depth: int) -> Values:
        """Return the content of a variable, or the value of a property, which is read without a call."""
        interface = self.interface(value.path)
        if interface is None or self.questions.is_too_deep(depth):
            return UNKNOWN_VALUE
        if interface.names.get(value.name) in {"variable", "constant"}:
            found = interface.types.get(value.name, ())
            return self.questions.once(
                ("read", value.path, value.name),
                depth,
                lambda: self.evidence(value.path, found, "", depth + 1),
                UNKNOWN_VALUE,
            )
        return self._returned(value, depth + 1)

    # Classes

    def is_class(self, path: str, name: str) -> bool:
        """Return whether a definition can have instances."""
        interface = self.interface(path)
        return interface is not None and interface.names.get(name) in self.rules(path).class_kinds

    def lineage(self, path: str, name: str) -> Lineage:
        """Return a class and its superclasses in the order of member lookup.

        Ends at a cycle in the hierarchy.
        """
        key = ("lineage", path, name)
        known: Lineage | None = self._known.get(key)
        if known is not None:
            return known
        unknown = Lineage(((path, name),), open=True, outside=False)
        return self.questions.once(key, 0, lambda: self._lineage(path, name), unknown)

    def _lineage(self, path: str, name: str) -> Lineage:
        found = [(path, name)]
        is_open = outside = False
        interface = self.interface(path)
        for chain in interface.bases.get(name, ()) if interface is not None else ():
            values = self.in_class_file(path, name, chain, 0)
            outside = outside or is_external(values)
            classes = [value for value in values if value.what is What.DEFINITION]
            is_open = is_open or not (classes or is_external(values))
            for value in classes:
                above = self.lineage(value.path, value.name)
                found.extend(above.classes)
                is_open, outside = is_open or above.open, outside or above.outside
        # A shared superclass comes after all its subclasses, as in C3 linearization.
        ordered = dict.fromkeys(reversed(found[:BASES_MAX]))
        return Lineage(tuple(reversed(ordered)), is_open, outside)

    def in_class_file(self, path: str, name: str, chain: str, depth: int) -> Values:
        """Return the meaning of a chain next to a class: definitions inside the same holder come first."""

        def lookup(first: str) -> Values:
            interface = self.interface(path)
            holder = name.rpartition(".")[0]
            while holder and interface is not None:
                if f"{holder}.{first}" in interface.names and f"{holder}.{first}" != name:
                    return (Value(What.DEFINITION, path, f"{holder}.{first}"),)
                holder = holder.rpartition(".")[0]
            if first == name and interface is not None:  # `class Foo(Foo)`: the imported class
                return self._bound(path, interface, first, depth)
            return self.top(path, first, depth)

        return self.follow(chain, path, lookup, depth)

    def class_member(self, path: str, name: str, member: str, depth: int, *, above: bool = False) -> Values:
        """Return a member of a class or its superclasses; with `above` only of the superclasses."""
        key = ("above" if above else "class", path, name, member)
        known: Values | None = self._known.get(key)
        if known is not None:
            return known
        return self.questions.once(
            key, depth, lambda: self._class_member(path, name, member, depth, above=above), UNKNOWN_VALUE
        )

    def _class_member(self, path: str, name: str, member: str, depth: int, *, above: bool) -> Values:
        lineage = self.lineage(path, name)
        receiver = (path, name)
        for at_path, at_name in lineage.classes[1 if above else 0 :]:
            qualified = f"{at_name}.{member}"
            for part in self.rules(at_path).parts(self, at_path, at_name):
                if not self.spend():
                    return UNKNOWN_VALUE
                if values := self._own_member(part, qualified, receiver, depth):
                    return values
        if lineage.outside and not lineage.open and above:
            return external(member)
        return UNKNOWN_VALUE

    def _own_member(self, path: str, qualified: str, receiver: tuple[str, str], depth: int) -> Values:
        """Return a file's member of a class, nothing if the file has none."""
        interface = self.interface(path)
        if interface is None:
            return UNKNOWN_VALUE
        if qualified in interface.names:
            return (Value(What.DEFINITION, path, qualified, receiver),)
        found = interface.types.get(qualified)
        if found is None:
            return UNKNOWN_VALUE
        return self.questions.once(
            ("attribute", path, qualified, *receiver),
            depth,
            lambda: self.evidence_for(path, found, receiver, depth + 1),
            UNKNOWN_VALUE,
        )
