"""Fit the weights of daemon/transcripts/decision_score.py: python -m benchmarks.transcripts.fit.

Fits a logistic regression to the statements in the transcripts of `FITTED`, and in the sentences of
sentences.toml; the other sets stay unseen. A statement counts as right where its words match a label.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from foveal.daemon.transcripts.candidates import Candidate
from foveal.daemon.transcripts.conversation import ConversationTurn
from foveal.daemon.transcripts.decision_score import KINDS, with_pairs
from foveal.daemon.transcripts.sentences import Voice
from foveal.daemon.transcripts.statements import Kind, statements_in

from .. import logistic
from .__main__ import findings_in
from .labelled import FOLDER, SETS, Labelled, read_set
from .matching import is_met_by

FITTED = ("own", "held-out", "fresh", "fresh2", "fresh4")
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

    def settle(turn: ConversationTurn) -> None:
        judged.update((id(candidate), candidate) for candidate in turn.open)
        settled(turn)

    settled = ConversationTurn.settle
    setattr(ConversationTurn, "settle", settle)  # noqa: B010 - records what is judged; mypy refuses a plain assignment
    try:
        findings_in(labelled.path)
    finally:
        setattr(ConversationTurn, "settle", settled)  # noqa: B010 - as above
    for candidate in judged.values():
        said = candidate.statement
        right = any(
            is_met_by(label, said.decision, said.rationale)
            and (said.kind == "cause" or not _CAUSE.match(label.says))
            for label in labelled.labels
        )
        text = f"{labelled.path.name}: {said.decision} <- {said.rationale}"
        yield Row(said.kind, frozenset(said.features | candidate.events), right, group, text)


SENTENCES = FOLDER / "sentences.toml"
EVENTS: Mapping[Voice, set[str]] = {"report": {"source was edited"}, "narration": {"edited next"}}
"""What is supposed to have happened around the labelled sentences."""


def rows_of_sentences() -> Iterator[Row]:
    """Yield the statements of the labelled sentences; of a decision only the first."""
    labelled = tomllib.loads(SENTENCES.read_text("utf-8"))
    for voice in EVENTS:
        sentences = labelled[voice]
        for is_right, texts in ((True, sentences["right"]), (False, sentences["wrong"])):
            for text in texts:
                for statement in islice(statements_in(text, voice), None if not is_right else 1):
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
    weights = logistic.fit(table, right, ridge)
    return dict(zip(names, map(float, weights), strict=True))


def fitted() -> list[tuple[str, tuple[float, ...]]]:
    """Return the weights of each feature for the kinds, by name; 0 for a kind that hardly ever has it."""
    rows = [row for name in FITTED for one in read_set(SETS[name]) for row in rows_of(one, name)]
    rows += rows_of_sentences()
    of_kinds = [fit([row for row in rows if row.kind == kind]) for kind in KINDS]
    names = sorted(set().union(*of_kinds))
    return [(name, tuple(weights.get(name, 0.0) for weights in of_kinds)) for name in names]


def main() -> int:
    """Fit and print."""
    argparse.ArgumentParser(prog="python -m benchmarks.transcripts.fit", description=__doc__).parse_args()
    for name, weights in fitted():
        if max(map(abs, weights)) >= MIN_WEIGHT:
            print(f'    "{name}": ({", ".join(f"{weight:.2g}" for weight in weights)}),')
    return 0


if __name__ == "__main__":
    sys.exit(main())
