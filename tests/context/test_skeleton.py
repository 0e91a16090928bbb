"""The map never exceeds its characters, shows what is near first, and costs what is drawn, not the tree."""

from __future__ import annotations

import pytest
from foveal.daemon.context.skeleton import draw_skeleton, printable
from foveal.daemon.project.service import Layout
from hypothesis import given
from hypothesis import strategies as st

NAMES = st.one_of(
    st.sampled_from(["src", "tests", "docs", "a", "b.py", "locale", "x y", "`", "n\nl", "\ud800", "漢字"]),
    st.text(st.characters(exclude_characters="/\0"), min_size=1, max_size=8),
)
PATHS = st.lists(NAMES, min_size=1, max_size=6).map("/".join)


def draw(paths: list[str], characters: int = 10_000, *, hidden: str = "", near: str = "") -> str:
    return draw_skeleton(Layout(paths), set(hidden.split()), near.split(), characters)[0]


@given(st.sets(PATHS, max_size=60), st.sets(PATHS, max_size=5), st.integers(0, 400))
def test_the_map_never_exceeds_its_characters_and_is_always_the_same(
    paths: set[str], near: set[str], characters: int
) -> None:
    hidden = set(sorted(paths)[::3])
    text, folded = draw_skeleton(Layout(paths), hidden, near, characters)
    assert len(text) <= characters
    again = draw_skeleton(Layout(sorted(paths, reverse=True)), hidden, sorted(near), characters)
    assert again == (text, folded)
    assert text.encode().decode() == text
    assert "`" not in text


@given(st.sets(st.lists(st.sampled_from("abcd"), min_size=1, max_size=4).map("/".join), max_size=40))
def test_a_map_that_is_not_folded_names_every_file(names: set[str]) -> None:
    paths = {f"{name}.py" for name in names}
    text, folded = draw_skeleton(Layout(paths), (), (), 100_000)
    assert not folded
    assert files_of(text) == paths


def test_the_way_to_the_focus_unfolds_before_anything_else() -> None:
    paths = [f"{folder}/f{i}.py" for folder in ("a", "b", "tests/unit") for i in range(20)]
    text = draw(paths, 250, near="tests/unit/f3.py")
    assert "f19.py" in text
    assert "a/ (20 files)" in text
    assert "tests/unit/\n" in text


def test_a_crowded_root_shows_some_of_its_names_rather_than_none() -> None:
    paths = [*(f"file_{i:03}.txt" for i in range(200)), *(f"folder{i}/x" for i in range(200))]
    text = draw(paths, 400)
    assert text.startswith("file_000.txt  file_001.txt")
    assert text.endswith("more folders (190 files)")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("plain.py", "plain.py"),
        ("größe 漢.md", "größe 漢.md"),
        ("a\nb", "a\\nb"),
        ("a```b", "a\\x60\\x60\\x60b"),
        ("a\x1b[31m", "a\\x1b[31m"),
        ("a\u202eb", "a\\u202eb"),
        ("\udcff", "\\udcff"),
    ],
)
def test_a_name_can_not_end_its_line_or_its_fence(name: str, shown: str) -> None:
    assert printable(name) == shown


def test_paths_deeper_than_the_interpreters_recursion_are_drawn() -> None:
    text, _ = draw_skeleton(Layout(["/".join(["d"] * 1_900) + f"/f{i}" for i in range(2)]), (), (), 10**8)
    assert text == "/".join(["d"] * 1_900) + "/\n" + "  " + "f0  f1"


def files_of(text: str) -> set[str]:
    """Read a map back: the paths that it names."""
    found = set()
    stack: list[tuple[int, str]] = []
    for line in text.split("\n") if text else []:
        depth = (len(line) - len(line.lstrip())) // 2
        while stack and stack[-1][0] >= depth:
            stack.pop()
        above = stack[-1][1] if stack else ""
        if line.endswith("/"):
            stack.append((depth, above + line.strip()))
        else:
            found |= {above + name for name in line.strip().split("  ")}
    return found
