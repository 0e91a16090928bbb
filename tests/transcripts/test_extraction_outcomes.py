"""Commands are told apart by what they do to a project, and outputs by whether something failed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from foveal.daemon.transcripts.outcomes import (
    changes_files,
    check_of,
    files_of,
    is_among,
    is_check,
    is_source,
    named_paths,
    same_file,
    taken_back,
    telling_line,
)


@pytest.mark.parametrize(
    ("judge", "yes", "no"),
    [
        (
            is_check,
            ["pytest -q", "python -m pytest x", "cd a && npm test", "npm run test:unit", "cargo test",
             "go test ./...", "make check", "make", "./gradlew test", "npx vitest run", "mix test",
             "bundle exec rspec", "tsc --noEmit"],
            ["ls tests", "git commit -m 'run pytest'", "cat makefile.txt", "echo 'npm test'"],
        ),
        (
            changes_files,
            ["sed -i s/a/b/ x.py", "echo a > x.txt", "cat >> a.py <<EOF\nx\nEOF", "git apply p.diff",
             "npm install left-pad", "mv a b"],
            ["ls > /dev/null 2>&1", "grep -n a b.py", "npm ci", "awk '$1 > 3' x", "a | head"],
        ),
    ],
)  # fmt: skip
def test_commands_are_told_apart(judge: Callable[[str], bool], yes: list[str], no: list[str]) -> None:
    assert [command for command in yes + no if judge(command)] == yes


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git checkout -- a.py b.py", ("a.py", "b.py")),
        ("git -C x checkout HEAD~1 -- a.py", ("a.py",)),
        ("git restore a.py && ls", ("a.py",)),
        ("git restore --staged a.py", None),
        ("git restore .", ()),
        ("git checkout .", ()),
        ("git checkout src/a.py && ls", ("src/a.py",)),
        ("git reset --hard", ()),
        ("git reset --soft HEAD~1", None),
        ("git revert abc1234", ()),
        ("git stash", ()),
        ("git log --grep 'git revert'", None),
    ],
)
def test_undo_commands(command: str, expected: tuple[str, ...] | None) -> None:
    assert taken_back(command) == expected


@pytest.mark.parametrize(
    ("output", "failed", "passed"),
    [
        ("12 passed", False, True),
        ("1 failed, 12 passed", False, False),
        ("0 failed, 12 passed", False, True),
        ("test result: FAILED. 1 passed", False, False),
        ("181 tests, 0 failures", False, True),
        ("", True, False),
    ],
)
def test_a_check_passes_or_fails(output: str, *, failed: bool, passed: bool) -> None:
    assert check_of(output, failed=failed).passed is passed


def test_the_telling_line() -> None:
    output = "....\nE   TypeError: no len()\n\n=== 1 failed in 2 s ==="
    assert telling_line(output) == "E TypeError: no len()"
    assert telling_line("") == ""
    assert len(telling_line("Error: " + "x" * 9_000)) <= 240


def test_files() -> None:
    assert same_file("/w/src/a.py", "src/a.py")
    assert not same_file("/w/src/aa.py", "a.py")
    assert is_among("/w/src/a.py", ("src",))
    assert not is_among("/w/srcs/a.py", ("src",))


def test_files_of_a_decision() -> None:
    edited = ("/w/src/client.py", "/w/src/server.py", "/w/tests/ipc/test_client.py")
    assert files_of("The lock is in `server.py` now.", edited, edited) == ("/w/src/server.py",)
    assert files_of("See docs/a.md for it.", edited, edited) == ("docs/a.md",)
    assert files_of("The client waits twice as long.", edited, edited) == edited
    assert files_of("It waits twice as long.", edited, edited[:1]) == edited[:1]


def test_named_paths() -> None:
    assert named_paths("e.g. `a/b.py`, ./c.go and Makefile; version 1.2.3") == ("a/b.py", "c.go", "Makefile")


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (("src/a.py",), True),
        (("tests/test_a.py", "docs/a.md", "yarn.lock"), False),
        (("web/a.spec.ts", "CheckoutTest.kt"), False),
        ((), True),
    ],
)
def test_source_files(paths: tuple[str, ...], *, expected: bool) -> None:
    assert is_source(paths) is expected
