"""Folders that hold sources are found by the end of their path, through every change, and answers forgotten."""

from __future__ import annotations

from foveal.daemon.languages.shared.import_folders import MAX_NAMESAKE_FOLDERS, SourceFolders, is_test


def folders(*paths: str) -> SourceFolders:
    """Return the folders of these files."""
    found = SourceFolders((".java", ".kt", ".cs"), (".csproj",))
    for path in paths:
        found.change(path, 1)
    return found


def test_folders_are_found_by_their_end() -> None:
    known = folders("a/com/shop/A.java", "b/com/shop/B.kt", "xcom/shop/C.java", "com/shop/D.py", "R.java")
    assert known.ending_with("com/shop") == ["a/com/shop", "b/com/shop"]
    assert known.ending_with("") == [""]
    assert known.files("a/com/shop", (".java",)) == ["a/com/shop/A.java"]
    assert known.files("a/com/shop", (".kt",)) == []
    assert known.below("a") == ["a/com/shop"]
    assert known.below("com") == []


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


def test_manifests_of_projects_are_known() -> None:
    known = folders("a/A.csproj", "b/B.csproj")
    known.change("a/A.csproj", -1)
    assert known.projects == {"b/B.csproj"}


def test_what_belongs_to_tests() -> None:
    assert is_test("src/test/java")
    assert is_test("Shop.Web.Tests/Api")
    assert is_test("commonTest/kotlin")
    assert not is_test("src/main/contest")
