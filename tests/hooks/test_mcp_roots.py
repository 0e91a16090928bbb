"""The folder is the pump's, unless the host has other ones open."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.hooks.mcp_server.caller import choose_folder


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Give a project with a folder in it, and another whose name needs quoting."""
    one, other = tmp_path / "one", tmp_path / "größer & b"
    (one / "sub").mkdir(parents=True)
    other.mkdir()
    (tmp_path / "link").symlink_to(one)
    return one, other


def test_without_roots_it_is_the_pump_s(folders: tuple[Path, Path]) -> None:
    one, _ = folders
    assert choose_folder(str(one), []) == str(one)


def test_in_a_root_it_is_the_pump_s(folders: tuple[Path, Path], tmp_path: Path) -> None:
    one, other = folders
    for cwd in (one, one / "sub", tmp_path / "link"):
        assert choose_folder(str(cwd), [other.as_uri(), one.as_uri()]) == str(cwd)


def test_else_it_is_the_first_root_that_is_there(folders: tuple[Path, Path], tmp_path: Path) -> None:
    one, other = folders
    uris = [
        "https://example.org/x",
        "file://elsewhere/x",
        "file:relative",
        "file:///\0",
        "http://[",
        (tmp_path / "gone").as_uri(),
        other.as_uri(),
        one.as_uri(),
    ]
    assert choose_folder("/", uris) == str(other)
    assert choose_folder("/", [other.as_uri().replace("file://", "file://localhost")]) == str(other)
    assert choose_folder("/", uris[:6]) == "/"


def test_a_name_that_begins_alike_is_another(folders: tuple[Path, Path]) -> None:
    one, other = folders
    near = one.parent / "one more"
    near.mkdir()
    assert choose_folder(str(near), [one.as_uri(), other.as_uri()]) == str(one)
