"""The linker's view of a project follows every change it is told of, and stays within its bounds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from foveal.daemon.core.system import Stamp, System
from foveal.daemon.index.linker_view import StoredLinkerView
from foveal.daemon.index.store import FileContent, Store
from foveal.daemon.languages.shared.imports import ImportResolver
from foveal.daemon.languages.shared.language import language_of
from foveal.daemon.languages.shared.parse import parse_source
from foveal.daemon.project.tree import FileRecord

from tests.search_cases import facts_of

STAMP = Stamp(10, 1_700_000_000_000_000_000, 1_700_000_000_000_000_001, 42)


class Project:
    """A store, its records and the view of them."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.records: dict[str, FileRecord] = {}
        self.resolver = ImportResolver(self.records.keys(), lambda path: None)
        self.world = StoredLinkerView(store.facts, self.resolver, self.records)

    def put(self, path: str, source: str = "") -> None:
        language = language_of(path, b"")
        parsed = parse_source(source.encode(), language)
        record = FileRecord(path, STAMP, b"d" * 16, language)
        if path not in self.records:
            self.records[path] = record
            self.resolver.added(path)
            self.world.name_added(path)
        with self.store.transaction():
            self.store.put_contents(
                [
                    FileContent(
                        record,
                        parsed.symbols,
                        (),
                        facts=facts_of(record.language, parsed.symbols, parsed.references),
                    )
                ]
            )
        self.world.content_changed(path)

    def remove(self, path: str) -> None:
        del self.records[path]
        self.resolver.removed(path)
        self.world.name_removed(path)
        with self.store.transaction():
            self.store.remove_files([path])

    def names(self, path: str) -> list[str] | None:
        found = self.world.interface(path)
        return None if found is None else sorted(found.names)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    store = Store(str(tmp_path), System())
    yield Project(store)
    store.close()


def test_damaged_facts_are_noted_and_none(project: Project) -> None:
    project.put("a.py", "def f(): ...\n")
    with project.store.side_notes():
        project.store._db.execute("UPDATE facts SET interface = x'00'")
    assert project.names("a.py") is None
    assert project.world.damaged == {"a.py"}


def test_siblings_are_the_files_of_a_language_family_in_a_folder(project: Project) -> None:
    for path in ("p/b.py", "p/a.py", "p/x.ts", "p/y.js", "p/q/c.py", "d.py"):
        project.put(path)
    siblings = project.world.siblings
    assert siblings("p/a.py") == ("p/a.py", "p/b.py")
    assert siblings("p/x.ts") == ("p/x.ts", "p/y.js")
    assert siblings("d.py") == ("d.py",)
    project.put("p/c.py")
    project.remove("p/b.py")
    assert siblings("p/a.py") == ("p/a.py", "p/c.py")
