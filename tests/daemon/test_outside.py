"""A file outside of a project enters a context from a folder that the user allowed, and from no other."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import running_daemon, write_files


def test_an_allowed_folder_and_another(tmp_path: Path) -> None:
    notes = write_files(tmp_path / "notes", {"spec.md": "Kites fly high.\n"})
    other = write_files(tmp_path / "other", {"spec.md": "Kites stay at home.\n"})
    write_files(tmp_path, {"config/config.toml": f"[context]\noutside_folders = ['{notes}']\n"})
    root = write_files(
        tmp_path / "kite",
        {"a.py": "x = 1\n", "foveal.toml": f"[context]\noutside_folders = ['{other}']\n", ".git/HEAD": ""},
    )
    with running_daemon(tmp_path) as daemon:
        daemon.open_ready(root)
        daemon.call("CreateSession", cwd=str(root), session_id="talk")
        files = [str(notes / "spec.md"), str(other / "spec.md")]
        daemon.call("SetRelevantContext", session_id="talk", set_name="files", items=files)
        reply = daemon.call("GetContext", cwd=str(root), session_id="talk")
        assert "Kites fly high." in reply["context"]
        assert "Kites stay at home." not in reply["context"]
        assert any("outside_folders" in gap for gap in reply["gaps"])
        (notes / "spec.md").write_text("Kites fly low.\n")
        assert "Kites fly low." in daemon.call("GetContext", cwd=str(root), session_id="talk")["context"]
