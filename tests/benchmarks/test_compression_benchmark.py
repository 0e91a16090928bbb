"""The compression benchmark counts a needed line as kept only where it can still be read, and its pairs hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.benchmarks.compression.pairs import Pair
from foveal.benchmarks.compression.survival import share_kept

TEXT = "first\n\n  second {\n    third line\n  }\nfifth\n"


@pytest.mark.parametrize(
    ("shorter", "needed", "share"),
    [
        ("1  first\n3    second {\n4      third line", [1, 3, 4], 1.0),
        ("1  first\n3  second\n…  3 lines", [3], 1.0),  # without what opens the body
        ("1  first\n4  third\n", [4], 0.0),  # torn
        ("1  third line\n", [4], 0.0),  # under another number
        ("1  first\n…  4 lines\n", [1, 4], 0.5),
        ("1  first\n", [2], 1.0),  # blank
        ("Read: first second {\nthird line", [1, 3, 4], 1.0),  # without numbers, wrapped in another way
        ("firstly, a third  line", [1, 4], 0.5),
        ("", [1], 0.0),
    ],
)
def test_what_survives(shorter: str, needed: list[int], share: float) -> None:
    assert share_kept(TEXT, shorter, needed) == share


def unpacked(folder: Path, pair: Pair, text: str) -> None:
    """Lay a file where an archive would have been unpacked to."""
    (folder / pair.corpus.name).mkdir(parents=True)
    (folder / ".archives").mkdir()
    (folder / ".archives" / f"{pair.corpus.name}.unpacked").write_text(pair.corpus.sha256)
    (folder / pair.corpus.name / pair.path).write_text(text)
