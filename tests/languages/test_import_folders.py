"""Folders that hold sources are found by the end of their path, through every change, and answers forgotten."""

from __future__ import annotations

from foveal.daemon.languages.shared.import_folders import MAX_NAMESAKE_FOLDERS, SourceFolders


def folders(*paths: str) -> SourceFolders:
    """Return the folders of these files."""
    found = SourceFolders((".java", ".kt", ".cs"), (".csproj",))
    for path in paths:
        found.change(path, 1)
    return found


def test_changes_are_seen_and_answers_forgotten() -> None:
    known = folders("a/x/A.java", "a/x/B.java")

    def answer() -> tuple[str, ...]:
        return known.remembered(("x",), lambda: known.ending_with("x"))

    assert answer() == ("a/x",)
    known.change("b/x/A.java", 1)
    assert answer() == ("a/x", "b/x")
    known.change("a/x/A.java", -1)
    assert answer() == ("a/x", "b/x")
    known.change("a/x/B.java", -1)
    assert answer() == ("b/x",)
    known.change("a/x/B.java", -1)
    known.clear()
    assert known.ending_with("x") == []


def test_a_name_that_too_many_folders_have_says_nothing() -> None:
    known = folders(*(f"p{number}/util/A.java" for number in range(MAX_NAMESAKE_FOLDERS + 1)))
    assert known.ending_with("util") == []
    assert known.ending_with("p1/util") == []
