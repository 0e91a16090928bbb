"""The command line for tests of commands, run in this process with a daemon's environment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import pytest
from foveal.cli.app import foveal


class Daemon(Protocol):
    """A daemon as those see it that set up or look at what commands do."""

    @property
    def environ(self) -> Mapping[str, str]: ...

    def call(self, method: str, **params: Any) -> Any: ...


class CommandLine:
    """Runs commands in a folder as a user would. Returns exit code, output and errors."""

    def __init__(
        self,
        daemon: Daemon,
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        for name, value in {**daemon.environ, "NO_COLOR": "1"}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(folder)
        self.daemon = daemon
        self.folder = folder
        self._capsys = capsys

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            foveal.main(list(arguments), prog_name="foveal")
        assert isinstance(ended.value.code, int)
        output, errors = self._capsys.readouterr()
        return ended.value.code, output, errors

    def says(self, *arguments: str) -> str:
        """Run a command that must go well and without remarks; returns its output."""
        code, output, errors = self(*arguments)
        assert (code, errors) == (0, "")
        return output

    def json(self, *arguments: str) -> Any:
        """Run a command with --json that must go well."""
        return json.loads(self.says(*arguments, "--json"))

    def fails(self, *arguments: str, code: int = 1) -> str:
        """Run a command that must fail without output but the error as JSON; returns what it says."""
        found, output, errors = self(*arguments)
        if "--json" in arguments:
            assert errors.startswith(f"error: {json.loads(output)['error']['message']}\n")
            output = ""
        assert (found, output) == (code, "")
        return errors
