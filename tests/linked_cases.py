"""Small indexed projects with the links that a test gives them, written as the indexer writes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from foveal.daemon.core.system import System
from foveal.daemon.index.link_table import KINDS, STATES, LinkRow
from foveal.daemon.index.store import Store

from tests.search_cases import Indexed, indexed

Given = tuple[str, int, str, str, str, str]
"""A link: path, line, kind, name, qualified name of the definition around it (empty for none), and where it
leads: a node id, or a state."""


def linked(base: Path, files: Mapping[str, str | bytes], links: Iterable[Given]) -> Indexed:
    """Index a project and give it these links in place of those that were found."""
    project = indexed(base, files)
    put_links(project, files, links)
    return project


def put_links(project: Indexed, files: Iterable[str], links: Iterable[Given]) -> None:
    """Write the links of files in place of all that they had; none of them waits to be linked any more."""
    store = Store(str(project.folder), System())
    try:
        numbers = {path: store.chunks.id_of(path) for path in files}
        ids = {path: store.links.definition_ids(number) for path, number in numbers.items() if number}
        rows: dict[int, list[LinkRow]] = {number: [] for number in numbers.values() if number}
        for path, line, kind, name, scope, leads in links:
            file, _, definition = leads.partition("#")
            target = ids[file][definition] if definition else 0
            state = STATES.index("resolved" if target else leads)
            number = numbers[path]
            assert number is not None
            around = ids[path][scope] if scope else 0
            rows[number].append(LinkRow(line, KINDS.index(kind), name, around, target, state))
        with store.transaction():
            store.links.put(rows)
            store.links.unqueue(rows)
    finally:
        store.close()
