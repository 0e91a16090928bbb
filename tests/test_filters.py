"""A filter leaves the files and chunks that it names, and says at once when it leaves all."""

from __future__ import annotations

import pytest
from foveal.daemon.index.chunk_table import StoredChunk
from foveal.daemon.project.tree import FileRecord, Tree
from foveal.daemon.retrieval.filters import EVERYTHING, Filter
from foveal.daemon.system import Stamp

FILES = {
    "src/a.py": "python",
    "src/deep/b.ts": "typescript",
    "src2/c.py": "python",
    "d.md": "markdown",
    "logo.png": "",
}
TREE = Tree(
    "/p",
    1,
    {
        path: FileRecord(path, Stamp(1, place * 1_000, 0, 0), b"x", language)
        for place, (path, language) in enumerate(FILES.items(), 1)
    },
)


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (Filter(path_prefix="src"), ["src/a.py", "src/deep/b.ts", "src2/c.py"]),
        (Filter(path_prefix="src/"), ["src/a.py", "src/deep/b.ts"]),
        (Filter(path_prefix="src/a.py"), ["src/a.py"]),
        (Filter(path_prefix="nowhere/"), []),
        (Filter(glob="**/*.py"), ["src/a.py", "src2/c.py"]),
        (Filter(glob="src/**"), ["src/a.py", "src/deep/b.ts"]),
        (Filter(glob="*.md"), ["d.md"]),
        (Filter(languages=frozenset({"typescript", "markdown"})), ["src/deep/b.ts", "d.md"]),
        (Filter(languages=frozenset({"rust"})), []),
        (Filter(changed_ns=3_000), ["src2/c.py", "d.md", "logo.png"]),
        (Filter(changed_ns=10**20), []),
        (
            Filter(path_prefix="src", glob="**/*.py", languages=frozenset({"python"}), changed_ns=2_000),
            ["src2/c.py"],
        ),
        (Filter(path_prefix="src/a.py", languages=frozenset({"go"})), []),
        (Filter(path_prefix="src/a"), ["src/a.py"]),
        (EVERYTHING, None),
        (Filter(kinds=frozenset({"class"}), symbol="A"), None),
    ],
)
def test_files(chosen: Filter, expected: list[str] | None) -> None:
    assert chosen.files(TREE) == expected
    assert chosen.chooses_files() == (expected is not None)


def stored(symbol: str, kind: str, *names: str) -> StoredChunk:
    return StoredChunk(
        1, 1, "a.py", "python", 1, 9, symbol, kind, names or ((symbol,) if symbol else ()), b"x"
    )


@pytest.mark.parametrize(
    ("chosen", "chunk", "expected"),
    [
        (EVERYTHING, stored("f", "function"), True),
        (Filter(kinds=frozenset({"class"})), stored("f", "function"), False),
        (Filter(kinds=frozenset({"class", "function"})), stored("f", "function"), True),
        (Filter(symbol="Session"), stored("Session", "class"), True),
        (Filter(symbol="Session"), stored("Session.end", "method", "Session", "Session.end"), True),
        (Filter(symbol="Session"), stored("", "code", "Session", "Other"), True),
        (Filter(symbol="Session"), stored("SessionPool", "class"), False),
        (Filter(symbol="Session.end"), stored("Session", "class", "Session"), False),
        (Filter(symbol="Session.end"), stored("Session", "class", "Session", "Session.end"), True),
        (Filter(symbol="Guide"), stored("Guide/Setup", "section"), True),
        (Filter(symbol="Session", kinds=frozenset({"class"})), stored("Session.end", "method"), False),
    ],
)
def test_chunks(chosen: Filter, chunk: StoredChunk, expected: bool) -> None:
    assert chosen.holds_chunk(chunk) == expected


def test_who_names_a_file_means_that_one() -> None:
    names = ("a.js", "a.jsx", "a.js.map")
    tree = Tree("/p", 1, {name: FileRecord(name, Stamp(1, 1, 0, 0), b"x", "javascript") for name in names})
    assert Filter(path_prefix="a.js").files(tree) == ["a.js"]
    assert Filter(path_prefix="a.j").files(tree) == list(names)
