"""The pairs: prompts, the files they are about, and the lines of these that they need."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..retrieval.corpora import Corpus, CorpusError, provide
from ..retrieval.repositories import SPLITS

FILES = ("pairs.jsonl", "pairs_blind.jsonl")

_KEYS = frozenset(
    ["name", "registry", "package", "version", "sha256", "path", "language", "prompt", "needed", "split"],
)


@dataclass(frozen=True, slots=True)
class Pair:
    """One prompt with the lines, from 1, that it needs of one file; see the package's docstring."""

    name: str
    corpus: Corpus
    path: str
    language: str
    prompt: str
    needed: tuple[int, ...]
    split: str
    blind: bool


def read_pairs(folder: Path = Path(__file__).parent) -> list[Pair]:
    """Return the pairs of both files, in their order; raise `ValueError` naming the line that is wrong."""
    pairs: list[Pair] = []
    for file in FILES:
        path = folder / file
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        for number, line in enumerate(lines, 1):
            try:
                pairs.append(_pair(json.loads(line), blind="blind" in file))
            except (ValueError, TypeError) as error:
                raise ValueError(f"{file}, line {number}: {error}") from error
    names = [pair.name for pair in pairs]
    if len(set(names)) != len(names):
        raise ValueError(f"names stand twice: {sorted({name for name in names if names.count(name) > 1})}")
    return pairs


def read_file(pair: Pair, folder: Path) -> str:
    """Return the text of a pair's file, fetched if it isn't in the folder.

    Raises `CorpusError` if it can't be had, or if a needed line isn't in it or is blank.
    """
    path = provide(pair.corpus, folder) / pair.path
    if not path.is_file():
        raise CorpusError(f"{pair.name}: {pair.corpus.name} has no {pair.path}")
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = text.split("\n")
    if pair.needed[-1] > len(lines):
        raise CorpusError(f"{pair.name}: {pair.path} has {len(lines)} lines, not {pair.needed[-1]}")
    if not any(lines[number - 1].strip() for number in pair.needed):
        raise CorpusError(f"{pair.name}: its needed lines are blank")
    return text


def languages_of(pairs: Iterable[Pair]) -> list[str]:
    """Return the languages of pairs, each once, sorted."""
    return sorted({pair.language for pair in pairs})


def _pair(entry: Mapping[str, Any], *, blind: bool) -> Pair:
    if entry.keys() != _KEYS:
        raise ValueError(f"missing {sorted(_KEYS - entry.keys())}, unknown {sorted(entry.keys() - _KEYS)}")
    if entry["split"] not in SPLITS or (blind and entry["split"] != "held_out"):
        raise ValueError(f"split can't be {entry['split']!r}")
    last = 0
    for first, end in entry["needed"]:
        if not last < first <= end:
            raise ValueError(f"needed: {first} to {end} is no range, or out of order")
        last = end
    if not last or not entry["prompt"].strip():
        raise ValueError("it needs a prompt, and needed lines")
    # Its folder bears the version too: another pair may pin another one.
    folder = f"{entry['package'].lower().replace('@', '').replace('/', '-')}-{entry['version']}"
    corpus = Corpus(
        folder.replace("_", "-").replace("~", "-").replace(":", "-"),
        entry["registry"],
        entry["package"],
        entry["version"],
        entry["sha256"],
        entry["language"],
        entry["split"],
    )
    needed = tuple(number for first, end in entry["needed"] for number in range(first, end + 1))
    return Pair(
        entry["name"],
        corpus,
        entry["path"],
        entry["language"],
        entry["prompt"],
        needed,
        entry["split"],
        blind,
    )
