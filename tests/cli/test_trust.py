"""`foveal trust` shows what would take effect, asks, and takes it back."""

from __future__ import annotations

from tests.command_cases import CommandLine


def test_trust_and_revoke(foveal: CommandLine) -> None:
    assert "no files that need trust" in foveal.says("trust")
    (foveal.folder / "foveal.toml").write_text("[experience]\npath = 'team.jsonl'\n")
    assert foveal.json("trust")["files"][0]["trusted"] is False
    assert foveal.fails("trust") == "error: can't prompt: stdin is not a terminal; pass --yes\n"
    assert foveal.says("trust", "--yes").endswith("trusted: foveal.toml\n")
    assert foveal.json("trust")["files"][0]["trusted"] is True
    assert "foveal.toml: trusted" in foveal.says("trust")
    assert "nothing of" in foveal.says("trust", "--revoke")
    assert "nothing of" in foveal.fails("trust", "--revoke")


def test_yes_and_revoke_do_not_go_together(foveal: CommandLine) -> None:
    assert "don't go together" in foveal.fails("trust", "--yes", "--revoke", code=2)
