"""An empty folder for a project, and a user of git without settings."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give git a user without settings."""
    home = tmp_path.resolve() / "user"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return home


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "project"
    root.mkdir()
    return root
