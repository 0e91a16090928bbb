"""Owns structural answers: where a name is defined, who imports a file, what it imports and defines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ..index.chunk_table import StoredChunk
from ..index.store import Reader
from ..project.tree import Symbol, Tree
from .candidates import DEFINITIONS_MAX, definitions_of, files_named
from .hits import Certainty, Hit

ANSWERED = frozenset({"definition", "importers", "imports", "outline"})
"""The relations that are answered here; the others are searched for by words and meaning."""


def answer(
    relation: str,
    subjects: Sequence[str],
    tree: Tree,
    reader: Reader,
    limit: int,
    holds: Callable[[StoredChunk], bool] = lambda chunk: True,
) -> list[Hit]:
    """Return what stands in a relation to things as a question names them, at most `limit`.

    `relation` is one of `ANSWERED`. Nothing is found where no subject is known. What is found lies in chunks
    that `holds` allows.
    """
    hits: dict[tuple[str, int], Hit] = {}
    for path, line, certainty, via in _RELATIONS[relation](subjects, tree, reader):
        if len(hits) >= limit:
            break
        chunk = _chunk_at(reader, path, line)
        if chunk is not None and (path, line) not in hits and holds(chunk):
            place = len(hits)
            score = round(1 / (1 + place / 10), 4)
            why = (_REASONS[relation].format(via=via),)
            hits[path, line] = Hit(chunk, score, {"tree": place + 1}, (), line, certainty, via, why)
    return list(hits.values())


OUTLINE_DEPTH = 1
"""An outline shows what stands at the top of a file, and its members."""

Found = Iterator[tuple[str, int, Certainty, str]]
"""Path, line, how sure, and what it leads through."""


def _definitions(subjects: Sequence[str], tree: Tree, reader: Reader) -> Found:
    for subject in subjects:
        for path, symbol in _sorted_definitions(reader, subject):
            yield path, symbol.start_line, "resolved", ""


def _sorted_definitions(reader: Reader, name: str) -> list[tuple[str, Symbol]]:
    return sorted(definitions_of(reader, name), key=lambda pair: (pair[1].depth, pair[0], pair[1].start_line))


def _importers(subjects: Sequence[str], tree: Tree, reader: Reader) -> Found:
    for subject in subjects:
        for target in _targets(subject, tree, reader):
            for path, line in reader.importers(target):
                yield path, line, "resolved", target


def _imports(subjects: Sequence[str], tree: Tree, reader: Reader) -> Found:
    for subject in subjects:
        for path in _targets(subject, tree, reader):
            for one in reader.imports(path):
                if one.target:
                    yield one.target, 1, "resolved", f"{path}:{one.imported.line}"


def _outline(subjects: Sequence[str], tree: Tree, reader: Reader) -> Found:
    for subject in subjects:
        for path in _targets(subject, tree, reader):
            for symbol in reader.symbols(path):
                if symbol.depth <= OUTLINE_DEPTH:
                    yield path, symbol.start_line, "resolved", symbol.name


def _targets(subject: str, tree: Tree, reader: Reader) -> Iterable[str]:
    """Return the files that a subject names: by path or file name, as a module, or by what they define."""
    if not subject.strip("./#:"):
        return ()
    exact = [subject] if subject in tree.files else files_named(subject, tree)
    folder = subject.strip("/")
    if not exact and folder in tree.layout.folders:
        exact = [f"{folder}/{name}" for name in tree.layout.folders[folder].files]
    if not exact:
        module = subject.lstrip("./") if "/" in subject else subject.replace(".", "/")
        exact = [path for path in tree.files if f"/{path.rpartition('.')[0]}".endswith(f"/{module}")]
    if not exact:
        exact = [path for path, _ in _sorted_definitions(reader, subject)]
    return dict.fromkeys(exact[:DEFINITIONS_MAX])


def _chunk_at(reader: Reader, path: str, line: int) -> StoredChunk | None:
    """Return the chunk that holds a line, else the file's first one; None for a file without any."""
    chunks = reader.chunks.of_paths([path])
    return next(
        (one for one in chunks if one.start_line <= line <= one.end_line), chunks[0] if chunks else None
    )


_RELATIONS = {
    "definition": _definitions,
    "importers": _importers,
    "imports": _imports,
    "outline": _outline,
}
_REASONS = {
    "definition": "defined here",
    "importers": "imports {via}",
    "imports": "imported by {via}",
    "outline": "defines {via}",
}
