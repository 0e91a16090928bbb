"""Owns the baseline of whole files: those that BM25 ranks best, until the budget is used, the last cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from foveal.daemon.index.store import Reader

from ..retrieval.baselines import kept_rank
from ..retrieval.bm25 import FileBm25
from ..retrieval.indexing import ensure_index
from ..retrieval.judged import Judged, Project
from .counting import CHARACTERS
from .projects import CodeBase
from .prompts import Prompt

NAME = "whole files by BM25"

FOCUS_SHARE = 0.5
"""A focus file takes at most so much of the budget, as in ours, lest nothing else be shown."""


def rankings(code: CodeBase, prompts: Sequence[Prompt], folder: Path) -> list[list[str]]:
    """Return for each prompt the files, best first (bm25s, as the retrieval benchmark asks it)."""
    questions = tuple(
        Judged(one.id, one.collection, one.project, one.split, "", "", one.text, {}) for one in prompts
    )
    project = Project("coverage", code.name, code.root, questions)
    ensure_index(code.root, folder / "indexes" / code.name)
    reader = Reader(str(folder / "indexes" / code.name))
    try:
        return kept_rank(FileBm25(), project, reader, folder / "bm25").rankings
    finally:
        reader.close()


def fill(code: CodeBase, ranked: Iterable[str], budget: int, focus: str = "") -> str:
    """Return the text: whole files in their order, the last one cut after a whole line where it can be."""
    room = budget * CHARACTERS
    parts: list[str] = []
    if focus:
        parts.append(block(focus, _text(code, focus), int(room * FOCUS_SHARE)))
        room -= len(parts[0])
    for path in ranked:
        if path == focus:
            continue
        part = block(path, _text(code, path), room)
        parts.append(part)
        room -= len(part)
        if not part or room <= 0:
            break
    return "".join(parts)


def block(path: str, text: str, characters: int) -> str:
    """Return a file under its heading in at most so many characters, "" if not even a part of a line fits."""
    heading, end = f"### `{path}`\n\n````\n", "\n````\n\n"
    room = characters - len(heading) - len(end)
    body = text.rstrip("\n")
    if len(body) > room:
        body = body[: max(room, 0)]
        body = body[: body.rfind("\n")] if "\n" in body else body
    return f"{heading}{body}{end}" if body else ""


def _text(code: CodeBase, path: str) -> str:
    return (code.root / path).read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
