"""Fixtures of the tests of the wire."""

from __future__ import annotations

import os
from collections.abc import Iterator
from tempfile import TemporaryDirectory

import pytest


@pytest.fixture
def folder() -> Iterator[str]:
    """Make a private folder with a path short enough for sockets."""
    with TemporaryDirectory(prefix="fv-", dir="/tmp") as path:
        yield os.path.realpath(path)


@pytest.fixture
def path(folder: str) -> str:
    """Choose a socket's path in a private folder."""
    return f"{folder}/foveal.sock"
