"""An older state folder is brought up step by step, after a copy was made; a killed migration goes on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from foveal.daemon.core.state_folder import Migration, StateMark, bring_up, check_version
from foveal.daemon.core.system import System

FILES: dict[str, str] = {
    "trusted.json": "what is trusted",
    "sessions/one/meta.json": "a session",
    "projects/shop-1/experiences.jsonl": "a decision\n",
    "projects/shop-1/index.sqlite": "derived",
    "projects/shop-1/lexical/meta.json": "derived",
    "embeddings/embeddings.sqlite": "derived",
    "foveal.log": "of the moment",
    "lock": "1",
}
TRUTH = ("projects/shop-1/experiences.jsonl", "sessions/one/meta.json", "trusted.json")


class PowerCut(BaseException):
    """Ends a migration as a kill does: nothing that would tidy up may catch it."""


class CuttingDisk(System):
    """The disk, on which the process is killed before the sync of a given number."""

    def __init__(self, syncs: int) -> None:
        self.left = syncs

    def fsync(self, descriptor: int) -> None:
        if self.left == 0:
            raise PowerCut
        self.left -= 1
        super().fsync(descriptor)


def old_folder(folder: Path) -> Path:
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "version.json").write_text('{"state_version": 1}\n')
    return folder


def rename_trust(folder: str, system: System) -> None:
    """Move trust to another file: first the new one, then the old one goes; so it can run again."""
    old, new = Path(folder, "trusted.json"), Path(folder, "trust.json")
    if old.exists():
        system.write_atomic(str(new), old.read_bytes().upper())
        old.unlink()


def mark_sessions(folder: str, system: System) -> None:
    for path in Path(folder, "sessions").glob("*/meta.json"):
        if not path.read_text().endswith("!"):
            system.write_atomic(str(path), path.read_bytes() + b"!")


STEPS: Mapping[int, Migration] = {1: rename_trust, 2: mark_sessions}


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def check_migrated(folder: Path) -> None:
    assert check_version(str(folder), System(), 3) == StateMark(3)
    assert (folder / "trust.json").read_text() == "WHAT IS TRUSTED"
    assert (folder / "sessions/one/meta.json").read_text() == "a session!"
    assert not (folder / "trusted.json").exists()
    backup = content(folder / "backups/v1")
    assert {name: backup[name].decode() for name in TRUTH} == {name: FILES[name] for name in TRUTH}
    assert json.loads(backup["version.json"]) == {"state_version": 1}
    assert sorted(backup) == sorted([*TRUTH, "version.json"])


def test_older_folder_is_backed_up_and_migrated(tmp_path: Path) -> None:
    folder = old_folder(tmp_path)
    (done,) = bring_up(str(folder), System(), 3, STEPS)
    assert "from version 1 to 3" in done
    assert str(folder / "backups/v1") in done
    check_migrated(folder)
    assert bring_up(str(folder), System(), 3, STEPS) == ()


def test_killed_migration_continues(tmp_path: Path) -> None:
    cuts = 0
    for syncs in range(100):
        folder = old_folder(tmp_path / str(syncs))
        try:
            bring_up(str(folder), CuttingDisk(syncs), 3, STEPS)
        except PowerCut:
            cuts += 1
        else:
            break
        bring_up(str(folder), System(), 3, STEPS)
        check_migrated(folder)
    assert cuts > 10


def test_full_disk_leaves_the_folder_unchanged(tmp_path: Path) -> None:
    class Full(System):
        def fsync(self, descriptor: int) -> None:
            raise OSError(28, "No space left on device")

    folder = old_folder(tmp_path)
    before = content(folder)
    with pytest.raises(OSError, match="No space"):
        bring_up(str(folder), Full(), 3, STEPS)
    after = content(folder)
    assert {name: after[name] for name in before} == before
