"""Which pieces of a file go: the lines of some experiences and of their edits, with the bad ones beside them."""

from __future__ import annotations

from pathlib import Path

from foveal.daemon.core.system import System
from foveal.daemon.memory.edits import Edit
from foveal.daemon.memory.experience import Experience
from foveal.daemon.memory.lines import MAX_LINE_BYTES, line_of
from foveal.daemon.memory.pool_file import PoolFile, PoolParts
from foveal.daemon.memory.pool_store import pieces_about

AT = "2025-01-01T00:00:00.000Z"


def test_which_lines_go(tmp_path: Path) -> None:
    lines = [
        line_of(Experience("x_1", AT, "a", "s", "one")),
        line_of(Experience("x_2", AT, "a", "s", "two")),
        b"garbage\n",
        b"\n",
        line_of(Edit("e_1", "x_1", AT, "delete")),
        line_of(Edit("e_2", "x_9", AT, "delete")),
        b'{"type":"vote","of":"x_1"}\n',
        b"x" * (MAX_LINE_BYTES + 1) + b"\n",
        line_of(Experience("x_3", AT, "a", "s", "three"))[:-1],
    ]
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"".join(lines))
    parts = PoolParts(PoolFile(str(path), System()), System())
    [part] = parts.listed()

    def check(ids: set[str], expected: list[int]) -> None:
        offsets = [(sum(map(len, lines[:number])), len(lines[number])) for number in expected]
        assert pieces_about(parts, part, ids) == offsets

    check(set(), [])
    check({"x_5"}, [])
    check({"x_1"}, [0, 2, 4])
    check({"x_9"}, [2, 5])
    check({"x_2", "x_3"}, [1, 2, 8])
