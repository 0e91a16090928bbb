"""Files that rules come from are known by what was read and by their names, and so are those of removed rules."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.daemon.core.system import System
from foveal.daemon.rules.instruction_files import RuleSet, discover
from foveal.daemon.rules.instruction_places import PROJECT_PLACES, USER_PLACES, RuleFiles, rule_files
from foveal.daemon.rules.items import Item

from tests.conftest import write_files

FILES: dict[str, str | bytes] = {
    "AGENTS.override.md": "Be kind.\n",
    "AGENTS.md": "Be rude.\n",
    "CLAUDE.md": "Be brief.\n@docs/style.md\n",
    "docs/style.md": "Use short words.\n",
    "docs/guide.md": "# Guide\n",
    "sub/GEMINI.md": "Be kind.\n",
    "empty/AGENTS.md": "",
    ".claude/skills/deploy/SKILL.md": "---\ndescription: deploy\n---\nPush it.\n",
    ".claude/skills/deploy/steps.md": "One, two.\n",
    "foveal.toml": "",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_files(tmp_path / "p", FILES).resolve()


def rules_in(root: Path) -> RuleSet:
    return discover(str(root), "/nowhere", list(FILES), System(), managed=None)


def test_all_that_rules_come_from_or_would_have_come_from(root: Path) -> None:
    files = rule_files(str(root), rules_in(root).sources, ())
    found = {path for path in FILES if path in files}
    assert found == FILES.keys() - {"docs/guide.md", ".claude/skills/deploy/steps.md"}
    assert ".cursor/rules/new.mdc" in files, "one that came since is no document either"
    assert "src/foveal.toml.py" not in files


def test_a_project_below_another_folder_of_its_name(root: Path) -> None:
    outside = frozenset({f"{root}-more/docs/a.md", f"{root}/docs/b.md", "/docs/c.md"})
    files = rule_files(str(root), outside, ())
    assert files.paths == {"docs/b.md", "foveal.toml"}


def test_removed_rules_by_their_file_and_by_their_text(root: Path) -> None:
    by_name = {item.name: item for item in rules_in(root).items}
    reference = Item("reference", "r", "always", "Use short words.", "PutItem")
    files = rule_files(str(root), rules_in(root).sources, (by_name["AGENTS.override.md"], reference))

    def check(path: str, text: str, expected: bool) -> None:
        assert files.is_removed(str(root), path, text) is expected

    check("AGENTS.override.md", "whatever it says now", True)
    check("sub/GEMINI.md", "# Rules\n\nBe kind.\n", True)
    check("CLAUDE.md", "Be brief.\n", False)
    check("docs/guide.md", "Be kind.\n", False)
    check("docs/style.md", "Use short words.", False)
    assert not RuleFiles(files.paths).is_removed(str(root), "AGENTS.override.md", "Be kind.")


def test_the_page_names_every_place() -> None:
    page = (Path(__file__).parents[2] / "docs" / "instruction-files.md").read_text(encoding="utf-8")
    listed = {line.split("`")[1] for line in page.splitlines() if line.startswith("| `")}
    places = {place.path for place in PROJECT_PLACES} | {f"~/{place.path}" for place in USER_PLACES}
    assert len(places) > 25
    assert {place for place in places if not any(path.startswith(place) for path in listed)} == set()
    assert {path for path in listed if not path.startswith(tuple(places))} == set()
