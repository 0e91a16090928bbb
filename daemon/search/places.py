"""The places that a question names to search in: a file, a folder, a section, a class."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from ..index.service import Reader
from ..project.service import Tree, by_stem, files_named, role_of
from .filters import Filter
from .mentions import read_path

KEPT: Final = "kept to "
"""The beginning of the evidence that a search is limited to a place."""

PlaceKind = Literal["file", "folder", "section", "class", "filter"]
"""`file` may be a glob or a folder too; `filter` is `path:src`."""


class PlaceMention(Struct, frozen=True):
    """A definite place to search in. `name` is a path, glob, heading or class as written."""

    kind: PlaceKind
    name: str


def find_places(text: str) -> Iterator[PlaceMention]:
    """Yield the definite places that a text names: `in src/a.py`, `class Cart`, `section "Usage"`."""
    for kind, pattern in _PLACES:
        for match in re.finditer(pattern, text):
            name = match["name"].strip("`\"'\u201c\u201d.,:;?!)")
            if kind != "file" or "*" in name or read_path(name, loosely="/" in name):
                yield PlaceMention(kind, name)


def has_filter(text: str) -> bool:
    """Whether a text has a filter such as `path:src`, which limits any search."""
    return bool(re.search(_FILTER, text))


def narrow(chosen: Filter, places: Sequence[PlaceMention], tree: Tree, reader: Reader) -> tuple[Filter, str]:
    """Limit a filter to the place that a question names, if it exists and the caller gave none.

    Returns the filter and a remark for the evidence."""
    if not places:
        return chosen, "no place is named that could be searched"
    if chosen.path_prefix or chosen.symbol:
        return chosen, "the caller's own place is kept to"
    for place in places:
        for meant in _meanings(place.name, place.kind, tree, reader):
            both = replace(
                chosen,
                path_prefix=meant.path_prefix,
                glob=chosen.glob or meant.glob,
                symbol=meant.symbol,
            )
            return both, f"{KEPT}{meant.path_prefix or meant.glob or meant.symbol}"
    named = ", ".join(place.name for place in places)
    return chosen, f"there is no such place as {named}; searched everywhere"


def _meanings(name: str, kind: PlaceKind, tree: Tree, reader: Reader) -> Iterator[Filter]:
    """Yield the filters for a place, the most likely meaning first."""
    yield from _paths_meant(name, tree)
    if kind == "filter":
        return
    definitions = reader.definitions_named(name, 2)
    if definitions:
        path, symbol = definitions[0]
        yield Filter(path_prefix=path if len(definitions) == 1 else "", symbol=symbol.name)


def _paths_meant(name: str, tree: Tree) -> Iterator[Filter]:
    """Yield the filters for the files or folders that a place may mean, the most likely first."""
    if "*" in name:
        with contextlib.suppress(ValueError):  # an invalid glob matches nothing
            if Filter(glob=name).files(tree):
                yield Filter(glob=name)
        return
    files = [name] if name in tree.files else files_named(name, tree)
    if len(files) == 1:
        yield Filter(path_prefix=files[0])
    modules = by_stem(tree.layout).get(name, ())
    if modules:
        yield Filter(path_prefix=min(modules, key=lambda path: _distance(path, tree)))
    folder = name.strip("/")
    folders = [path for path in tree.layout.folders if path == folder or path.endswith(f"/{folder}")]
    if folders and folder:
        yield Filter(path_prefix=f"{min(folders, key=lambda path: (path.count('/'), path))}/")
    if files:
        yield Filter(path_prefix=files[0])


def _distance(path: str, tree: Tree) -> tuple[bool, int, str]:
    """Return how far a module is from the sources at the root."""
    return role_of(path, tree.files[path].language) != "source", path.count("/"), path


_FILTER = r"(?<![\w/])(?:path|file|dir|folder|glob|in):(?!//)(?P<name>[^\s,;]+)"
_IN = r"\b(?i:in|inside|within|under|from|of|into|below|across) (?:(?:the|our|file|files|only|all) )*"
_QUOTED = r"[\"\u201c][^\"\u201d]+[\"\u201d]"
_TITLE = rf"{_QUOTED}|[A-Z\d][\w.-]*(?: [A-Z][\w.-]*)*"
_PLACES: Final[tuple[tuple[PlaceKind, str], ...]] = (
    ("filter", _FILTER),
    ("section", r"\A(?i:section|chapter|heading) (?P<name>[^\s\"\u201c][^\n]*)"),
    (
        "section",
        rf"\b(?i:section|chapter|heading) (?P<name>{_TITLE}|(?<=in section )\w+)",
    ),
    ("section", rf"\bthe (?P<name>{_QUOTED}|[A-Z]\w+) section\b"),
    ("class", rf"{_IN}class (?P<name>[A-Z]\w*)"),
    ("class", rf"{_IN}(?P<name>[A-Z]\w*) class\b"),
    ("folder", r"\b(?:folder|directory) (?P<name>[\w./-]+)"),
    ("folder", rf"{_IN}(?P<name>[\w./-]+) (?:folder|directory)\b"),
    ("file", rf"{_IN}(?P<name>`?[\w.*/\[\]-]+`?)"),
)
