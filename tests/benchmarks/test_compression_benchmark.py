"""The compression benchmark counts a needed line as kept only where it can still be read, and its pairs hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from foveal.benchmarks.compression.pairs import FILES, Pair, languages_of, read_pairs
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


def entry(**changed: Any) -> dict[str, Any]:
    return {
        "name": "a", "registry": "pypi", "package": "Some_Thing", "version": "1.0", "sha256": "0" * 64,
        "path": "a.py", "language": "python", "prompt": "Why?", "needed": [[2, 3], [7, 7]], "split": "tune",
    } | changed  # fmt: skip


def written(folder: Path, *entries: dict[str, Any], file: str = FILES[0]) -> Path:
    (folder / file).write_text("".join(json.dumps(one) + "\n" for one in entries), encoding="utf-8")
    return folder


def test_names_are_unique_and_blind_pairs_never_tuned_on(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="twice"):
        read_pairs(written(tmp_path, entry(), entry()))
    with pytest.raises(ValueError, match="split"):
        read_pairs(written(tmp_path, entry(name="c"), file=FILES[1]))


def unpacked(folder: Path, pair: Pair, text: str) -> None:
    """Lay a file where an archive would have been unpacked to."""
    (folder / pair.corpus.name).mkdir(parents=True)
    (folder / ".archives").mkdir()
    (folder / ".archives" / f"{pair.corpus.name}.unpacked").write_text(pair.corpus.sha256)
    (folder / pair.corpus.name / pair.path).write_text(text)


def test_the_pairs_cover_languages_prose_data_and_logs() -> None:
    pairs = read_pairs()
    own = [pair for pair in pairs if not pair.blind]
    assert len(own) >= 34
    assert abs(2 * sum(pair.split == "tune" for pair in own) - len(own)) <= 4
    assert {"markdown", "json", "log", "python", "typescript", "go", "rust", "java", "c"} <= set(
        languages_of(own)
    )
