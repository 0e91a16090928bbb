"""Owns written types as chains: what an annotation says a variable is an instance of; sees no tree."""

from __future__ import annotations

import re
from typing import Final

from .chains import chain_of
from .references import UNKNOWN

UNION_MAX = 4
"""Members of a union that are looked at; a variable of more types says nothing of any."""

ELEMENT = "[]."
"""Stands in a chain between a container and the type of its elements: `list[].Foo`."""


INFERRED: Final = frozenset({"var", "auto", "_", "val", "let"})
"""Written where a type could stand, by which the language takes that of the value."""


def type_chains(written: str, depth: int = 0) -> tuple[str, ...]:
    """Return the chains of the project's types that a written type names, of a union one for each.

    Wrappers that stand for what they hold (`Optional[Foo]`, `Arc<Foo>`, `*Foo`, `Promise<Foo>`) are left out,
    containers become `list[].Foo`. Empty where nothing can be followed: `int | None` gives only `int`,
    a callable nothing.
    """
    text = _BEFORE.sub("", written.strip().strip("\"'")).strip()
    if not text or len(text) > _WRITTEN_MAX or depth > _DEPTH_MAX:
        return ()
    members = [each for each in _split(text, "|") if each not in _NOTHING]
    if len(members) != 1:
        found = dict.fromkeys(chain for each in members for chain in type_chains(each, depth + 1))
        return tuple(found) if len(members) <= UNION_MAX else ()
    return _single(members[0], depth)


_WRITTEN_MAX = 400
_DEPTH_MAX = 6
_BEFORE = re.compile(
    r"^(?:(?:[:?]|->|&+|\*+|'\w+\b(?!')|(?:mut|dyn|impl|const|readonly|final|some|any|struct|in|out|asserts)\b)\s*)+"
)
_NOTHING = frozenset({"None", "null", "undefined", "nil", "void", "NoneType", ""})
_WRAPPERS = frozenset(
    """Optional Annotated Final ClassVar Required NotRequired Type type Promise Awaitable Coroutine Partial
    Readonly PromiseLike Box Arc Rc Cell RefCell Mutex RwLock Option Result Ref RefMut Pin Cow Weak Supplier
    CompletableFuture Future Task ValueTask Nullable IO Lazy AtomicReference NonNullable Self
    unique_ptr shared_ptr weak_ptr optional""".split()  # noqa: SIM905 - a list of words reads worse
)
"""Generic types whose methods are mostly called on what they hold, where calls are resolved."""
_LAST_ARGUMENT = frozenset(
    "Coroutine dict Dict Mapping MutableMapping Map HashMap BTreeMap Record Dictionary MutableMap".split()  # noqa: SIM905 - as above
)
_CONTAINERS = frozenset(
    """list List tuple Tuple set Set frozenset Sequence Iterable Iterator Collection MutableSequence Generator
    AsyncIterator AsyncIterable Array ReadonlyArray Vec VecDeque HashSet BTreeSet dict Dict Mapping
    MutableMapping Map HashMap BTreeMap Record ArrayList LinkedList Queue Deque deque Stream
    MutableList MutableSet MutableMap Dictionary IEnumerable ICollection IList IReadOnlyList Seq Vector
    vector span""".split()  # noqa: SIM905 - as above
)
_GO = re.compile(r"map\[[^\[\]]*\](?=.)|\[[\w.]*\](?=.)|\.\.\.|(?:<-\s*)?chan(?:\s*<-)?\s+")
_GENERIC = re.compile(r"([\w.$:]+?)\s*(?:\[(.*)\]|<(.*)>)\Z", re.DOTALL)


def _single(text: str, depth: int) -> tuple[str, ...]:
    if text.endswith("[]") or text.startswith("[]"):
        return _elements("list", text.removesuffix("[]").removeprefix("[]"), depth)
    if text.startswith("[") and text.endswith("]") and "," not in text:  # Swift's `[Foo]`, `[Key: Foo]`
        return _elements("list", _split(text[1:-1], ":")[-1], depth)
    go = _GO.match(text)
    if go is not None:
        return _elements("map" if go[0].startswith("map") else "list", text[go.end() :], depth)
    text = text.rstrip("?!&* ")
    generic = _GENERIC.fullmatch(text)
    if generic is None:
        chain = chain_of(text)
        return (chain,) if chain != UNKNOWN and "(" not in chain and not chain.startswith("'") else ()
    outer, arguments = generic[1], _split(generic[2] or generic[3] or "", ",")
    last = re.split(r"[.:]", outer)[-1]
    if last == "Union":
        return type_chains(" | ".join(arguments), depth + 1)
    if not arguments:
        return ()
    chosen = arguments[-1] if last in _LAST_ARGUMENT else arguments[0]
    if last in _WRAPPERS:
        return type_chains(chosen, depth + 1)
    if last in _CONTAINERS:
        return _elements(last, chosen, depth)
    chain = chain_of(outer)
    return (chain,) if chain != UNKNOWN else ()


def _elements(container: str, written: str, depth: int) -> tuple[str, ...]:
    return tuple(f"{container}{ELEMENT}{chain}" for chain in type_chains(written, depth + 1))


def _split(text: str, separator: str) -> list[str]:
    """Return the parts of a text at a separator that stands in no bracket."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        if character in "[(<{":
            depth += 1
        elif character in "])>}":
            depth -= 1
        elif character == separator and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    parts.append(text[start:].strip())
    return parts
