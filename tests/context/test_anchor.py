"""Decisions, hot files and the map say something in their smallest form, and no more than fits in others."""

from __future__ import annotations

from foveal.daemon.context.anchor import (
    METADATA_CHARACTERS_MIN,
    experience_form,
    hot_form,
    metadata_form,
)
from foveal.daemon.context.selection import Form
from foveal.daemon.memory.experience import ExperienceMark
from foveal.daemon.memory.records import Chosen, Experience
from foveal.daemon.project.metadata import ProjectCommand
from foveal.daemon.project.records import LatestCommit, ProjectMetadata
from foveal.daemon.workspace.records import HotNode


def decided(**values: object) -> Experience:
    given = {"decision": "use SQLite", "agent_id": "ada"} | values
    return Experience(id="x", timestamp="2026-01-01T00:00:00.000Z", session_id="s", **given)  # type: ignore[arg-type]  # the fields of one


def test_a_decision_with_its_outcome_and_as_much_of_its_reasons_as_fits() -> None:
    def check(experience: Experience, characters: int, expected: str, *, compressed: bool = False) -> None:
        form = experience_form(Chosen(experience, 1.0, ()), characters)
        assert (form.text, form.compressed) == (expected, compressed)

    check(decided(), 1_000, "- ada: use SQLite\n")
    check(decided(agent_id=" \n"), 1_000, "- agent: use SQLite\n")
    check(decided(outcome="reverted"), 1_000, "- ada: use SQLite (reverted)\n")
    check(decided(outcome="failure"), 1_000, "- ada: use SQLite (failed)\n")
    check(decided(outcome="failure", error="a\nb"), 1_000, "- ada: use SQLite (failed: a b)\n")
    reasoned = decided(rationale="one\nfile", files_touched=("a.py", "b.py"))
    check(reasoned, 1_000, "- ada: use SQLite\n  why: one file\n  files: a.py, b.py\n")
    check(reasoned, 40, "- ada: use SQLite\n  why: one file\n", compressed=True)
    check(reasoned, 20, "- ada: use SQLite\n", compressed=True)
    check(decided(rationale="x" * 3_000), 9_000, "- ada: use SQLite\n", compressed=True)
    check(
        decided(outcome="reverted", marks=(ExperienceMark("failure", ""),)),
        100,
        "- ada: use SQLite (reverted)\n",
    )
    stale = Chosen(decided(), 1.0, (), "a.py is gone", 2)
    said = "- ada: use SQLite (may not hold any more: a.py is gone; 2 more like it)\n"
    assert experience_form(stale, 1_000).text == said


def test_a_project_says_what_it_is_line_by_line() -> None:
    metadata = ProjectMetadata(
        "shop",
        "Sells\n```things.",
        (("python", 0.8), ("go", 0.2)),
        (ProjectCommand("test", "make `x`"),),
        "main",
        (LatestCommit("Add a cart"), LatestCommit("Fix it")),
    )
    whole = metadata_form(metadata, 1_000)
    assert whole == Form(
        "- shop: Sells ` ` `things.\n- languages: python 80%, go 20%\n- test: `make 'x'`\n- branch: main\n"
        "- last commits: Add a cart; Fix it\n"
    )
    for characters in range(len(whole.text)):
        form = metadata_form(metadata, characters)
        assert form.compressed
        assert whole.text.startswith(form.text)
        assert len(form.text) <= max(characters, METADATA_CHARACTERS_MIN)
    least = metadata_form(ProjectMetadata("x" * 500), 0)
    assert least.compressed
    assert len(least.text) <= METADATA_CHARACTERS_MIN
    assert metadata_form(ProjectMetadata("x"), 0) == Form("- x\n")


def test_no_name_of_a_hot_file_ends_its_line() -> None:
    assert hot_form([HotNode("a`\n# b.py", "open"), HotNode("c.py", "edited")]).text == (
        "Active files:\n\n- `a\\x60\\n# b.py` (open)\n- `c.py` (edited)\n\n"
    )
