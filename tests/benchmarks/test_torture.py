"""The run over real repositories finds an index that isn't as the disk is, and passes a sound one."""

from __future__ import annotations

import subprocess
from pathlib import Path

from foveal.benchmarks.faults.indexed import IndexedProject
from foveal.benchmarks.torture import (
    REPOSITORIES,
    Record,
    differences,
    git,
)


def test_repositories_are_pinned_once_and_cover_twenty_languages() -> None:
    assert len({each.name for each in REPOSITORIES}) == len(REPOSITORIES) >= 60
    assert len({each.language for each in REPOSITORIES}) >= 20
    assert all(len(each.commit) == 40 and "/" in each.name for each in REPOSITORIES)


def test_differences_between_index_and_disk_are_found(tmp_path: Path) -> None:
    root = _repository(tmp_path / "root")
    project = IndexedProject(root, tmp_path / "index")
    project.open()
    project.settle()
    known = {
        path: Record(record.digest, record.language, record.skipped, record.symbols)
        for path, record in project.told().items()
    }
    project.close()
    assert differences(root, known) == ([], {"vendored": 1})
    (root / "shop.py").write_text("def other(): ...\n")
    gone = known.pop("cart.py")
    problems, _ = differences(root, {**known, "ghost.py": gone})
    assert [problem.partition(",")[0] for problem in problems] == [
        "with 1 files that git doesn't list",
        "without 1 files",
        "with 2 files not as they are",
    ]


def _repository(root: Path) -> Path:
    """Make a repository of two commits; the first lacks `cart.py`."""
    (root / "node_modules").mkdir(parents=True)
    (root / "shop.py").write_text("def first_name():\n    return 1\n\n\nclass Thing:\n    pass\n")
    (root / "node_modules" / "left.js").write_text("function no() {}\n")
    (root / "README.md").write_text("# Small\n\nErrors are reported to the user.\n")
    (root / "data.bin").write_bytes(b"\0\1\2")
    own = ["-c", "user.name=test", "-c", "user.email=test@example.invalid"]
    subprocess.run(["git", "init", "--quiet", str(root)], check=True)
    for message in ("first", "second"):
        git(root, "add", "--all", "--force")
        git(root, *own, "commit", "--quiet", "--message", message)
        (root / "cart.py").write_text(
            "from shop import first_name\n\n\ndef second():\n    return first_name()\n"
        )
    return root
