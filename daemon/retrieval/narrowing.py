"""Owns narrowing: which files, or which definition, of a project the place means that a question names."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

from ..index.store import Reader
from ..project.tree import Tree
from .candidates import files_named
from .classify import Classification, classify
from .filters import Filter
from .places import PlaceKind
from .question import Question, take_apart


def classified(question: Question, tree: Tree) -> Classification:
    """Return what a question asks for. `in:fly` is a place only where there is such a file or folder, since
    some languages write attributes so."""
    decided = classify(question)
    text = question.text
    for place in decided.places:
        if place.said.startswith("in:") and next(_paths_meant(place.name, tree), None) is None:
            text = text.replace(place.said, place.name)
    return decided if text == question.text else classify(take_apart(text))


def narrow(chosen: Filter, decided: Classification, tree: Tree, reader: Reader) -> tuple[Filter, str]:
    """Keep to the place that a question gives, if there is such a place and the caller gave none."""
    if not decided.places:
        return chosen, "no place is named that could be searched"
    if chosen.path_prefix or chosen.symbol:
        return chosen, "the caller's own place is kept to"
    for place in decided.places:
        for meant in _meanings(place.name, place.kind, tree, reader):
            both = replace(
                chosen,
                path_prefix=meant.path_prefix,
                glob=chosen.glob or meant.glob,
                symbol=meant.symbol,
            )
            return both, f"kept to {meant.path_prefix or meant.glob or meant.symbol}"
    named = ", ".join(place.name for place in decided.places)
    return chosen, f"there is no such place as {named}; searched everywhere"


def _meanings(name: str, kind: PlaceKind, tree: Tree, reader: Reader) -> Iterator[Filter]:
    """Yield what a place may mean, the likeliest first."""
    yield from _paths_meant(name, tree)
    if kind == "filter":
        return
    found = reader.definitions_named(name, 2)
    if found:
        path, symbol = found[0]
        yield Filter(path_prefix=path if len(found) == 1 else "", symbol=symbol.name)


def _paths_meant(name: str, tree: Tree) -> Iterator[Filter]:
    """Yield the files or folders that a place may mean, the likeliest first."""
    if "*" in name:
        with contextlib.suppress(ValueError):  # what looks like a glob and isn't means nothing
            if Filter(glob=name).files(tree):
                yield Filter(glob=name)
        return
    files = [name] if name in tree.files else files_named(name, tree)
    if len(files) == 1:
        yield Filter(path_prefix=files[0])
    folder = name.strip("/")
    folders = [path for path in tree.layout.folders if path == folder or path.endswith(f"/{folder}")]
    if folders and folder:
        yield Filter(path_prefix=f"{min(folders, key=lambda path: (path.count('/'), path))}/")
    if files:
        yield Filter(path_prefix=files[0])
