"""Owns what Rust's `use` and `mod` bring into a file: their text in, modules and names out; sees no tree.

Modules are written relative to the file instead of to the inline module that a statement stands in, so that
they can be resolved without the source: in `mod tests { use super::*; }` the module is `self`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from .source_text import MAX_NAME

USE_MAX = 20_000
"""Characters of one statement that are read; the largest trees of real code have 3,000."""

DEPTH_MAX = 32
"""Braces within braces that are read: each level repeats the path before it."""

ATTRIBUTES_MAX = 300
"""Characters before a module's name that are read for its attributes."""

JOINT = "::"


class UseItem(NamedTuple):
    """One name that comes in: `imported` of `module`, `*` for the module itself; here it is `name`.

    `name` is `*` when all names of the module come in, and `_` for a trait without a name. A module that is
    a file of any other name is its path, relative to the importer's folder: `./other/x.rs`.
    """

    module: str
    imported: str
    name: str


class UseBlock(NamedTuple):
    """The body of an inline module, in bytes."""

    start: int
    end: int
    name: str


def used_names(tree: str, inside: Sequence[str] = ()) -> list[UseItem]:
    """Return what a use tree (`crate::a::{b, c as d, e::*}`) brings in, in order.

    `inside` are the inline modules that it stands in. What is broken or nested too deeply is left out.
    """
    found: list[UseItem] = []
    for path, alias in _leaves(tree[:USE_MAX]):
        use = _use(_from_file(path, inside), alias)
        if use is not None and len(use.module) <= MAX_NAME:
            found.append(use)
    return found


def declared_module(name: str, before: str, inside: Sequence[str] = ()) -> tuple[UseItem, bool]:
    """Return what `mod name;` brings in, and whether it certainly has a file.

    `before` is what stands before the name, of which the attributes are read: a `path` names the file, and
    what is compiled on a condition may be generated or left out.
    """
    attributes = re.split(r"[;{}]", before)[-1]
    path = _PATH.search(attributes)
    if path is not None and not inside:
        return UseItem(f"./{path[1]}", "*", name), "cfg" not in attributes
    return UseItem(JOINT.join(("self", *inside)), name, name), "cfg" not in attributes and path is None


def inside_of(offsets: Iterable[int], blocks: Iterable[UseBlock]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield offsets in order, each with the names of the inline modules around it, outer ones first."""
    waiting = sorted(blocks, reverse=True)
    around: list[UseBlock] = []
    for offset in sorted(offsets):
        while waiting and waiting[-1].start <= offset:
            around.append(waiting.pop())
            while len(around) > 1 and around[-2].end < around[-1].end:
                del around[-2]
        while around and around[-1].end <= offset:
            around.pop()
        yield offset, tuple(block.name for block in around[-DEPTH_MAX:])


_PATH = re.compile(r"\bpath\s*=\s*\"([^\"\\\n]{1,200})\"")
_WORD = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)|(::|[{},*]|(?:r#)?[^\W\d]\w*)|\s+|.", re.DOTALL)


def _leaves(tree: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield each path of a use tree with its alias, or an empty one."""
    prefixes: list[tuple[str, ...]] = []
    prefix: tuple[str, ...] = ()
    path: list[str] = []
    alias, is_alias = "", False
    for match in _WORD.finditer(tree + ","):
        word = match[1]
        if word is None or word == JOINT:
            continue
        if word == "{":
            if len(prefixes) >= DEPTH_MAX:
                return
            prefixes.append(prefix)
            prefix, path = (*prefix, *path), []
        elif word in {",", "}"}:
            if path:
                yield (*prefix, *path), alias
            path, alias, is_alias = [], "", False
            if word == "}":
                if not prefixes:
                    return
                prefix = prefixes.pop()
        elif word == "as":
            is_alias = True
        elif is_alias:
            alias = word
        else:
            path.append(word.removeprefix("r#"))


def _from_file(path: Sequence[str], inside: Sequence[str]) -> tuple[str, ...]:
    """Return a path as it would be written outside of all inline modules."""
    if path[0] == "self":
        return ("self", *inside, *path[1:])
    ups = 0
    while ups < len(path) and path[ups] == "super":
        ups += 1
    if 0 < ups <= len(inside):
        return ("self", *inside[: len(inside) - ups], *path[ups:])
    return tuple(path[len(inside) :]) if ups else tuple(path)


def _use(path: tuple[str, ...], alias: str) -> UseItem | None:
    last = path[-1]
    if last == "self" and len(path) > 1:
        path = path[:-1]
        return UseItem(JOINT.join(path), "*", alias or path[-1])
    if last == "*":
        return UseItem(JOINT.join(path[:-1]), "*", "*") if len(path) > 1 else None
    if len(path) == 1 or last == "super":
        return UseItem(JOINT.join(path), "*", alias or last) if alias or last not in _KEYWORDS else None
    return UseItem(JOINT.join(path[:-1]), last, alias or last)


_KEYWORDS = frozenset({"self", "super", "crate"})
