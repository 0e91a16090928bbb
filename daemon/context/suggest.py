"""Owns the guess which files a prompt in plain words is about, by their names alone; reads no contents."""

from __future__ import annotations

import re
from collections.abc import Collection

from ..index.store import Reader
from ..project.tree import Tree
from .focus import FocusNode

SUGGESTED_MAX = 5

_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_SIDE = re.compile(
    r"(^|/|_|\.)(tests?|specs?|__tests__|docs?|examples?|fixtures|benchmarks|locales?|migrations)(/|_|\.|$)"
)

SIDE_FACTOR = 0.3
"""Tests and documents are seldom what is meant: on 319 commits to eight repositories this penalty alone
raised NDCG@10 by .076."""

STEM_WEIGHT, FOLDER_WEIGHT, DEFINITION_WEIGHT = 2.0, 0.7, 1.0
"""A word in the file's own name says more than one in a folder's or a definition's. Set by hand on this
repository and three packages; search over contents will replace the guess."""

DEFINITIONS_MAX = 50


def suggested(tree: Tree, reader: Reader, words: Collection[str]) -> list[FocusNode]:
    """Return the files whose names, folders and definitions share the most words with a prompt.

    `words` are lower case and singular. Every word counts once for a file, by the best place that has it,
    and less the more files have it. At most `SUGGESTED_MAX`, best first; none where no word hits.
    """
    scores: dict[str, float] = {}
    for word in sorted(words):
        hits = _by_path(tree, word)
        for path, _ in reader.definitions_named(word, DEFINITIONS_MAX):
            hits[path] = max(hits.get(path, 0.0), DEFINITION_WEIGHT)
        rarity = 1.0 / (1.0 + len(hits) / 10)
        for path, weight in hits.items():
            scores[path] = scores.get(path, 0.0) + weight * rarity
    for path in scores:
        if _SIDE.search(path.lower()):
            scores[path] *= SIDE_FACTOR
    best = sorted(scores, key=lambda path: (-scores[path], len(path), path))[:SUGGESTED_MAX]
    return [FocusNode(path, "", "document", "its names are in the prompt") for path in best]


def _by_path(tree: Tree, word: str) -> dict[str, float]:
    """Return the files with a word in their path; a cheap test comes first, since there may be 100,000."""
    hits: dict[str, float] = {}
    for path, record in tree.files.items():
        if word not in path.lower() or not record.language or record.skipped:
            continue
        folders, _, name = path.rpartition("/")
        if _has_word(name.partition(".")[0], word):
            hits[path] = STEM_WEIGHT
        elif _has_word(folders, word):
            hits[path] = FOLDER_WEIGHT
    return hits


def _has_word(text: str, word: str) -> bool:
    return any(part.lower() in {word, f"{word}s"} for part in _PARTS.findall(text))
