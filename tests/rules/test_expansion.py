"""Imports are put in their places, once each, and what is refused stays as it was written."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.daemon.core.system import System
from foveal.daemon.rules.instruction_text import Importer, trimmed
from foveal.daemon.rules.zone import Zone, ZoneReader


def check(root: Path, files: dict[str, str], text: str, warned: list[str]) -> None:
    """Expand `CLAUDE.md`; each warning is a file's name and the start of its message."""
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    warnings: list[str] = []
    importer = Importer(
        ZoneReader(System()), str(root / "home"), lambda name, message: warnings.append(f"{name}: {message}")
    )
    zone = Zone(str(root), str(root.resolve()), "", trusted=False)
    real = str(root.resolve() / "CLAUDE.md")
    lines, _ = importer.expand(zone, files["CLAUDE.md"], "CLAUDE.md", real)
    assert trimmed(lines)[1] == text
    assert [warning[: len(start)] for warning, start in zip(warnings, warned, strict=True)] == warned


@pytest.mark.parametrize(
    ("files", "text", "warned"),
    [
        ({"CLAUDE.md": "a\n@b.md\nc", "b.md": "\nB\n\n"}, "a\nB\nc", []),
        ({"CLAUDE.md": "@b.md", "b.md": "<!-- x -->\n"}, "", []),
        ({"CLAUDE.md": "- @b.md\n- c", "b.md": "# B"}, "- @b.md\n\n# B\n\n- c", []),
        ({"CLAUDE.md": "@b.md @c.md", "b.md": "B", "c.md": "C"}, "@b.md @c.md\n\nB\n\n\nC", []),
        ({"CLAUDE.md": "@x/b.md", "x/b.md": "@c.md", "x/c.md": "C"}, "C", []),
        ({"CLAUDE.md": "@~/b.md", "home/b.md": "B"}, "B", []),
        ({"CLAUDE.md": "@b.md#part", "b.md": "B"}, "B", []),
        ({"CLAUDE.md": "@b.md\n@./b.md", "b.md": "B"}, "B\n@./b.md", []),
        (
            {"CLAUDE.md": "@b.md", "b.md": "@CLAUDE.md"},
            "@CLAUDE.md",
            ["b.md: the import @CLAUDE.md is cyclic"],
        ),
        ({"CLAUDE.md": "@x @x.md"}, "@x @x.md", ["CLAUDE.md: the import @x.md doesn't exist"]),
        ({"CLAUDE.md": "@../x"}, "@../x", ["CLAUDE.md: the import @../x leads out of "]),
        ({"CLAUDE.md": "@b.md", "b.md": "a\0"}, "@b.md", ["CLAUDE.md: the import @b.md isn't text"]),
    ],
)
def test_imports(tmp_path: Path, files: dict[str, str], text: str, warned: list[str]) -> None:
    check(tmp_path, files, text, warned)
