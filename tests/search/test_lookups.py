"""A node says what it is, where it stands, and what it is connected with; or that it must be read again."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from foveal.daemon.config.settings import ProjectConfig, ScanConfig
from foveal.daemon.core.system import System, stamp_of
from foveal.daemon.index.import_table import ImportRow
from foveal.daemon.index.service import LexicalHandle, Reader
from foveal.daemon.index.store import FileContent, Store
from foveal.daemon.languages.shared.language import language_of
from foveal.daemon.languages.shared.parse import parse_source
from foveal.daemon.languages.shared.records import Import
from foveal.daemon.project.records import FileRecord
from foveal.daemon.project.service import Tree, digest_of
from foveal.daemon.rules.records import RuleSet
from foveal.daemon.search.lookups import DEFINITION_BYTES, describe_node
from foveal.daemon.workspace.records import ProjectSnapshot

AUTH = '''import os
import gone
from shop import till, nothing


class Session:
    """Who is logged in."""

    def login(self, name):
        """Log somebody in."""
        return name
'''
GUIDE = "# Guide\n\nHello.\n\n## C# in short\n\nSharp.\n"


class Project:
    """A folder with an index of it, written as the indexer does."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.state = folder / "state"
        self.root.mkdir()
        self.store = Store(str(self.state), System())

    def write(self, path: str, text: str, *, imports: tuple[ImportRow, ...] = (), skipped: str = "") -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        data = text.encode()
        file.write_bytes(data)
        record = FileRecord(path, stamp_of(os.stat(file)), digest_of(data), language_of(path), skipped)
        with self.store.transaction():
            if skipped:
                self.store.put_records([record])
            else:
                parsed = parse_source(data, record.language)
                self.store.put_contents([FileContent(record, parsed.symbols, imports)])

    def describe(
        self, node_id: str, overlays: Mapping[str, str] | None = None
    ) -> tuple[dict[str, Any] | None, list[str]]:
        snapshot = ProjectSnapshot(
            tree=Tree(str(self.root), 1, self.store.load_files()),
            rules=RuleSet((), (), (), frozenset()),
            config=ProjectConfig(scan=ScanConfig(max_file_bytes=200_000)),
            overlays=overlays or {},
            degraded=(),
            reader=self._reader,
            lexical=LexicalHandle(str(self.state)),
            relevant_experiences=lambda *_: (),
            system=System(),
        )
        return describe_node(snapshot, node_id)

    def found(self, node_id: str, overlays: Mapping[str, str] | None = None) -> dict[str, Any]:
        node, stale = self.describe(node_id, overlays)
        assert node is not None
        assert stale == []
        return node

    @contextmanager
    def _reader(self) -> Iterator[Reader]:
        reader = Reader(str(self.state))
        try:
            yield reader
        finally:
            reader.close()


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    made = Project(Path(os.path.realpath(tmp_path)))
    imports = (
        ImportRow(Import("os", "", 1), "", False, ()),
        ImportRow(Import("gone", "", 2), "", True, ()),
        ImportRow(Import("shop", "", 3), "shop/__init__.py", False, ()),
        ImportRow(Import("shop", "till", 3, required=False), "shop/till.py", False, ()),
        ImportRow(Import("shop", "nothing", 3, required=False), "", False, ()),
    )
    made.write("src/auth.py", AUTH, imports=imports)
    made.write(
        "main.py", "x = 1\n", imports=(ImportRow(Import("src.auth", "", 4), "src/auth.py", False, ()),)
    )
    made.write("c#/guide.md", GUIDE)
    yield made
    made.store.close()


def test_a_definition_is_given_whole_with_what_is_inside(project: Project) -> None:
    node = project.found("src/auth.py#Session")
    assert node["definition"].startswith("class Session:\n")
    assert node["definition"].endswith("return name")
    assert (node["kind"], node["symbol"], node["signature"], node["doc"]) == (
        "class",
        "Session",
        "class Session:",
        "Who is logged in.",
    )
    assert [one["signature"] for one in node["symbols"]] == ["def login(self, name):"]
    method = project.found("src/auth.py#Session.login")
    assert (method["start_line"], method["end_line"], method["symbols"]) == (9, 11, [])


def test_the_mark_may_be_in_the_names_of_files_and_sections(project: Project) -> None:
    assert project.found("c#/guide.md")["kind"] == "file"
    section = project.found("c#/guide.md#Guide/C# in short")
    assert (section["kind"], section["definition"]) == ("section", "## C# in short\n\nSharp.")


def test_a_file_that_changed_must_be_read_again(project: Project) -> None:
    (project.root / "src/auth.py").write_text("# new\n" + AUTH)
    node, stale = project.describe("src/auth.py")
    assert node is not None
    assert stale == ["src/auth.py"]
    assert node["definition"].startswith("# new\n")
    assert node["symbols"] == []
    assert project.describe("src/auth.py#Session") == (None, ["src/auth.py"])


def test_a_skipped_file_is_known_without_definitions(project: Project) -> None:
    project.write("big.py", "def f(): pass\n" * 20_000, skipped="too_large")
    node = project.found("big.py")
    assert node["symbols"] == []
    assert node["truncated"]


def test_an_unsaved_buffer_is_given_as_a_file_and_its_definitions_as_they_are_on_the_disk(
    project: Project,
) -> None:
    overlays = {"src/auth.py": "# unsaved\n" + AUTH}
    node = project.found("src/auth.py", overlays)
    assert node["definition"].startswith("# unsaved\n")
    assert (node["unsaved"], node["symbols"]) == (True, [])
    method = project.found("src/auth.py#Session.login", overlays)
    assert method["definition"].startswith("    def login(self, name):")
    assert "unsaved" not in method


def test_a_long_definition_is_cut_between_characters(project: Project) -> None:
    project.write("long.py", "é" * DEFINITION_BYTES)
    node = project.found("long.py")
    assert node["truncated"]
    assert node["definition"] == "é" * (DEFINITION_BYTES // 2)


def test_without_an_index_everything_must_be_read_again(project: Project) -> None:
    os.unlink(project.store.path)
    assert project.describe("main.py") == (None, ["main.py"])
