"""A caller's paths, folders, globs, node ids and prompt lead to nodes; what leads nowhere is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.daemon.context.focus import (
    FOCUS_MAX,
    FOLDER_MAX,
    GLOBS_MAX,
    HOW_TO_NAME,
    prompt_words,
    resolve_paths,
)
from foveal.daemon.core.system import Stamp
from foveal.daemon.project.records import FileRecord
from foveal.daemon.project.service import Tree
from hypothesis import given
from hypothesis import strategies as st

STAMP = Stamp(1, 1, 1, 1)
FILES = [
    "README.md",
    "app/[slug]/page.tsx",
    "c#/a.md",
    "src/auth.py",
    "src/db/query.py",
    "src/x.py",
    "web/auth.py",
]


def tree_of(paths: list[str], root: str = "/nowhere") -> Tree:
    return Tree(root, 0, {path: FileRecord(path, STAMP, b"d") for path in paths})


def resolve(
    *given_paths: str, files: list[str] = FILES, root: str = "/nowhere"
) -> tuple[list[str], list[str]]:
    nodes, gaps = resolve_paths(tree_of(files, root), given_paths, "focus")
    return [node.node_id for node in nodes], gaps


@pytest.mark.parametrize(
    ("given_paths", "found"),
    [
        (["src/auth.py"], ["src/auth.py"]),
        (["src/auth.py#Session.login"], ["src/auth.py#Session.login"]),
        (["src/x.py", "README.md", "src/x.py"], ["src/x.py", "README.md"]),
        (["src"], ["src/auth.py", "src/x.py", "src/db/query.py"]),
        (["src/"], ["src/auth.py", "src/x.py", "src/db/query.py"]),
        (["src/db", "src"], ["src/db/query.py", "src/auth.py", "src/x.py"]),
        (["."], ["README.md", "src/auth.py", "src/x.py", "web/auth.py", "c#/a.md", "app/[slug]/page.tsx",
                 "src/db/query.py"]),
        (["**/auth.py"], ["src/auth.py", "web/auth.py"]),
        (["{src,web}/auth.py"], ["src/auth.py", "web/auth.py"]),
        (["app/[slug]/page.tsx"], ["app/[slug]/page.tsx"]),
        (["app/[slug]"], ["app/[slug]/page.tsx"]),
        (["app/[slug]/page.tsx#Page"], ["app/[slug]/page.tsx#Page"]),
        (["c#/a.md"], ["c#/a.md"]),
        (["c#/a.md#C# in short"], ["c#/a.md#C# in short"]),
        ([], []),
    ],
)  # fmt: skip
def test_paths_lead_to_nodes(given_paths: list[str], found: list[str]) -> None:
    nodes, gaps = resolve(*given_paths)
    assert sorted(nodes) == sorted(found)
    assert gaps == []


def test_a_file_that_the_tree_does_not_know_is_looked_for_on_the_disk(tmp_path: Path) -> None:
    (tmp_path / "new.py").write_text("x")
    (tmp_path / "folder").mkdir()
    nodes, gaps = resolve("new.py", "new.py#f", "folder", root=str(tmp_path))
    assert nodes == ["new.py", "new.py#f"]
    assert gaps == [f"focus path 'folder' doesn't exist in the project; {HOW_TO_NAME}"]


@pytest.mark.parametrize(
    ("given_path", "gap"),
    [
        ("lib/auth.py", "focus path 'lib/auth.py' doesn't exist in the project; there is src/auth.py"),
        ("query.py#f", "focus path 'query.py#f' doesn't exist in the project; there is src/db/query.py"),
        ("src/auth.py:12", "focus path 'src/auth.py:12' doesn't exist in the project; there is src/auth.py"),
        ("auth.py:3-7", "focus path 'auth.py:3-7' doesn't exist in the project; there is src/auth.py"),
        ("lib/none.py", f"focus path 'lib/none.py' doesn't exist in the project; {HOW_TO_NAME}"),
        ("Session.login", "path#Name"),
        ("*.rs", "focus path '*.rs' matches no file of the project"),
        ("a\0b", "focus path 'a\\x00b' doesn't exist in the project"),
        ("#x", "focus path '#x' doesn't exist in the project"),
        ("a*\\", "focus path 'a*\\\\' is not a valid glob: "),
        ("{a," * 40 + "*" + "}" * 40, "is not a valid glob: "),
    ],
)
def test_what_leads_nowhere_is_named(given_path: str, gap: str) -> None:
    nodes, gaps = resolve(given_path)
    assert nodes == []
    assert len(gaps) == 1
    assert gap in gaps[0]


def test_an_empty_project_has_an_empty_focus() -> None:
    assert resolve(".", files=[]) == ([], ["focus path '.' is a folder without files"])


def test_a_very_long_path_does_not_make_a_very_long_gap() -> None:
    for path in ("x" * 1_000_000, "*" * 1_000_000):
        _, (gap,) = resolve(path)
        assert len(gap) < 1_000


def test_a_large_folder_is_taken_in_part_and_said_so() -> None:
    files = [f"big/f{index:04}" for index in range(1_000)]
    for path in ("big", "big/*"):
        nodes, gaps = resolve(path, files=files)
        assert nodes == files[:FOLDER_MAX]
        assert gaps == [f"focus path {path!r} has {1_000 - FOLDER_MAX} more files than are taken; name fewer"]


def test_ten_thousand_paths_are_taken_in_part_and_said_so() -> None:
    files = [f"f{index:05}" for index in range(10_000)]
    nodes, gaps = resolve(*files, files=files)
    assert nodes == files[:FOCUS_MAX]
    assert gaps == [f"9,600 of 10,000 focus paths are left out: at most {FOCUS_MAX} nodes"]


def test_what_a_folder_has_beyond_the_focus_is_said_too() -> None:
    files = [f"d{folder}/f{index}" for folder in range(7) for index in range(60)]
    nodes, gaps = resolve(*(f"d{folder}" for folder in range(7)), files=files)
    assert len(nodes) == FOCUS_MAX
    assert gaps == ["focus path 'd6' has 20 more files than are taken; name fewer"]


def test_only_so_many_globs_are_held_against_the_tree() -> None:
    nodes, gaps = resolve(*(f"none{index}*" for index in range(GLOBS_MAX + 9)), "README.md")
    assert nodes == ["README.md"]
    assert gaps[0] == f"the globs from 'none{GLOBS_MAX}*' on are left out: at most {GLOBS_MAX}"


@given(st.lists(st.text(max_size=12), max_size=8))
def test_no_path_makes_it_fail(given_paths: list[str]) -> None:
    nodes, _ = resolve(*given_paths)
    assert len(nodes) <= FOCUS_MAX


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("How do sessions expire?", "session expire"),
        ("parseHTTPRequest and user_names", "parse http request user name"),
        ("the class, its status and address", "statu address"),
        ("a to of", ""),
    ],
)
def test_the_telling_words_of_a_prompt(prompt: str, words: str) -> None:
    assert prompt_words(prompt) == frozenset(words.split())


# Folders and packages
