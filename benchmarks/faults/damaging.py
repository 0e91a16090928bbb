"""Owns the ways in which a file is damaged, and whether what it held is still somewhere."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

Damage = Callable[[Path, random.Random], str]
"""Damages the file at a path; returns in words what was done."""


def truncated(path: Path, chance: random.Random) -> str:
    """Cut a file off at a random offset."""
    data = path.read_bytes()
    size = chance.randrange(len(data) or 1)
    path.write_bytes(data[:size])
    return f"cut to {size} of {len(data)} bytes"


def emptied(path: Path, chance: random.Random) -> str:
    """Leave nothing of a file."""
    path.write_bytes(b"")
    return "emptied"


def flipped(path: Path, chance: random.Random) -> str:
    """Turn one bit."""
    data = bytearray(path.read_bytes())
    if not data:
        data = bytearray(b"\x00")
    offset, bit = chance.randrange(len(data)), chance.randrange(8)
    data[offset] ^= 1 << bit
    path.write_bytes(bytes(data))
    return f"bit {bit} at {offset} of {len(data)} turned"


def zeroed(path: Path, chance: random.Random) -> str:
    """Fill a random part with zeros, as a disk leaves what was allocated and never written."""
    data = bytearray(path.read_bytes())
    start = chance.randrange(len(data) or 1)
    size = min(len(data) - start, chance.choice((1, 64, 512, 4096)))
    data[start : start + size] = bytes(size)
    path.write_bytes(bytes(data))
    return f"{size} bytes at {start} of {len(data)} zeroed"


def garbage(path: Path, chance: random.Random) -> str:
    """Fill a file with random bytes."""
    size = max(path.stat().st_size, 64)
    path.write_bytes(chance.randbytes(min(size, 100_000)))
    return "filled with random bytes"


def a_folder(path: Path, chance: random.Random) -> str:
    """Put a folder with a file in it into the place."""
    _take_away(path)
    path.mkdir()
    (path / "left").write_text("something")
    return "replaced by a folder"


def a_file(path: Path, chance: random.Random) -> str:
    """Put a file into the place of a folder."""
    _take_away(path)
    path.write_text("no folder")
    return "replaced by a file"


def a_loop(path: Path, chance: random.Random) -> str:
    """Put a symlink to itself into the place."""
    _take_away(path)
    path.symlink_to(path.name)
    return "replaced by a symlink loop"


def a_pipe(path: Path, chance: random.Random) -> str:
    """Put a FIFO into the place, on which opening waits."""
    _take_away(path)
    os.mkfifo(path)
    return "replaced by a FIFO"


def unreadable(path: Path, chance: random.Random) -> str:
    """Take away all permissions; root ignores that, so the daemon must be another user's."""
    path.chmod(0)
    return "made unreadable"


CONTENT: tuple[Damage, ...] = (truncated, emptied, flipped, zeroed, garbage)
KIND: tuple[Damage, ...] = (a_folder, a_loop, a_pipe)


def files_below(folder: Path) -> Iterator[Path]:
    """Yield all regular files below a folder, by name."""
    for base, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(base) / name
            if path.is_file() and not path.is_symlink():
                yield path


def is_kept(data: bytes, folder: Path) -> bool:
    """Whether a file with just these bytes lies anywhere below a folder."""
    return any(path.stat().st_size == len(data) and path.read_bytes() == data for path in files_below(folder))


def _take_away(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
