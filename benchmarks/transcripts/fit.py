"""Fit the weights of daemon/transcripts/decision_score.py: python -m benchmarks.transcripts.fit.

Fits a logistic regression to the statements in the transcripts of `FITTED`, and in the sentences of
sentences.toml; the other sets stay unseen. A statement counts as right where its words match a label. Prints
the weights and, for each set left out of the fit in turn, how many statements are judged rightly.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from foveal.daemon.transcripts import conversation
from foveal.daemon.transcripts.candidates import Candidate
from foveal.daemon.transcripts.decision_score import KINDS, with_pairs
from foveal.daemon.transcripts.statements import Kind, statements_in

from .labelled import FOLDER, SETS, Labelled, read_set
from .matching import is_met_by
from .__main__ import findings_in

FITTED = ("own", "held-out", "fresh", "fresh2")
RIDGE = 1.5
"""Of the squares of the weights."""
MIN_ROWS = 4
"""Minimum number of statements with a feature, and of transcripts, for it to get a weight."""


_CAUSE = re.compile(r"(?i)(?:the |root )?(?:cause|ursache|causa)|原因")
"""The beginning of labels of causes, which are no examples of choices."""


MIN_WEIGHT = 0.25
"""Minimum weight of a feature for any kind; less decides hardly anything."""


class Row(NamedTuple):
    """A statement with its evidence, and whether it is a decision."""

    kind: Kind
    evidence: frozenset[str]
    is_right: bool
    group: str
    text: str


def rows_of(labelled: Labelled, group: str) -> Iterator[Row]:
    """Yield the statements that are judged while a transcript is read."""
    judged: dict[int, Candidate] = {}
    original = conversation.Turn.settle

    def settle(turn: conversation.Turn) -> None:
        judged.update((id(candidate), candidate) for candidate in turn.open)
        original(turn)

    conversation.Turn.settle = settle  # type: ignore[method-assign]  # records what is judged, then judges it
    try:
        findings_in(labelled.path)
    finally:
        conversation.Turn.settle = original  # type: ignore[method-assign]  # as above
    for candidate in judged.values():
        statement = candidate.statement
        if statement.kind in KINDS:
            right = any(
                is_met_by(label, statement.decision, statement.rationale)
                and (statement.kind == "cause" or not _CAUSE.match(label.says))
                for label in labelled.labels
            )
            evidence = frozenset(statement.features | candidate.events)
            yield Row(
                statement.kind,
                evidence,
                right,
                group,
                f"{labelled.path.name}: {statement.decision} <- {statement.rationale}",
            )


SENTENCES = FOLDER / "sentences.toml"
EVENTS = {"report": {"source was edited"}, "narration": {"edited next"}}
"""What is supposed to have happened around the labelled sentences."""


def rows_of_sentences() -> Iterator[Row]:
    """Yield the statements of the labelled sentences, and of a decision the one of the kind that it has first."""
    for voice, sentences in tomllib.loads(SENTENCES.read_text("utf-8")).items():
        for is_right, texts in ((True, sentences["right"]), (False, sentences["wrong"])):
            for text in texts:
                for statement in islice(statements_in(text, voice), None if not is_right else 1):
                    if statement.kind in KINDS:
                        evidence = statement.features | EVENTS[voice]
                        yield Row(statement.kind, evidence, is_right, "sentences", text)


def fit(rows: Sequence[Row]) -> dict[str, float]:
    """Return the weights of a logistic regression with a ridge, by Newton's method."""
    having: dict[str, set[str]] = {}
    for row in rows:
        for name in with_pairs(row.evidence):
            having.setdefault(name, set()).add(row.text)
    names = sorted(name for name, found in having.items() if len(found) >= MIN_ROWS)
    table = np.array([[float(name in with_pairs(row.evidence)) for name in names] for row in rows])
    right = np.array([row.is_right for row in rows], dtype=float)
    ridge = np.array([0.01 if name == "constant" else RIDGE for name in names])
    weights = np.zeros(len(names))
    for _ in range(40):
        probability = 1 / (1 + np.exp(-np.clip(table @ weights, -30, 30)))
        slope = table.T @ (probability - right) + ridge * weights
        curve = (table * (probability * (1 - probability))[:, None]).T @ table + np.diag(ridge)
        weights -= np.linalg.solve(curve, slope)
    return dict(zip(names, map(float, weights), strict=True))


def main() -> int:
    """Fit and print."""
    argparse.ArgumentParser(prog="python -m benchmarks.transcripts.fit", description=__doc__).parse_args()
    rows = [row for name in FITTED for one in read_set(SETS[name]) for row in rows_of(one, name)]
    rows += rows_of_sentences()
    table: dict[str, list[float]] = {}
    for kind in KINDS:
        of_kind = [row for row in rows if row.kind == kind]
        print(kind, len(of_kind), sum(row.is_right for row in of_kind), file=sys.stderr)
        for name, weight in fit(of_kind).items():
            table.setdefault(name, [0.0] * len(KINDS))[KINDS.index(kind)] = weight
    for name, weights in sorted(table.items()):
        if max(map(abs, weights)) >= MIN_WEIGHT:
            print(f'    "{name}": ({", ".join(f"{weight:.2g}" for weight in weights)}),')
    return 0


if __name__ == "__main__":
    sys.exit(main())
