"""An experience is stale when its files changed much or went, and fresh again when they return."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from foveal.daemon.core.system import System
from foveal.daemon.memory.experience import Draft, Experience, checked
from foveal.daemon.memory.file_sketches import (
    LINES_KEPT,
    FileSketches,
    decoded,
    encoded,
    similarity,
    sketch_of,
    staleness_of,
)

BODY = "".join(f"statement {number}\n" for number in range(60))
OTHER = "".join(f"another {number}\n" for number in range(60))


def experience(sketches: FileSketches, root: Path, *files: str, commit: str = "") -> Experience:
    draft = Draft("decided", "a", "s", files_touched=files, commit=commit)
    return checked(sketches.sketched(draft), "2026-01-01T00:00:00.000Z", str(root))[0]


def test_a_changed_file_makes_it_stale_and_the_same_text_fresh_again(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(BODY)
    sketches = FileSketches(str(tmp_path), System())
    made = experience(sketches, tmp_path, str(file), "gone.py")
    assert [path for path, _ in made.sketches] == ["a.py"]
    assert sketches.staleness(made) == ""
    file.write_text(OTHER)
    assert sketches.staleness(made) == "a.py changed much since"
    file.unlink()
    assert sketches.staleness(made) == "a.py is gone"
    file.write_text(BODY)
    assert sketches.staleness(made) == ""


def test_only_files_of_the_project_have_sketches(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outside.py").write_text(BODY)
    os.symlink(tmp_path / "outside.py", root / "link.py")
    os.mkfifo(root / "pipe")
    sketches = FileSketches(str(root), System())
    made = experience(sketches, root, "link.py", "../outside.py", "pipe", "a\0b", ".")
    assert made.sketches == ()
    assert sketches.staleness(made) == ""


@pytest.mark.parametrize(
    ("before", "now", "reason"),
    [
        ({"a.py": BODY}, {"a.py": BODY + "more"}, ""),
        ({"a.py": BODY, "b.py": BODY}, {}, "a.py, b.py are gone"),
        ({"a.py": BODY, "b.py": BODY}, {"a.py": OTHER}, "a.py changed much since"),
        (dict.fromkeys("abcd", BODY), dict.fromkeys("abcd", OTHER), "a, b and 2 more changed much since"),
        ({}, {}, ""),
    ],
)
def test_the_reason_names_the_files(before: dict[str, str], now: dict[str, str], reason: str) -> None:
    sketches = {path: sketch_of(text) for path, text in before.items()}
    assert staleness_of(sketches, {path: sketch_of(text) for path, text in now.items()}.get) == reason


def lines(first: int, last: int) -> str:
    return "\n".join(f"    line {number}" for number in range(first, last))


@pytest.mark.parametrize(
    ("text", "other", "expected", "error"),
    [
        ("", "", 1.0, 0.0),
        ("a\nb", "b\n\n  a\n", 1.0, 0.0),
        ("", "a", 0.0, 0.0),
        (lines(0, 40), lines(20, 60), 20 / 60, 0.0),
        (lines(0, 1000), lines(500, 1500), 1 / 3, 0.18),
        (lines(0, 1000), lines(5000, 6000), 0.0, 0.0),
    ],
)
def test_similarity_is_the_share_of_common_lines(
    text: str, other: str, expected: float, error: float
) -> None:
    found = similarity(sketch_of(text), sketch_of(other))
    assert found == pytest.approx(expected, abs=max(error, 1e-9))
    assert found == similarity(sketch_of(other), sketch_of(text))


def test_a_sketch_is_stored_and_read_back() -> None:
    for text in ("", "a", lines(0, 5000), "\ud800"):
        sketch = sketch_of(text)
        assert len(sketch) <= LINES_KEPT
        assert decoded(encoded(sketch)) == sketch


@pytest.mark.parametrize("text", ["???", "AAA", "AAAAAAA=", "/////wAAAAA=", "AAAA" * 1000, "é"])
def test_invalid_sketch_is_none(text: str) -> None:
    assert decoded(text) is None
