"""Writers that are killed at any step lose nothing that they acknowledged, and leave a pool that can be read."""

from __future__ import annotations

from pathlib import Path

from foveal.benchmarks.experiences.crashes import crash


def test_killed_writers_lose_nothing(tmp_path: Path) -> None:
    """Twenty here; `python -m benchmarks.experiences` kills two hundred."""
    crashes = crash(tmp_path, 20, 1)
    assert crashes.wrong == []
    assert crashes.kills == 20
    assert crashes.acknowledged["graft"] > 50
    assert crashes.acknowledged["update"] > 0
    assert crashes.files_max > 2
