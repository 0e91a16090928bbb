"""A file's interface: the facts that other files need to resolve references through it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct, field
from msgspec.json import decode as decode_json
from msgspec.json import encode as encode_json

from .chains import parts_of
from .qualified_names import base_name
from .records import Binding, Export, References, Symbol, TypeFact

INLINE_MAX: Final = 3
"""Maximum number of variables followed from an attribute's value to its type."""

ALTERNATIVES_MAX: Final = 4
"""Maximum number of types of a name; a name bound to more identifies none."""


class LinkEvidence(NamedTuple):
    """A chain that is evidence for a name: its type, or an expression that it is bound to."""

    chain: str
    is_type: bool


class FileInterface(Struct, frozen=True, array_like=True):
    """The public facts of a file. References resolve alike through files with equal interfaces.

    `names` maps the qualified names of its definitions to their kinds. `bindings` and `exports` are those of
    the whole file. `bases` maps classes to the chains they inherit, implement or mix in, in order. `types`
    maps typed names to the evidence: a variable `x`, an attribute `Session.client`, and with a trailing `()`
    the result of a function: `Session.login()`. Chains are evaluated at the top of this file; in evidence
    about a class they may use the language's word for the object itself.
    """

    language: str
    package: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    bindings: tuple[Binding, ...] = ()
    exports: tuple[Export, ...] = ()
    bases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    types: Mapping[str, tuple[LinkEvidence, ...]] = field(default_factory=dict)

    def encode(self) -> bytes:
        """Encode the interface as bytes; equal interfaces give equal bytes."""
        return encode_json(self)

    @classmethod
    def decode(cls, data: bytes) -> FileInterface:
        """Decode the bytes made by `encode`."""
        return decode_json(data, type=cls)


def interface_of(language: str, symbols: Sequence[Symbol], references: References) -> FileInterface:
    """Return the interface of a file, from its definitions and references."""
    names = {symbol.name: symbol.kind for symbol in symbols if symbol.kind != "section"}
    bases: dict[str, tuple[str, ...]] = {}
    for reference in references.references:
        if reference.kind == "inherit" and reference.scope >= 0:
            owner = symbols[reference.scope].name
            bases[owner] = (*bases.get(owner, ()), reference.chain)
    bindings = tuple(each for each in references.bindings if each.scope < 0)
    return FileInterface(
        language,
        references.package,
        names,
        bindings,
        references.exports,
        bases,
        _types(symbols, references.types),
    )


class InterfaceChange(NamedTuple):
    """The difference between two interfaces: the last names of added, removed and changed definitions, and
    whether more changed, so that every reference through the file may resolve differently."""

    names: frozenset[str]
    shape: bool

    def __bool__(self) -> bool:
        return self.shape or bool(self.names)


def change_between(former: FileInterface | None, current: FileInterface | None) -> InterfaceChange:
    """Return the difference between two interfaces of a file; None is a missing file."""
    if former is None or current is None:
        known = former or current
        names = known.names if known is not None else ()
        return InterfaceChange(frozenset(map(_base, names)), known is not None)
    differing: set[str] = {name for name, _ in set(former.names.items()) ^ set(current.names.items())}
    differing.update(name for name, _ in set(former.types.items()) ^ set(current.types.items()))
    passed_on = {each.name for each in set(former.bindings) ^ set(current.bindings)}
    passed_on.update(each.name for each in set(former.exports) ^ set(current.exports))
    shape = (former.language, former.package, former.bases) != (
        current.language,
        current.package,
        current.bases,
    )
    return InterfaceChange(
        frozenset(map(_base, differing | passed_on)) - {"*"}, shape=shape or "*" in passed_on
    )


def _base(name: str) -> str:
    """Return the last part of a qualified name, without the `()` that marks a result."""
    return base_name(name.removesuffix("()"))


def _types(symbols: Sequence[Symbol], facts: Iterable[TypeFact]) -> dict[str, tuple[LinkEvidence, ...]]:
    """Return the types of names that other files can see, with local variables inlined."""
    by_scope: dict[int, dict[str, list[LinkEvidence]]] = {}
    for fact in facts:
        said = by_scope.setdefault(fact.scope, {}).setdefault(fact.name, [])
        said.append(LinkEvidence(fact.chain, fact.is_type))
    found: dict[str, dict[LinkEvidence, None]] = {}
    classes = {symbol.name for symbol in symbols if symbol.kind not in _CALLABLE}
    for scope, known in by_scope.items():
        owner = symbols[scope] if scope >= 0 else None
        callable_ = owner is not None and owner.kind in _CALLABLE
        for name, alternatives in known.items():
            key = _key(name, owner, callable_, classes)
            if key:
                chosen = found.setdefault(key, {})
                for evidence in alternatives:
                    inlined = _inlined(evidence, known if callable_ else {}, INLINE_MAX)
                    if inlined is not None:
                        chosen[inlined] = None
    # A declaration covers every value.
    declared = {key: tuple(each for each in chosen if each.is_type) for key, chosen in found.items()}
    told = {key: declared[key] or tuple(chosen) for key, chosen in sorted(found.items())}
    return {key: evidence for key, evidence in told.items() if 0 < len(evidence) <= ALTERNATIVES_MAX}


_CALLABLE = frozenset({"function", "method", "macro", "constant", "variable", "prototype"})


def _key(name: str, owner: Symbol | None, callable_: bool, classes: set[str]) -> str:
    """Return the name of a variable in other files, an empty string if it isn't visible there."""
    if owner is None:
        return name if "." not in name else ""
    if name == "()":
        return f"{owner.name}()"
    if not callable_:
        return f"{owner.name}.{name}" if "." not in name else ""
    holder = owner.name
    while holder and holder not in classes:
        holder = holder.rpartition(".")[0]
    first, _, attribute = name.partition(".")
    if holder and attribute and "." not in attribute and first in SELF_NAMES:
        return f"{holder}.{attribute}"
    return ""


SELF_NAMES: Final = frozenset({"self", "this", "cls", "$this", "@"})
"""Names of a method's receiver (`self`, `this`), in all languages."""


def _inlined(
    evidence: LinkEvidence, known: Mapping[str, Sequence[LinkEvidence]], depth: int
) -> LinkEvidence | None:
    """Return evidence that is valid outside of its function, or None if it depends on unknown variables."""
    if not evidence.chain or evidence.is_type:
        return evidence if evidence.chain else None
    steps = parts_of(evidence.chain)
    if not steps or steps[0] not in known or steps[0] in SELF_NAMES:
        return evidence
    facts = [each for each in known[steps[0]] if each.chain]
    if depth == 0 or len(facts) != 1:
        return None
    rest = "".join(steps[1:])
    if facts[0].is_type:
        # A member of an instance of a written type: the language's rules read `type:` chains that way.
        return facts[0] if not rest else LinkEvidence(f"{facts[0].chain}:{rest}", is_type=False)
    return _inlined(LinkEvidence(facts[0].chain + rest, is_type=False), known, depth - 1)
