"""A zone's files are read without leaving it, each once, and what was consulted is remembered."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from foveal.daemon.core.confined_folder import ConfinedFolder, ConfinedReader, RefusedError
from foveal.daemon.core.system import System, stamp_of


class Counting(System):
    """Counts what is read."""

    def __init__(self) -> None:
        self.reads: list[str] = []

    def read(self, path: str, limit: int | None = None) -> tuple[bytes, os.stat_result]:
        self.reads.append(path)
        return super().read(path, limit)


def zone_of(folder: Path, *, trusted: bool = False) -> ConfinedFolder:
    return ConfinedFolder(str(folder), os.path.realpath(folder), "", trusted)


def fill(root: Path) -> None:
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "c.md").write_text("C")
    (root / "a" / "d.md").write_text("D")
    (root / "link").symlink_to("a/b")
    (root / "chain").symlink_to("link/../d.md")


@pytest.mark.parametrize(
    ("path", "real"),
    [
        ("a/b/c.md", "a/b/c.md"),
        ("a//./b/../b/c.md", "a/b/c.md"),
        ("link/c.md", "a/b/c.md"),
        ("link/../d.md", "a/d.md"),
        ("chain", "a/d.md"),
        ("link", "a/b"),
        ("", ""),
        ("gone/x", None),
        ("a/d.md/x", None),
        ("x\0y", None),
        ("x" * 300, None),
    ],
)
def test_a_path_is_followed_as_the_kernel_does(tmp_path: Path, path: str, real: str | None) -> None:
    fill(tmp_path)
    located = ConfinedReader(System()).locate(zone_of(tmp_path), f"{tmp_path}/{path}", free=False)
    assert (located and located.path) == (None if real is None else os.path.realpath(tmp_path / real))


@pytest.mark.parametrize("path", ["..", "a/../../x", "out", "up/x", ".git/config", "deep"])
def test_a_path_that_leaves_is_refused(tmp_path: Path, path: str) -> None:
    root = tmp_path / "root"
    fill(root)
    (tmp_path / "x").write_text("SECRET")
    (root / ".git").mkdir()
    (root / "out").symlink_to(tmp_path / "x")
    (root / "up").symlink_to("..")
    (root / "deep").symlink_to("a/../../root/../x")
    with pytest.raises(RefusedError, match="leads "):
        ConfinedReader(System()).locate(zone_of(root), f"{root}/{path}", free=False)


def test_a_file_is_read_once(tmp_path: Path) -> None:
    fill(tmp_path)
    system = Counting()
    reader = ConfinedReader(system)
    for path in ("a/b/c.md", "link/c.md"):
        located = reader.locate(zone_of(tmp_path), f"{tmp_path}/{path}", free=False)
        assert located is not None
        read = reader.read(located)
        assert read is not None
        assert (read.text, read.stamp) == ("C", stamp_of((tmp_path / "a/b/c.md").stat()))
    assert system.reads == [os.path.realpath(tmp_path / "a/b/c.md")] == list(reader.sources)


def test_probes_record_every_path_that_was_looked_at(tmp_path: Path) -> None:
    fill(tmp_path)
    root = Path(os.path.realpath(tmp_path))
    reader = ConfinedReader(System())
    for path in ("link/c.md", "gone/x"):
        reader.locate(zone_of(root), f"{root}/{path}", free=False)
    assert reader.probes == {
        str(root / "link"): stamp_of((root / "link").lstat()),
        str(root / "a/b/c.md"): stamp_of((root / "a/b/c.md").lstat()),
        str(root / "gone"): None,
    }


@pytest.mark.parametrize(
    ("suffix", "depth", "files"),
    [
        (".md", 0, ("a/d.md",)),
        (".md", 1, ("a/b/c.md", "a/d.md")),
        ("/c.md", 1, ("a/b/c.md",)),
        (".mdc", 1, ()),
    ],
)
def test_a_folder_is_listed(tmp_path: Path, suffix: str, depth: int, files: tuple[str, ...]) -> None:
    fill(tmp_path)
    listing = ConfinedReader(System()).files_below(zone_of(tmp_path), "a", suffix, depth)
    assert (listing.files, listing.refused) == (files, {})


def test_a_folder_with_more_names_than_are_read_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path)
    monkeypatch.setattr("foveal.daemon.core.confined_folder.MAX_ENTRIES", 1)
    listing = ConfinedReader(System()).files_below(zone_of(tmp_path), "a", ".md", 8)
    assert list(listing.refused) == ["a"]
    assert len(listing.files) <= 1
