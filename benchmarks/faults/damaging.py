"""The ways in which a file is damaged, and whether what it held is still somewhere."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
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


def flipped(path: Path, chance: random.Random) -> str:
    """Turn one bit."""
    data = bytearray(path.read_bytes())
    if not data:
        data = bytearray(b"\x00")
    offset, bit = chance.randrange(len(data)), chance.randrange(8)
    data[offset] ^= 1 << bit
    path.write_bytes(bytes(data))
    return f"bit {bit} at {offset} of {len(data)} turned"


def flipped_20(path: Path, chance: random.Random) -> str:
    """Turn twenty bits."""
    return _flip(path, chance, 20)


def flipped_1000(path: Path, chance: random.Random) -> str:
    """Turn a thousand bits."""
    return _flip(path, chance, 1_000)


def _flip(path: Path, chance: random.Random, count: int) -> str:
    data = bytearray(path.read_bytes() or b"\x00")
    for _ in range(count):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(bytes(data))
    return f"{count} bits of {len(data)} bytes turned"


def zeroed_page(path: Path, chance: random.Random) -> str:
    """Zero a page of 4 KB, as a disk leaves what was allocated and never written."""
    data = bytearray(path.read_bytes())
    start = chance.randrange(len(data) // PAGE_BYTES + 1) * PAGE_BYTES
    size = len(data[start : start + PAGE_BYTES])
    data[start : start + size] = bytes(size)
    path.write_bytes(bytes(data))
    return f"{size} bytes at {start} of {len(data)} zeroed"


def garbage_behind(path: Path, chance: random.Random) -> str:
    """Put random bytes behind what a file holds."""
    size = chance.choice((1, 100, PAGE_BYTES))
    with path.open("ab") as file:
        file.write(chance.randbytes(size))
    return f"{size} random bytes put behind it"


def another_content(path: Path, chance: random.Random) -> str:
    """Put what a file of another kind holds into the place."""
    contents = (b"SQLite format 3\0" + bytes(100), b'{"version": 1}\n', b"[" * 100_000, b"%PDF-1.7\n" * 50,
                b'{"a": Infinity}', b"\xff\xfe\x00", b"key = 1\n", b"null")  # fmt: skip
    number = chance.randrange(len(contents))
    path.write_bytes(contents[number])
    return f"replaced by content {number} of another kind"


def schema_edited(path: Path, chance: random.Random) -> str:
    """Change the schema of a database in its own text, whose page stays sound; nothing without one."""
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA writable_schema = ON")
        rows = database.execute("SELECT rowid, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
        number, text = chance.choice(rows)
        place = chance.randrange(len(text))
        changed = text[:place] + chance.choice("xX\x01 (),") + text[place + 1 :]
        blob = changed.encode() if chance.random() < 0.7 else changed.encode()[:place] + b"\xff"
        database.execute(
            "UPDATE sqlite_master SET sql = CAST(? AS TEXT) WHERE rowid = ? AND sql != ?",
            (blob, number, changed),
        )
    database.close()
    return f"the schema changed at {place} of {text[:40]!r}"


def types_swapped(path: Path, chance: random.Random) -> str:
    """Put a value of another type into a column, which SQLite lets anybody do."""
    with sqlite3.connect(path) as database:
        tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        filled = [
            name
            for (name,) in database.execute(tables).fetchall()
            if database.execute(f'SELECT 1 FROM "{name}"').fetchone()
        ]
        table = chance.choice(filled)
        columns = database.execute(f'PRAGMA table_info("{table}")').fetchall()
        choice = [row for row in columns if not (row[2] == "INTEGER" and row[5])]
        name, declared = chance.choice(choice or columns)[1:3]
        other = {"TEXT": "x'ff00'", "INTEGER": "'text'", "BLOB": "'text'", "REAL": "'text'"}.get(
            declared, "x'ff'"
        )
        key = "rowid" if database.execute(_HAS_ROWID, (table,)).fetchone() else f'"{columns[0][1]}"'
        one = f'SELECT {key} FROM "{table}" ORDER BY random() LIMIT 1'
        try:
            database.execute(f'UPDATE "{table}" SET "{name}" = {other} WHERE {key} IN ({one})')
        except sqlite3.Error:
            database.execute("PRAGMA user_version = 99")  # a STRICT table, or a key that is taken
    database.close()
    return f"{table}.{name} given another type"


_HAS_ROWID = "SELECT 1 FROM sqlite_master WHERE name = ? AND sql NOT LIKE '%WITHOUT ROWID%'"


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


def a_link(path: Path, chance: random.Random) -> str:
    """Put a symlink into the place: to nothing, to a device, to a folder, or to a file of somebody else's."""
    _take_away(path)
    other = path.parent / "elsewhere.other"
    other.write_bytes(b"of somebody else")
    target = chance.choice(("nowhere", "/dev/null", "/", str(other)))
    path.symlink_to(target)
    return f"replaced by a symlink to {target}"


def a_pipe(path: Path, chance: random.Random) -> str:
    """Put a FIFO into the place, on which opening waits."""
    _take_away(path)
    os.mkfifo(path)
    return "replaced by a FIFO"


PAGE_BYTES = 4_096

CONTENT = (truncated, flipped, flipped_20, flipped_1000, zeroed_page, garbage_behind, another_content)
KIND = (a_folder, a_loop, a_pipe, a_link)
SQL = (schema_edited, types_swapped)
"""For databases only."""


def files_below(folder: Path) -> Iterator[Path]:
    """Yield all regular files below a folder, by name."""
    for base, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(base) / name
            if path.is_file() and not path.is_symlink():
                yield path


def _take_away(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
