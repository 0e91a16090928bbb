"""Prompts are made by templates: the built-in ones, the user's, and never by a broken or a harmful one."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.daemon.context.prompts import TEMPLATE_BYTES, PromptTemplates, PromptValues, TemplateFolder
from foveal.daemon.core.system import System
from foveal.daemon.project.metadata import ProjectCommand
from foveal.daemon.project.records import LatestCommit, ProjectMetadata

PROJECT = ProjectMetadata(
    "kite",
    "Flies.",
    (("go", 1.0),),
    (ProjectCommand("test", "go test ./..."),),
    "trunk",
    (LatestCommit("a1 x"),),
)


def templates(*folders: Path) -> PromptTemplates:
    return PromptTemplates([TemplateFolder(str(folder)) for folder in folders], System())


def values(prompt: str = "", task_type: str = "") -> PromptValues:
    return PromptValues(PROJECT, "# PROJECT CONTEXT\n\n<T> & {{ no }}\n", prompt, task_type)


@pytest.mark.parametrize(
    ("prompt", "task_type", "user"),
    [
        ("Why does it fall?", "", "Why does it fall?"),
        ("Why does it fall?", "review", "Task type: review.\n\nWhy does it fall?"),
        ("{{ 7 * 7 }}", "", "{{ 7 * 7 }}"),
        ("", "debug", "Task type: debug.\n\nFind the cause of the problem in the code in focus."),
        ("", "unheard of", "Task type: unheard of.\n\nWork on this project with the context above."),
        ("", "", "Work on this project with the context above."),
    ],
)
def test_the_user_prompt_is_the_goal_or_the_tasks_default(prompt: str, task_type: str, user: str) -> None:
    assert templates().render(values(prompt, task_type)).user == user


def test_the_first_folder_that_has_a_template_wins_and_a_tasks_own_goes_before(tmp_path: Path) -> None:
    project, own = tmp_path / "project", tmp_path / "own"
    project.mkdir()
    own.mkdir()
    (project / "system.j2").write_text(
        "{{ project.name }} on {{ project.branch }}: {{ project.commands[0].line }}"
    )
    (own / "system.j2").write_text("mine")
    (own / "user.review.j2").write_text("look: {{ prompt or 'all' }}")
    both = templates(project, own)
    assert both.render(values()).system == "kite on trunk: go test ./..."
    assert both.render(values(task_type="review")).user == "look: all"
    assert both.render(values(task_type="debug")).user.startswith("Task type: debug.\n\nFind the cause")
    assert templates(own).render(values()).system == "mine"


BROKEN = {
    "{% if %}": "line 1",
    "\n\n{{ nothing }}": "nothing",
    "{{ 1 / 0 }}": "division",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}": "unsafe",
    "{{ project.update({'name': 'x'}) }}": "unsafe",
    "{{ context.format.__globals__ }}": "unsafe",
    "{% include '/etc/passwd' %}": "no loader",
    "{% for a in range(99999999) %}x{% endfor %}": "Range",
    "{% for a in range(99999) %}{{ context }}{% endfor %}": "more than",
    "{{ prompt() }}": "callable",
    "x" * (TEMPLATE_BYTES + 1): "larger",
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_template_is_named_and_the_default_taken(tmp_path: Path, text: str) -> None:
    (tmp_path / "user.j2").write_text(text)
    found = templates(tmp_path).render(values())
    assert found.user == "Work on this project with the context above."
    assert len(found.problems) == 1
    assert str(tmp_path / "user.j2") in found.problems[0]
    assert BROKEN[text].lower() in found.problems[0].lower()


def test_a_template_that_is_no_text_or_no_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "user.j2").write_bytes(b"\xff\xfe")
    (tmp_path / "system.j2").mkdir()
    found = templates(tmp_path).render(values())
    assert ["not UTF-8" in problem or "can't be read" in problem for problem in found.problems] == [
        True,
        True,
    ]


def test_a_template_that_is_not_trusted_is_named_and_not_used(tmp_path: Path) -> None:
    (tmp_path / "user.j2").write_text("mine")
    (tmp_path / "system.j2").write_text("theirs")

    def allows(name: str, data: bytes) -> bool:
        return (name, data) == ("user.j2", b"mine")

    found = PromptTemplates([TemplateFolder(str(tmp_path), allows)], System()).render(values())
    assert found.user == "mine"
    assert found.system.startswith("You work on")
    assert "isn't trusted" in found.problems[0]


def test_the_key_changes_with_each_template(tmp_path: Path) -> None:
    own = templates(tmp_path)
    keys = [own.key("review")]
    for name in ("system.j2", "user.review.j2"):
        (tmp_path / name).write_text("x")
        keys.append(own.key("review"))
    (tmp_path / "user.review.j2").write_text("xy")
    keys.append(own.key("review"))
    assert len(set(keys)) == 4
    (tmp_path / "user.debug.j2").write_text("x")
    assert own.key("review") == keys[-1]
