"""An experience says whether its files are what they were: from the disk, and fresh when they return."""

from __future__ import annotations

import os
from pathlib import Path

from foveal.daemon.core.system import System
from foveal.daemon.memory.experience import Draft, Experience, checked
from foveal.daemon.memory.file_sketches import FileSketches

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


def test_a_damaged_sketch_says_nothing(tmp_path: Path) -> None:
    sketches = FileSketches(str(tmp_path), System())
    made = Experience("x", "2026", "a", "s", "d", files_touched=("a.py",), sketches=(("a.py", "???"),))
    assert sketches.staleness(made) == ""
