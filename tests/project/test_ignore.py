"""Ignore files mean here what they mean to git, and no pattern takes long."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from foveal.daemon.core.errors import InvalidRequest, StateError
from foveal.daemon.core.system import System
from foveal.daemon.project.ignore import (
    MAX_FILE_BYTES,
    MAX_PATTERNS,
    NAME,
    IgnoreRules,
    IgnoreTree,
    parse_lines,
    set_excluded,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import write_files
from tests.properties import examples


def match(patterns: str, path: str) -> bool | None:
    rules = IgnoreRules(parse_lines(patterns.encode()))
    bare = path.rstrip("/")
    return rules.match(bare, bare.rpartition("/")[2], path.endswith("/"))


@pytest.mark.parametrize(
    ("patterns", "path", "expected"),
    [
        ("*.log", "a/b.log", True),
        ("*.log\n!b.log", "a/b.log", False),
        ("!b.log\n*.log", "a/b.log", True),
        ("# note\n\n", "# note", None),
        (r"\#x", "#x", True),
        (r"\!x", "!x", True),
        ("build/", "build", None),
        ("build/", "a/build/", True),
        ("/build", "a/build", None),
        ("/build", "build", True),
        ("a/b", "a/b", True),
        ("a/b", "x/a/b", None),
        ("a/*", "a/b", True),
        ("a/*", "a/b/c", None),
        ("**/b", "x/y/b", True),
        ("**/b", "b", True),
        ("a/**", "a/x/y", True),
        ("a/**", "a", None),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("a/**/b/**/c", "a/x/b/b/y/c", True),
        ("a**b/c", "axb/c", True),
        ("a/**/*.py", "a/x.py", True),
        ("x ", "x", True),
        ("x\\ ", "x ", True),
        ("x\r\n", "x", True),
        ("\ufeffx", "x", True),
        ("[a-c]x", "bx", True),
        ("[!a-c]x", "bx", None),
        ("[]-]x", "]x", True),
        ("a\\", "a\\", None),
        ("a?c", "abc", True),
        ("a[/]b", "a/b", None),
        ("/", "x/", None),
        ("*", "anything", True),
        ("日本*", "日本語", True),
        ("a\\*", "a*", True),
    ],
)
def test_pattern(patterns: str, path: str, expected: bool | None) -> None:
    assert match(patterns, path) is expected


NAMES = ["a", "b", "ab", "a.c", "b.c", "aXb", "x y", "-", "[", "]"]
PATHS = sorted(
    {
        "/".join(parts)
        for first in NAMES[:5]
        for second in NAMES
        for parts in ([second], [first, second], [first, "ab", second], ["b", first, "a", second])
    }
)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", root], check=True)
    for path in PATHS:
        (root / path).mkdir(parents=True, exist_ok=True)
        (root / path / "leaf").write_text("")
    return root


def ignored_by_git(root: Path, paths: list[str]) -> set[str]:
    done = subprocess.run(
        ["git", "check-ignore", "--no-index", "-z", "-v", "-n", "--stdin"],
        cwd=root,
        input="".join(f"./{path}\0" for path in paths),
        capture_output=True,
        text=True,
        check=False,
    )
    fields = done.stdout.split("\0")
    answers = zip(fields[2::4], fields[3::4], strict=False)
    return {path[2:] for pattern, path in answers if pattern and not pattern.startswith("!")}


def ignored_by_us(root: Path, paths: list[str]) -> set[str]:
    tree = IgnoreTree(str(root), ".gitignore", System())
    for folder, _, files in os.walk(root):
        if ".gitignore" in files:
            tree.declare("" if folder == str(root) else os.path.relpath(folder, root))
    ignored = set()
    for path in paths:
        parts = path.split("/")
        for depth, name in enumerate(parts):
            if tree.ignores(
                "/".join(parts[:depth]), name, os.path.isdir(root / "/".join(parts[: depth + 1]))
            ):
                ignored.add(path)
                break
    return ignored


pieces = st.sampled_from(
    [
        *[
            r"a",
            r"b",
            r"ab",
            r"a.c",
            r"*",
            r"**",
            r"?",
            r"/",
            r"[ab]",
            r"[!a]",
            r"[]]",
            r"[a-c]",
            r"\a",
            r"\*",
            r"X",
        ],
        " ",
        "\\ ",
    ]
)
patterns = st.builds(
    lambda sign, body, end: sign + "".join(body) + end,
    st.sampled_from(["", "", "", "!", "/", "#"]),
    st.lists(pieces, min_size=1, max_size=6),
    st.sampled_from(["", "", "/", " ", "/**"]),
)


@settings(max_examples=examples(120), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(top=st.lists(patterns, max_size=5), nested=st.lists(patterns, max_size=3))
def test_agrees_with_git(repository: Path, top: list[str], nested: list[str]) -> None:
    (repository / ".gitignore").write_text("\n".join(top))
    (repository / "b/.gitignore").write_text("\n".join(nested))
    paths = [*PATHS, *(f"{path}/leaf" for path in PATHS)]
    assert ignored_by_us(repository, paths) == ignored_by_git(repository, paths)


def test_hostile_patterns_take_no_time() -> None:
    """These hang matchers that backtrack: for minutes, not for a second, so a slow machine passes."""
    started = time.process_time()
    for pattern in [
        "a*" * 100 + "b",
        "**/a/" * 50 + "b",
        "*a" * 100 + "/**/b",
        "?*" * 120 + "b",
        "[ab]*" * 60 + "/c",
    ]:
        for path in ["a" * 255, "/".join("a" * 500), "ab" * 120 + "/" + "a" * 255]:
            match(pattern, path)
    assert time.process_time() - started < 5


def test_files_that_cant_be_used_are_reported(tmp_path: Path) -> None:
    for name in ("large", "many", "folder", "link", "good"):
        (tmp_path / name).mkdir()
    (tmp_path / "large/.fovealignore").write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    (tmp_path / "many/.fovealignore").write_text("x\n" * (MAX_PATTERNS + 1))
    (tmp_path / "folder/.fovealignore").mkdir()
    (tmp_path / "good/.fovealignore").write_bytes(b"\xff*\nx")
    (tmp_path / "link/.fovealignore").symlink_to(tmp_path / "good/.fovealignore")
    tree = IgnoreTree(str(tmp_path), ".fovealignore", System())
    for name in ("large", "many", "folder", "link", "good", "gone"):
        tree.declare(name)
        assert tree.ignores(name, "x", False) is (name == "good")
    assert tree.ignores("good", os.fsdecode(b"\xffy"), False)
    assert tree.problems == {
        "large/.fovealignore": "too_large",
        "many/.fovealignore": "too_large",
        "folder/.fovealignore": "unreadable",
        "link/.fovealignore": "unreadable",
    }


# One line of `.fovealignore` is written or removed; every other byte of it stays.


@pytest.mark.parametrize(
    ("before", "path", "after"),
    [
        (b"", "a.py", b"/a.py\n"),
        (b"x", "a.py", b"x\n/a.py\n"),
        (b"x\r\n", "docs", b"x\r\n/docs/\r\n"),
        (b"# \xff\n\n", "docs/b.md", b"# \xff\n\n/docs/b.md\n"),
        (b"", "[a]*? \\.py", b"/\\[a\\]\\*\\? \\\\.py\n"),
        (b"", "blank ", b"/blank\\ \n"),
        (b"", "#a", b"/#a\n"),
    ],
)
def test_a_line_is_added_once_and_removed(tmp_path: Path, before: bytes, path: str, after: bytes) -> None:
    write_files(tmp_path, {"docs/b.md": "b\n", path: "x\n"} if path != "docs" else {"docs/b.md": "b\n"})
    file = tmp_path / NAME
    if before:
        file.write_bytes(before)
    root, system = str(tmp_path), System()
    assert set_excluded(root, path, system, excluded=True).changed
    assert file.read_bytes() == after
    rules, name = IgnoreRules(parse_lines(after)), path.rpartition("/")[2]
    assert rules.match(path, name, path == "docs")
    assert not rules.match(f"other/{path}", name, path == "docs")
    assert not set_excluded(root, path, system, excluded=True).changed
    assert set_excluded(root, path, system, excluded=False).changed
    assert file.read_bytes().rstrip() == before.rstrip()
    assert not set_excluded(root, path, system, excluded=False).changed


def test_lines_by_hand_that_name_the_path_alone_are_removed(tmp_path: Path) -> None:
    file = write_files(tmp_path, {"docs/b.md": "b\n", NAME: "docs\n/docs/\ndocs/*\n!docs\n"}) / NAME
    set_excluded(str(tmp_path), "docs", System(), excluded=False)
    assert file.read_text() == "docs\ndocs/*\n!docs\n", "a bare name holds in every folder"


def test_the_mode_of_the_file_stays(tmp_path: Path) -> None:
    file = write_files(tmp_path, {NAME: "x\n"}) / NAME
    file.chmod(0o664)
    set_excluded(str(tmp_path), "a.py", System(), excluded=True)
    assert file.stat().st_mode & 0o777 == 0o664


def test_what_can_not_be_a_line_is_refused(tmp_path: Path) -> None:
    for path in ("", "a\nb", "a\rb"):
        with pytest.raises(InvalidRequest):
            set_excluded(str(tmp_path), path, System(), excluded=True)
    (tmp_path / NAME).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StateError, match="not a regular file"):
        set_excluded(str(tmp_path), "a.py", System(), excluded=True)
