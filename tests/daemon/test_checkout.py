"""The checks say the same wherever the repository was cloned to, above all in a folder called `foveal`, git's default."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", ["foveal", "elsewhere"])
def test_lint_does_not_depend_on_the_folders_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).symlink_to(ROOT, target_is_directory=True)
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--quiet", str(tmp_path / name)]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")
