"""The process that links ahead reads the index as it is, and forgets what it knew with each epoch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from foveal.daemon.core.system import System
from foveal.daemon.index.link_ahead import AheadLinker, LinkOpening, QueuedFile
from foveal.daemon.index.store import Store

from tests.search_cases import Indexed, indexed

FILES: dict[str, str | bytes] = {"a.py": "from b import f\nf()\n", "b.py": "def f(): ...\n"}


@pytest.fixture
def project(tmp_path: Path) -> Indexed:
    return indexed(tmp_path, FILES)


@pytest.fixture
def linker(project: Indexed) -> Iterator[AheadLinker]:
    opening = LinkOpening(str(project.root), str(project.folder), 100_000)
    with closing(AheadLinker(opening, System())) as one:
        yield one


def targets(linker: AheadLinker, project: Indexed, epoch: int) -> set[str]:
    store = Store(str(project.folder), System())
    file = QueuedFile(store.chunks.id_of("a.py") or 0, "a.py", "python")
    store.close()
    linked = linker.link(epoch, file)
    assert linked is not None
    return {link.target_name for link in linked.links}


def test_ahead_linker_links_by_the_index(linker: AheadLinker, project: Indexed) -> None:
    assert targets(linker, project, 1) == {"f"}


def test_facts_that_are_damaged_are_left_to_the_indexer(linker: AheadLinker, project: Indexed) -> None:
    store = Store(str(project.folder), System())
    number = store.chunks.id_of("a.py") or 0
    with store.side_notes():
        store._db.execute("UPDATE facts SET refs = x'00' WHERE file_id = ?", (number,))
    store.close()
    assert linker.link(1, QueuedFile(number, "a.py", "python")) is None
    assert linker.link(1, QueuedFile(9_999, "gone.py", "python")) is None
