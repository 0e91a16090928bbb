"""Masks in real repositories: each with its line, to be judged by hand, and the speed."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from foveal.daemon.privacy.secret_files import is_secret_file
from foveal.daemon.privacy.secret_values import mask_secrets

FILE_BYTES_MAX = 1_000_000
"""A larger file isn't indexed."""


@dataclass(frozen=True, slots=True)
class Mask:
    """A line in which something was masked; `before` is the line as it stands in the file."""

    tree: str
    path: str
    line: int
    before: str
    after: str


@dataclass(slots=True)
class TreeMasks:
    """What was masked in a tree."""

    name: str
    files: int = 0
    lines: int = 0
    bytes: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    masks: list[Mask] = field(default_factory=list)


def masks_in(tree: Path) -> TreeMasks:
    """Mask each text of a tree as contexts do: files of secrets by their names are left out."""
    found = TreeMasks(tree.name)
    for path in _files(tree):
        text = _text(path)
        if not text:
            continue
        began = time.process_time()
        masked = mask_secrets(text)
        took = time.process_time() - began
        lines = text.split("\n")
        found.files += 1
        found.lines += len(lines)
        found.bytes += len(text)
        found.seconds += took
        found.slowest = max(found.slowest, took)
        if masked.count:
            name = path.relative_to(tree).as_posix()
            pairs = enumerate(zip(lines, masked.text.split("\n"), strict=True), 1)
            found.masks += [
                Mask(tree.name, name, number, before, after)
                for number, (before, after) in pairs
                if before != after
            ]
    return found


def sample(masks: list[Mask], size: int, seed: int = 18) -> list[Mask]:
    """Return some masks drawn at random, the same each time."""
    return random.Random(seed).sample(masks, min(size, len(masks)))


def _files(tree: Path) -> Iterator[Path]:
    for path in sorted(tree.rglob("*")):
        name = path.relative_to(tree)
        if ".git" in name.parts or path.is_symlink() or not path.is_file():
            continue
        if not is_secret_file(name.as_posix()) and path.stat().st_size <= FILE_BYTES_MAX:
            yield path


def _text(path: Path) -> str:
    """Return a file's text, "" for a binary one."""
    data = path.read_bytes()
    if b"\0" in data:
        return ""
    return data.decode("utf-8", "replace")
