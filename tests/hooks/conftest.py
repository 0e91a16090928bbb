"""Fixtures of the tests of hooks, hosts and faces."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.conftest import DaemonProcess, write_files
from tests.hook_install_cases import Machine


@pytest.fixture
def folder() -> Iterator[Path]:
    """Make a private folder with a path short enough for sockets."""
    with TemporaryDirectory(prefix="fv-", dir="/tmp") as path:
        yield Path(path)


@pytest.fixture
def path(folder: Path) -> str:
    """Choose a socket's path in a private folder."""
    return str(folder / "foveal.sock")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Machine:
    return Machine(tmp_path, monkeypatch, capsys)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Write a program `foveal` that runs this tree's."""
    path = (
        write_files(tmp_path, {"bin/foveal": f'#!/bin/sh\nexec "{sys.executable}" -m foveal "$@"\n'})
        / "bin/foveal"
    )
    path.chmod(0o755)
    return path


@pytest.fixture
def ready(shared_daemon: DaemonProcess, shop: Path) -> Path:
    """Give a small project that is indexed."""
    shared_daemon.open_ready(shop)
    return shop
