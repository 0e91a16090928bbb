"""foveal editors: the plugins lie where it says, whether or not a daemon runs."""

from __future__ import annotations

from pathlib import Path

from tests.command_cases import CommandLine


def test_the_plugins_lie_where_it_says(foveal: CommandLine) -> None:
    folder = Path(foveal.says("editors", "path").strip())
    neovim = Path(foveal.says("editors", "path", "neovim").strip())
    vscode = Path(foveal.says("editors", "path", "vscode").strip())
    assert (neovim.parent, vscode.parent) == (folder, folder)
    assert list(neovim.glob("plugin/*.lua"))
    assert (vscode / "package.json").is_file()
    named = {"folder": str(folder), "neovim": str(neovim), "vscode": str(vscode)}
    assert foveal.json("editors", "path") == named
    assert foveal.json("editors") == named


def test_another_editor_is_told_which_there_are(foveal: CommandLine) -> None:
    assert "neovim" in foveal.fails("editors", "path", "emacs", code=2)
    assert "path" in foveal.says("editors")
