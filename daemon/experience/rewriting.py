"""Owns which pieces of a file are about experiences that go for good; writes no file."""

from __future__ import annotations

import json
from collections.abc import Collection

from .edits import EDIT_KINDS
from .fields import clean
from .lines import MAX_LINE_BYTES, Line, lines_from
from .parts import Part, Parts


def pieces_about(parts: Parts, part: Part, experience_ids: Collection[str]) -> list[tuple[int, int]]:
    """Return offsets and sizes of the lines of some experiences and of their edits; empty if there is none.

    Where there is one, the lines that aren't JSON go as well: they lie in the quarantine, but for those that
    are too long to be there whole. Lines of a newer version stay. Others wait for the lock meanwhile, so a
    line is looked at no closer than that takes: 5 µs instead of 50.
    """
    broken: list[Line] = []
    about: list[Line] = []
    with parts.file.reading(part.path) as descriptor:
        for line in lines_from(descriptor, 0):
            if line.size > MAX_LINE_BYTES or not line.data.strip():
                continue
            try:
                fields = json.loads(line.data)
            except (ValueError, RecursionError):
                broken.append(line)
                continue
            if isinstance(fields, dict) and _subject(fields) in experience_ids:
                about.append(line)
    if not about:
        return []
    return sorted((line.offset, line.size) for line in (*about, *broken))


def _subject(fields: dict[str, object]) -> str:
    """Return the id of the experience that a line is or that it edits; empty for another one."""
    kind = fields.get("type", "experience")
    name = "id" if kind == "experience" else "of" if isinstance(kind, str) and kind in EDIT_KINDS else ""
    return " ".join(clean(str(fields.get(name, ""))).split())
