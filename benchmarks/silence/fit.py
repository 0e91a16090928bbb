"""Fit the weights of daemon/search/need.py: python -m benchmarks.silence.fit CLONES --state STATE.

CLONES has a git repository for each of these projects. Prints the weights, and the precision and recall of
silence for each set of prompts, and for each project, when it is left out of the fit.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from foveal.daemon.index.service import LexicalHandle, Reader
from foveal.daemon.project.service import Tree
from foveal.daemon.search import need
from foveal.daemon.search.candidates import VECTOR_MAX
from foveal.daemon.search.filters import EVERYTHING
from foveal.daemon.search.query import NEED_MIN
from foveal.daemon.search.router import conclude, gather
from foveal.daemon.search.service import is_small_talk
from foveal.daemon.transcripts.service import asked

from ..logistic import fit_features
from ..retrieval.embedding import Embedder
from ..retrieval.indexing import ensure_index
from .__main__ import COMMITS, DATA, Prompt, checked_out, prompts

FITTED = ("flask", "gin", "httpx")
"""The other projects of the data stay unseen."""

RIDGE = 2.0
"""Of the squares of the weights, on features of unit variance."""

HITS = 60
"""Files that are asked for, as `context.hits_max`."""

THRESHOLDS = (0.15, 0.2, NEED_MIN, 0.3, 0.4)

Features = Mapping[str, float]


class Row(NamedTuple):
    """A prompt with its features, with and without vectors; none where its words decide."""

    prompt: Prompt
    features: tuple[Features, Features] | None


def main() -> int:
    """Fit and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.silence.fit", description=__doc__)
    parser.add_argument("clones", type=Path)
    parser.add_argument("--state", type=Path, required=True, help="folder for indexes and vectors")
    options = parser.parse_args()
    state = options.state.absolute()
    state.mkdir(parents=True, exist_ok=True)
    embedder = Embedder(state, 1)
    by_set: dict[str, list[Row]] = {}
    for folder in (DATA / name for name in FITTED):
        root = state / folder.name
        if not root.exists():
            checked_out(options.clones / f"{folder.name}.git", COMMITS[folder.name], root)
        for path in sorted(folder.glob("*.toml")):
            by_set[f"{folder.name}/{path.stem}"] = []
        for name, row in _rows(embedder, root, state / f"index-{folder.name}", folder):
            by_set[name].append(row)
        print(f"{folder.name}: read", file=sys.stderr)
    embedder.close()
    by_project: dict[str, list[Row]] = {}
    for name, rows in by_set.items():
        by_project.setdefault(name.partition("/")[0], []).extend(rows)
    for groups, vectors in ((by_set, True), (by_set, False), (by_project, True)):
        print(f"each left out of the fit in turn, {'with' if vectors else 'without'} vectors")
        _print_left_out(groups, vectors=vectors)
    print("{")
    for name, value in _fit([row for rows in by_set.values() for row in rows]).items():
        print(f'    "{name}": {value:.4g},')
    print("}")
    return 0


def _rows(embedder: Embedder, root: Path, folder: Path, data: Path) -> Iterator[tuple[str, Row]]:
    ensure_index(root, folder)
    vectors = embedder.vectors(root.name, folder)
    embedder.embed_all(vectors)
    reader, lexical = Reader(str(folder)), LexicalHandle(str(folder))
    tree = Tree(str(root), 1, reader.load_files())
    for path in sorted(data.glob("*.toml")):
        for prompt in prompts(path):
            text = asked(prompt.text)
            gathered = gather(text, tree, reader, lexical, EVERYTHING, "hybrid", HITS)
            question = gathered.question
            if not text or is_small_talk(question):
                yield f"{data.name}/{path.stem}", Row(prompt, None)
                continue
            texts = question.windows or (text[:1_000],)
            queries = np.concatenate([embedder.model.embed_query(one) for one in texts])
            near = vectors.search(queries, VECTOR_MAX, gathered.files).hits
            named = max((score for _, score in gathered.candidates.tree), default=0.0)
            features = []
            for hits in (near, ()):
                found = conclude(gathered, hits, tree, reader, HITS, definitions=True)
                probabilities = [definition.probability for hit in found for definition in hit.definitions]
                nearest = max((score for _, score in hits), default=None)
                features.append(need.features_of(question, lexical.current(), named, probabilities, nearest))
            yield f"{data.name}/{path.stem}", Row(prompt, (features[0], features[1]))
    reader.close()


def _fit(rows: Sequence[Row]) -> dict[str, float]:
    """Return the weights for whether a prompt needs something."""
    examples = [(feature, not row.prompt.silent) for row in rows if row.features for feature in row.features]
    return fit_features(examples, sorted(examples[0][0]), RIDGE)


def _print_left_out(groups: Mapping[str, Sequence[Row]], *, vectors: bool) -> None:
    judged: list[tuple[str, Prompt, float]] = []
    for held, rows in groups.items():
        weights = _fit([row for name, others in groups.items() if name != held for row in others])
        for prompt, features in rows:
            of = features[0 if vectors else 1] if features else None
            probability = 0.0 if of is None else need.probability_of(of, weights)
            judged.append((held, prompt, probability))
    for name in (*groups, "all"):
        of_group = [(prompt, one) for held, prompt, one in judged if name in {held, "all"}]
        wanted = sum(prompt.silent for prompt, _ in of_group)
        figures = []
        for least in THRESHOLDS:
            silent = [prompt.silent for prompt, probability in of_group if probability < least]
            figures.append(f"{sum(silent) / max(len(silent), 1):.3f}/{sum(silent) / max(wanted, 1):.3f}")
        print(f"  {name:16} precision/recall below {THRESHOLDS}: {'  '.join(figures)}")
    for held, prompt, probability in judged if vectors else ():
        if (probability < NEED_MIN) != prompt.silent:
            print(f"    {probability:.2f} {held} {prompt.kind}: {prompt.text[:100]!r}")


if __name__ == "__main__":
    sys.exit(main())
