"""Homes and projects with settings of others, the hosts' shapes, and the command line that changes them."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from foveal.cli import app

OTHERS_COMMAND = "/opt/others/guard --strict"

CLAUDE_LIKE: dict[str, Any] = {
    "model": "some-model",
    "hooks": {
        "SessionStart": [{"matcher": "startup", "hooks": [{"type": "command", "command": OTHERS_COMMAND}]}],
        "Stop": [{"hooks": [{"type": "command", "command": OTHERS_COMMAND, "timeout": 9}]}],
    },
    "unknown": {"kept": [1, 2.5, None]},
}
FLAT: dict[str, Any] = {
    "version": 1,
    "hooks": {"afterFileEdit": [{"command": OTHERS_COMMAND}], "stop": [{"command": "./mine.sh"}]},
}
SERVERS: dict[str, Any] = {
    "mcpServers": {"others": {"command": "others-mcp", "args": ["-v"], "env": {"A": "b"}}}
}
TOML = """# my settings
model = "some-model"   # the fast one
notify = ["others", "--quiet"]

[mcp_servers.others]
command = "others-mcp"   # kept

[projects."/some/where"]
trust_level = "trusted"
"""


def text_of(value: Any) -> str:
    return json.dumps(value, indent=2) + "\n"


def with_comments(value: Any) -> str:
    """Return settings as a careful person writes them: comments, tabs, a comma at the end of each list."""
    text = json.dumps(value, indent="\t")
    lines = []
    for line in text.split("\n"):
        is_last = line.strip() and line.strip()[-1] not in "{[,"
        lines.append(line + "," if is_last and line[:1] == "\t" else line)
        if line.rstrip().endswith(("{", "[")):
            lines.append(f'{line[: len(line) - len(line.lstrip())]}\t// mine: "quoted", [kept]')
    return "// settings of mine\n" + "\n".join(lines) + "\n/* the end */"


FORMS: Mapping[str, Callable[[Any], str]] = {
    "plain": text_of,
    "comments": with_comments,
    "packed": lambda value: json.dumps(value, separators=(",", ":")),
    "one line": json.dumps,
    "crlf": lambda value: text_of(value).replace("\n", "\r\n"),
    "bom": lambda value: "\ufeff" + text_of(value),
    "odd": lambda value: json.dumps(value, indent=7).replace('"hooks": {', '"hooks" :   {') + "\n\n\n",
    "ascii end": lambda value: json.dumps(value, indent=4),
}


class Machine:
    """A user's home with a project, and foveal's command line at work in it."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.home, self.root = folder / "home", folder / "home" / "work" / "shop"
        self.root.mkdir(parents=True)
        subprocess.run(["git", "init", "-q", str(self.root)], check=True)
        self.program = folder / "bin" / "foveal"
        self.program.parent.mkdir()
        self.program.write_text("#!/bin/sh\nexit 0\n")
        self.program.chmod(0o755)
        path = f"{self.program.parent}{os.pathsep}{os.environ['PATH']}"
        for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "QWEN_HOME", "XDG_CONFIG_HOME"):
            monkeypatch.delenv(name, raising=False)
        for name in [name for name in os.environ if name.startswith("GIT_")]:
            monkeypatch.delenv(name)
        for name, value in {"HOME": str(self.home), "PATH": path, "NO_COLOR": "1"}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr("sys.argv", [str(self.program)])
        monkeypatch.setitem(app.MODULES, "hooks", "hooks")
        monkeypatch.chdir(self.root)
        self._capsys = capsys

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Run `foveal hooks`; returns exit code, output and errors."""
        with pytest.raises(SystemExit) as ended:
            app.foveal.main(["hooks", *arguments], prog_name="foveal")
        output, errors = self._capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, output, errors

    def does(self, *arguments: str) -> str:
        """Run a command that must go well; returns its output."""
        code, output, errors = self.run(*arguments)
        assert code == 0, errors
        return output

    def refuses(self, *arguments: str) -> str:
        """Run a command that must fail and change nothing; returns what it says."""
        before = tree(self.home)
        code, output, errors = self.run(*arguments)
        assert (code, output) == (1, "")
        assert tree(self.home) == before
        return errors

    def write(self, files: Mapping[str, str]) -> None:
        """Write files, their paths seen from the home."""
        for name, text in files.items():
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())

    def read(self, name: str) -> Any:
        """Return the values of a plain JSON file, seen from the home."""
        return json.loads((self.home / name).read_text())


def tree(folder: Path) -> dict[str, tuple[int, bytes | str | None]]:
    """Return every file, link and folder with mode and content, but for git's own files."""
    found: dict[str, tuple[int, bytes | str | None]] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if "/.git/" in name and "/.git/hooks" not in name:
            continue
        mode = path.lstat().st_mode
        content: bytes | str | None = None
        if stat.S_ISLNK(mode):
            content = str(path.readlink())
        elif stat.S_ISREG(mode):
            content = path.read_bytes()
        found[name] = (stat.S_IMODE(mode), content)
    return found
