"""The labelled transcripts: their labels, and their records with the filler that they ask for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .filler import filler_lines

FOLDER = Path(__file__).parent
SETS = {
    "own": FOLDER / "data",
    "held-out": FOLDER / "held_out",
    "fresh": FOLDER / "fresh",
    "fresh2": FOLDER / "fresh2",
    "fresh3": FOLDER / "fresh3",
    "fresh4": FOLDER / "fresh4",
    "fresh5": FOLDER / "fresh5",
}
UNSEEN = ("fresh3", "fresh5")
"""The sets that nothing was tuned on or fitted to."""


OTHER_LANGUAGES = frozenset({"german", "french", "spanish", "chinese", "japanese"})
"""Kinds of transcripts in which the agent spoke no English; the product has a file of cues of each."""


@dataclass(frozen=True)
class Label:
    """A decision that should be found; the package's docstring says what each field means."""

    says: str
    key: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]
    files: tuple[str, ...] | None
    outcome: str | None
    optional: bool


@dataclass(frozen=True)
class Labelled:
    """A transcript and what should be found in it."""

    path: Path
    kinds: tuple[str, ...]
    labels: tuple[Label, ...]

    @property
    def is_english(self) -> bool:
        """Whether the agent spoke English."""
        return not OTHER_LANGUAGES.intersection(self.kinds)


def read_set(folder: Path) -> list[Labelled]:
    """Return the transcripts of a folder that have labels, in the order of the labels; none without labels.

    Raises `ValueError` for a transcript without labels or labels without a transcript."""
    file = folder / "labels.jsonl"
    if not file.exists():
        return []
    read = [
        _labelled(folder, json.loads(line)) for line in file.read_text("utf-8").splitlines() if line.strip()
    ]
    named, there = {one.path for one in read}, {*folder.glob("*.jsonl"), *folder.glob("*.md")} - {file}
    if named != there:
        raise ValueError(f"labels and transcripts differ: {sorted(path.name for path in named ^ there)}")
    return read


def transcript_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a transcript with their ends, filler made where it is asked for."""
    before = ""
    with path.open(encoding="utf-8", newline="") as lines:
        for line in lines:
            if line.startswith('{"filler"'):
                yield from filler_lines(before, int(json.loads(line)["filler"]))
            else:
                before = line
                yield line


def _labelled(folder: Path, fields: dict[str, Any]) -> Labelled:
    labels = tuple(_label(decision) for decision in fields["decisions"])
    return Labelled(folder / fields["transcript"], tuple(fields.get("kinds", ())), labels)


def _label(fields: dict[str, Any]) -> Label:
    files = fields.get("files")
    return Label(
        fields["says"],
        _alternatives(fields["key"]),
        tuple(_alternatives(word) for word in fields.get("words", ())),
        None if files is None else tuple(files),
        fields.get("outcome"),
        bool(fields.get("optional", False)),
    )


def _alternatives(text: str) -> tuple[str, ...]:
    return tuple(part.strip().casefold() for part in text.split("|"))
