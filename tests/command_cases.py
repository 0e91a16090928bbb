"""The command line for tests of commands, run in this process with a daemon's environment."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
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


class Terminal(io.StringIO):
    """A stream that a person sees, or at which one sits."""

    def isatty(self) -> bool:
        return True


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
        self._monkeypatch = monkeypatch

    def __call__(self, *arguments: str, given: bytes | None = None) -> tuple[int, str, str]:
        """Run a command; `given` is its standard input."""
        if given is not None:
            self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        with pytest.raises(SystemExit) as ended:
            foveal.main(list(arguments), prog_name="foveal")
        assert isinstance(ended.value.code, int)
        output, errors = self._capsys.readouterr()
        return ended.value.code, output, errors

    def at(self, folder: Path) -> None:
        """Go to another folder."""
        self._monkeypatch.chdir(folder)

    def set(self, name: str, value: str) -> None:
        """Set a variable of the environment."""
        self._monkeypatch.setenv(name, value)

    def says(self, *arguments: str) -> str:
        """Run a command that must go well and without remarks; returns its output."""
        code, output, errors = self(*arguments)
        assert (code, errors) == (0, ""), f"{' '.join(arguments)} ended with {code}: {errors or output}"
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


def run_program(environ: Mapping[str, str], cwd: Path, *arguments: str) -> tuple[int, str, str]:
    """Run the program in a process of its own; returns exit code, output and errors."""
    done = subprocess.run(
        [sys.executable, "-m", "foveal", *arguments],
        check=False,
        cwd=cwd,
        env={**environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=90,
    )
    return done.returncode, done.stdout, done.stderr


def in_terminal(environ: Mapping[str, str], cwd: Path, *arguments: str) -> bytes:
    """Run the program in a terminal of 160 columns, where it must go well; return all that it shows."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "foveal", *arguments]
    shown = {**environ, "TERM": "xterm", "COLUMNS": "160"}
    with subprocess.Popen(command, cwd=cwd, env=shown, stdout=theirs, stderr=theirs) as child:
        os.close(theirs)
        seen = b""
        try:
            while data := os.read(ours, 65536):
                seen += data
        except OSError:  # how Linux ends a terminal whose other side is closed
            pass
    os.close(ours)
    assert child.returncode == 0
    return seen
