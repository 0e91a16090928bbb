"""Folders and git repositories to scan, and what a scan of them lists."""

from __future__ import annotations

import subprocess
from pathlib import Path

from foveal.daemon.core.system import System
from foveal.daemon.project.records import FileRecord, ScanChanges, ScanSettings
from foveal.daemon.project.service import Scanner

Known = dict[str, FileRecord]


def git(root: Path, *arguments: str) -> str:
    """Run git in a folder, as nobody in particular."""
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "protocol.file.allow=always"]
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=root, check=True, capture_output=True, text=True
    )
    return done.stdout


def make(root: Path, *paths: str, text: str = "x\n") -> None:
    """Write files of one text; a path with a slash at its end becomes a folder."""
    for path in paths:
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith("/"):
            target.mkdir(exist_ok=True)
        else:
            target.write_text(text)


def scanner_of(root: Path, settings: ScanSettings | None = None, system: System | None = None) -> Scanner:
    """Return a scanner of a folder, which has listed nothing yet."""
    return Scanner(str(root), system or System(), settings)


def full(scanner: Scanner) -> Known:
    """List everything, by path."""
    return {record.path: record for batch in scanner.full() for record in batch}


def scanned(
    root: Path, settings: ScanSettings | None = None, system: System | None = None
) -> tuple[Scanner, Known]:
    """Return a scanner that listed a folder, and what it found."""
    scanner = scanner_of(root, settings, system)
    return scanner, full(scanner)


def listed(root: Path, settings: ScanSettings | None = None) -> set[str]:
    """Return the paths that a new scanner lists."""
    return set(full(scanner_of(root, settings)))


def apply_to(known: Known, changes: ScanChanges) -> Known:
    """Change what is known, as the owner of a scanner does between the steps of a sweep; return it."""
    after = applied(known, changes)
    known.clear()
    known.update(after)
    return known


def applied(known: Known, changes: ScanChanges) -> Known:
    """Return what is known after changes."""
    assert not {record.path for record in changes.upserted} & set(changes.removed)
    assert set(changes.removed) <= known.keys()
    kept = {path: record for path, record in known.items() if path not in changes.removed}
    return kept | {record.path: record for record in changes.upserted}
