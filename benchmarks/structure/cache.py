"""A disk cache of tools' answers, which take minutes to get."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from .sites import Site, Target, Verdict

VERSION = 1
"""Raised when other sites are asked about, or what a tool says is understood in another way."""


def kept(folder: Path, name: str, ask: Callable[[], Mapping[Site, Verdict]]) -> dict[Site, Verdict]:
    """Return what is kept under a name, or ask and keep it."""
    path = folder / f"{name}-v{VERSION}.json"
    if not path.is_file():
        found = ask()
        rows = [[site, one.outcome, one.targets, one.also] for site, one in sorted(found.items())]
        folder.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".new")
        temporary.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
        os.replace(temporary, path)
    return {
        Site(*site): Verdict(outcome, _targets(targets), _targets(also))
        for site, outcome, targets, also in json.loads(path.read_text(encoding="utf-8"))
    }


def source_fingerprint(paths: list[Path]) -> str:
    """Return a short digest of the contents of files."""
    digest = hashlib.blake2b(digest_size=6)
    for path in sorted(paths):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _targets(rows: list[list[object]]) -> tuple[Target, ...]:
    return tuple(Target(*each) for each in rows)  # type: ignore[arg-type]  # as they were written
