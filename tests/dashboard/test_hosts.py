"""Which hosts are connected: those with our hooks in their settings, and those that sent events."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from foveal.dashboard.hosts import connected_hosts

from tests.conftest import write_files
from tests.site_cases import pages

__all__ = ["pages"]

PROGRAM = Path(sys.executable).parent / "foveal"


def settings(program: Path) -> str:
    """Return settings of Gemini with one hook of ours."""
    return (
        '{"hooks": {"BeforeAgent": [{"hooks": [{"type": "command", "name": "foveal", '
        f'"command": "{program} hook gemini"}}]}}]}}}}'
    )


def test_a_host_is_connected_by_its_settings_or_by_its_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert connected_hosts([]) == []
    write_files(tmp_path, {".gemini/settings.json": settings(PROGRAM)})
    heard = {"host": "codex", "title": "Codex", "last_event": "Stop", "last_event_at": "2030-01-01T00:00:00Z"}
    codex, gemini = connected_hosts([heard])
    assert (codex.name, codex.levels, codex.last_event) == ("codex", (), "Stop")
    assert (gemini.title, gemini.levels, gemini.last_event_at) == ("Gemini CLI", ("user",), "")


def test_what_keeps_hooks_from_running_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write_files(tmp_path, {".gemini/settings.json": settings(tmp_path / "gone" / "foveal")})
    (gemini,) = connected_hosts([])
    assert "there is no such program" in gemini.problems[0].text
    assert gemini.problems[0].fix == "foveal hooks install gemini --user"
