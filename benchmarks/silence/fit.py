"""Fit the weights of daemon/search/need_weights.py: python -m benchmarks.silence.fit CLONES --state STATE.

CLONES has a git repository for each of these projects. Prints how many prompts that need nothing would be
silent, and how many tasks would be lost, by threshold: for prompts left out of the fit, and for the sets kept
apart. With `--write`, writes the weights, fitted to all sets that aren't kept apart.
"""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from foveal.daemon.index.service import LexicalHandle, Reader
from foveal.daemon.project.service import Tree
from foveal.daemon.search import need, need_weights
from foveal.daemon.search.filters import EVERYTHING
from foveal.daemon.search.query import NEED_MIN, NEED_SURE
from foveal.daemon.search.router import conclude, evidence_in, gather
from foveal.daemon.search.service import is_small_talk
from foveal.daemon.transcripts.service import asked

from ..retrieval.indexing import ensure_index
from .__main__ import ANY, APART, COMMITS, DATA, Prompt, checked_out, prompts

FITTED = ("flask", "gin", "httpx", "gson", "ripgrep", "jq", "requests")
"""The other projects of the data stay unseen."""

ASKED_ANY = ("flask", "gin", "gson", "jq")
"""Projects about which the prompts are asked that are about no project."""

FOLDS = 5
"""Parts of the prompts, each left out of the fit in turn."""

RIDGE, RIDGE_OF_PHRASES = 2.0, 0.5
"""Of the squares of the weights; features have unit variance, phrases are 0 or 1."""

PHRASE_PROMPTS = 3
"""Minimum number of prompts with a phrase, of two projects or of those that are about none."""

STEP = 0.25
"""The weights of phrases are rounded to this; those below half of it are left out."""

HITS = 60
"""Files that are asked for, as `context.hits_max`."""

THRESHOLDS = (0.2, 0.25, NEED_MIN, 0.4, 0.5, NEED_SURE, 0.75)


class Row(NamedTuple):
    """A prompt of a set with its evidence in a project; none where its form decides, which is `sure`."""

    name: str
    prompt: Prompt
    features: Mapping[str, float]
    phrases: frozenset[str]
    sure: float | None


class Model(NamedTuple):
    """The weights of the features and of the phrases."""

    features: dict[str, float]
    phrases: dict[str, float]

    def probability(self, row: Row) -> float:
        """Return the probability that a prompt needs code."""
        if row.sure is not None:
            return row.sure
        return need.probability_of(row.features, row.phrases, self.features, self.phrases)


def main() -> int:
    """Fit and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.silence.fit", description=__doc__)
    parser.add_argument("clones", type=Path)
    parser.add_argument("--state", type=Path, required=True, help="folder for checkouts and indexes")
    parser.add_argument("--write", action="store_true", help="write the weights")
    parser.add_argument("--misses", action="store_true", help="print the prompts left out that are wrong")
    options = parser.parse_args()
    rows = [row for name in FITTED for row in _rows(name, options.clones, options.state.absolute())]
    apart = [row for row in rows if row.name.endswith(APART)]
    fitted = [row for row in rows if not row.name.endswith(APART)]
    judged = []
    for fold in range(FOLDS):
        model = fit([row for row in fitted if _fold(row) != fold])
        judged += [(row, model.probability(row)) for row in fitted if _fold(row) == fold]
    _print("left out of the fit", judged, misses=options.misses)
    model = rounded(fit(fitted))
    _print("kept apart", [(row, model.probability(row)) for row in apart])
    if options.write:
        path = Path(need_weights.__file__)
        path.write_text(_written(path.read_text(encoding="utf-8"), model), encoding="utf-8")
    return 0


def _rows(project: str, clones: Path, state: Path) -> Iterator[Row]:
    root, folder = state / project, state / f"index-{project}"
    if not root.exists():
        state.mkdir(parents=True, exist_ok=True)
        checked_out(clones / f"{project}.git", COMMITS[project], root)
    ensure_index(root, folder)
    reader, lexical = Reader(str(folder)), LexicalHandle(str(folder))
    tree = Tree(str(root), 1, reader.load_files())
    folders = (project, ANY) if project in ASKED_ANY else (project,)
    for path in sorted(path for name in folders for path in (DATA / name).glob("*.toml")):
        for prompt in prompts(path):
            yield row_of(f"{path.parent.name}/{path.stem}", prompt, tree, reader, lexical)
    reader.close()
    print(f"{project}: read", file=sys.stderr)


def row_of(name: str, prompt: Prompt, tree: Tree, reader: Reader, lexical: LexicalHandle) -> Row:
    """Return a prompt with its evidence, which is that of the product without vectors."""
    text = asked(prompt.text)
    gathered = gather(text, tree, reader, lexical, EVERYTHING, "hybrid", HITS)
    question = gathered.question
    if not text or is_small_talk(question):
        return Row(name, prompt, {}, frozenset(), 0.0)
    if question.is_long:
        return Row(name, prompt, {}, frozenset(), 1.0)
    found = conclude(gathered, (), tree, reader, HITS, definitions=True)
    features = need.features_of(question, lexical.current(), evidence_in(gathered, found))
    return Row(name, prompt, features, need.phrases_of(question), None)


def fit(rows: Sequence[Row]) -> Model:
    """Fit a logistic regression with a ridge, by Newton's method.

    A prompt that is asked about several projects counts once, and what begins as a question takes part with
    and without its question mark, which some people leave out."""
    rows = [each for row in rows if row.sure is None for each in _marked(row)]
    names, phrases = sorted(rows[0].features), _phrases_in(rows)
    place = {phrase: number for number, phrase in enumerate(phrases)}
    table = np.array([[row.features[name] for name in names] for row in rows])
    mean, deviation = table.mean(axis=0), table.std(axis=0) + 1e-9
    said = np.zeros((len(rows), len(phrases)))
    for number, row in enumerate(rows):
        said[number, [place[phrase] for phrase in row.phrases if phrase in place]] = 1.0
    scaled = np.column_stack([np.ones(len(rows)), (table - mean) / deviation, said])
    needed = np.array([not row.prompt.silent for row in rows], dtype=float)
    share = np.array([1 / len(ASKED_ANY) if row.name.startswith(ANY) else 1.0 for row in rows])
    share /= 1 + table[:, names.index("begins as a question")]  # its twins count once
    weights = np.zeros(scaled.shape[1])
    ridge = np.array([1e-9, *[RIDGE] * len(names), *[RIDGE_OF_PHRASES] * len(phrases)])
    for _ in range(9):
        probability = 1 / (1 + np.exp(-(scaled @ weights).clip(-30, 30)))
        slope = scaled.T @ (share * (probability - needed)) + ridge * weights
        curve = (scaled * (share * probability * (1 - probability))[:, None]).T @ scaled + np.diag(ridge)
        weights -= np.linalg.solve(curve, slope)
    raw = weights[1 : 1 + len(names)] / deviation
    constant = float(weights[0] - (raw * mean).sum())
    return Model(
        {"constant": constant, **dict(zip(names, map(float, raw), strict=True))},
        dict(zip(phrases, map(float, weights[1 + len(names) :]), strict=True)),
    )


def _marked(row: Row) -> tuple[Row, ...]:
    """Return a row; if it begins as a question, also the row of its twin with or without a question mark."""
    if not row.features["begins as a question"]:
        return (row,)
    asks = 1 - row.features["asks"]
    twin = {**row.features, "asks": asks, "asks, known": asks * row.features["known, rarest"]}
    return row, row._replace(features=twin)


def rounded(model: Model) -> Model:
    """Return the model as it is written."""
    steps = {phrase: round(weight / STEP) * STEP for phrase, weight in model.phrases.items()}
    return Model(
        {name: float(f"{weight:.4g}") for name, weight in model.features.items()},
        {phrase: weight for phrase, weight in steps.items() if weight},
    )


def _phrases_in(rows: Iterable[Row]) -> list[str]:
    by_phrase: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for row in rows:
        for phrase in row.phrases:
            by_phrase[phrase].add((row.name.partition("/")[0], row.prompt.text))
    return sorted(
        phrase
        for phrase, uses in by_phrase.items()
        if sum(project == ANY for project, _ in uses) >= PHRASE_PROMPTS
        or (len(uses) >= PHRASE_PROMPTS and len({project for project, _ in uses}) > 1)
    )


def _fold(row: Row) -> int:
    return zlib.crc32(row.prompt.text.encode()) % FOLDS


def _print(name: str, judged: Sequence[tuple[Row, float]], *, misses: bool = False) -> None:
    print(f"{name}: share of prompts that need nothing and are silent / of tasks that are lost, below")
    for group in ("all", *dict.fromkeys(row.name for row, _ in judged)):
        of_group = [pair for pair in judged if group in {"all", pair[0].name}]
        figures = []
        for least in THRESHOLDS:
            silent = [probability < least for row, probability in of_group if row.prompt.silent]
            lost = [probability < least for row, probability in of_group if not row.prompt.silent]
            figures.append(f"{least}: {np.mean(silent or [False]):.3f} / {np.mean(lost or [False]):.3f}")
        print(f"  {group:16} ({len(of_group)})  {'  '.join(figures)}")
    for row, probability in sorted(judged, key=lambda pair: pair[1]) if misses else ():
        if (probability < NEED_MIN) != row.prompt.silent:
            print(f"    {probability:.2f} {row.name} {row.prompt.kind}: {row.prompt.text[:100]!r}")


def _written(module: str, model: Model) -> str:
    """Return the module of the weights with those of a model."""
    features = "".join(f'    "{name}": {weight:.4g},\n' for name, weight in model.features.items())
    by_weight: dict[float, list[str]] = defaultdict(list)
    for phrase, weight in model.phrases.items():
        by_weight[weight].append(phrase)
    lines = []
    for weight, phrases in sorted(by_weight.items()):
        wrapped = textwrap.wrap(" ".join(phrases), 100, break_long_words=False, break_on_hyphens=False)
        lines += [f"{weight} {line}\n" for line in wrapped]
    module = re.sub(r'(?s)(= \{\n    "constant").*?(?=\}\n)', lambda _: f"= {{\n{features}", module)
    return re.sub(r'(?s)(?<=_BY_WEIGHT = """\n).*?(?=""")', lambda _: "".join(lines), module)


if __name__ == "__main__":
    sys.exit(main())
