"""A node says what it is, where it stands, and what it is connected with; or that it must be read again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from foveal.daemon.config.settings import ProjectConfig, ScanConfig
from foveal.daemon.core.system import System
from foveal.daemon.rules.records import RuleSet
from foveal.daemon.search.lookups import DEFINITION_BYTES, describe_node
from foveal.daemon.workspace.records import ProjectSnapshot

from tests.search_cases import Indexed, indexed

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


@pytest.fixture
def project(tmp_path: Path) -> Indexed:
    return indexed(tmp_path, {"src/auth.py": AUTH, "main.py": "x = 1\n", "c#/guide.md": GUIDE})


def describe(
    project: Indexed, node_id: str, overlays: Mapping[str, str] | None = None
) -> tuple[dict[str, Any] | None, list[str]]:
    snapshot = ProjectSnapshot(
        tree=project.tree,
        rules=RuleSet((), (), (), frozenset()),
        config=ProjectConfig(scan=ScanConfig(max_file_bytes=200_000)),
        overlays=overlays or {},
        degraded=(),
        reader=project.reader,
        lexical=project.handle,
        relevant_experiences=lambda *_: (),
        system=System(),
    )
    return describe_node(snapshot, node_id)


def found(project: Indexed, node_id: str, overlays: Mapping[str, str] | None = None) -> dict[str, Any]:
    node, stale = describe(project, node_id, overlays)
    assert node is not None
    assert stale == []
    return node


def test_a_definition_is_given_whole_with_what_is_inside(project: Indexed) -> None:
    node = found(project, "src/auth.py#Session")
    assert node["definition"].startswith("class Session:\n")
    assert node["definition"].endswith("return name")
    assert (node["kind"], node["symbol"], node["signature"], node["doc"]) == (
        "class",
        "Session",
        "class Session:",
        "Who is logged in.",
    )
    assert [one["signature"] for one in node["symbols"]] == ["def login(self, name):"]
    method = found(project, "src/auth.py#Session.login")
    assert (method["start_line"], method["end_line"], method["symbols"]) == (9, 11, [])


def test_the_mark_may_be_in_the_names_of_files_and_sections(project: Indexed) -> None:
    assert found(project, "c#/guide.md")["kind"] == "file"
    section = found(project, "c#/guide.md#Guide/C# in short")
    assert (section["kind"], section["definition"]) == ("section", "## C# in short\n\nSharp.")


def test_a_file_that_changed_must_be_read_again(project: Indexed) -> None:
    (project.root / "src/auth.py").write_text("# new\n" + AUTH)
    node, stale = describe(project, "src/auth.py")
    assert node is not None
    assert stale == ["src/auth.py"]
    assert node["definition"].startswith("# new\n")
    assert node["symbols"] == []
    assert describe(project, "src/auth.py#Session") == (None, ["src/auth.py"])


def test_a_skipped_file_is_known_without_definitions(tmp_path: Path) -> None:
    project = indexed(tmp_path, {"big.py": "def f(): pass\n" * 200_000})
    node = found(project, "big.py")
    assert node["symbols"] == []
    assert node["truncated"]


def test_an_unsaved_buffer_is_given_as_a_file_and_its_definitions_as_they_are_on_the_disk(
    project: Indexed,
) -> None:
    overlays = {"src/auth.py": "# unsaved\n" + AUTH}
    node = found(project, "src/auth.py", overlays)
    assert node["definition"].startswith("# unsaved\n")
    assert (node["unsaved"], node["symbols"]) == (True, [])
    method = found(project, "src/auth.py#Session.login", overlays)
    assert method["definition"].startswith("    def login(self, name):")
    assert "unsaved" not in method


def test_a_long_definition_is_cut_between_characters(tmp_path: Path) -> None:
    project = indexed(tmp_path, {"long.py": "é" * DEFINITION_BYTES})
    node = found(project, "long.py")
    assert node["truncated"]
    assert node["definition"] == "é" * (DEFINITION_BYTES // 2)


def test_without_an_index_everything_must_be_read_again(project: Indexed) -> None:
    (project.folder / "index.sqlite").unlink()
    assert describe(project, "main.py") == (None, ["main.py"])
