"""A project's folder can be used whatever was put in the place of its files, and its names are durable."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from foveal.daemon.core.system import System
from foveal.daemon.project.roots import make_usable


class Recorder(System):
    """Notes which folders are forced to the disk."""

    def __init__(self) -> None:
        self.forced: list[str] = []

    def fsync_folder(self, path: str) -> None:
        self.forced.append(path)


def test_the_names_that_lead_to_it_are_forced_to_the_disk_also_where_it_was_there(tmp_path: Path) -> None:
    folder = tmp_path / "projects" / "shop-1"
    for _ in range(2):
        disk = Recorder()
        assert make_usable(str(folder), str(tmp_path), disk) == ""
        assert disk.forced == [str(tmp_path / "projects"), str(tmp_path)]
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_files_and_folders_of_the_wrong_kind_are_set_aside(tmp_path: Path) -> None:
    folder = tmp_path / "projects" / "shop-1"
    folder.mkdir(parents=True)
    (tmp_path / "elsewhere").write_text("precious")
    (folder / "experiences.jsonl").symlink_to(tmp_path / "elsewhere")
    (folder / "items.json").mkdir()
    os.mkfifo(folder / "index.sqlite-wal")
    (folder / "lexical").write_text("no folder")
    (folder / "vectors").mkdir()
    done = make_usable(str(folder), str(tmp_path), System())
    names = {name.partition(".damaged-")[0] for name in os.listdir(folder) if ".damaged-" in name}
    assert names == {"experiences.jsonl", "items.json", "index.sqlite-wal", "lexical"}
    assert all(name in done for name in names)
    assert (folder / "vectors").is_dir()
    assert (tmp_path / "elsewhere").read_text() == "precious"
    assert make_usable(str(folder), str(tmp_path), System()) == ""


def test_a_file_in_the_place_of_the_folder_is_set_aside(tmp_path: Path) -> None:
    (tmp_path / "projects").write_text("no folder")
    assert "projects.damaged-" in make_usable(str(tmp_path / "projects/shop-1"), str(tmp_path), System())
    assert (tmp_path / "projects/shop-1").is_dir()
