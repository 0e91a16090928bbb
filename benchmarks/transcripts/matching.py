"""The comparison of findings with labels: which match, and the figures of a set."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from foveal.daemon.transcripts.extraction import MinedDecision

from .labelled import Label, Labelled


@dataclass(frozen=True)
class Compared:
    """One transcript: pairs that match, and what matches nothing. Optional labels stand only in `pairs`."""

    labelled: Labelled
    pairs: tuple[tuple[MinedDecision, Label], ...]
    wrong: tuple[MinedDecision, ...]
    missed: tuple[Label, ...]


@dataclass(frozen=True)
class Figures:
    """Of a set. `unasked` counts findings in transcripts without a decision; shares are of those that say."""

    transcripts: int
    without: int
    labels: int
    findings: int
    precision: float
    recall: float
    unasked: int
    outcome: float
    files: float


def compare(labelled: Labelled, findings: Sequence[MinedDecision]) -> Compared:
    """Match findings with labels, as many as possible, those that aren't optional first."""
    labels = sorted(labelled.labels, key=lambda label: label.optional)
    taken: dict[int, int] = {}  # a finding and its label
    for at in range(len(labels)):
        _assign(at, labels, findings, taken, set())
    pairs = tuple((findings[found], labels[at]) for found, at in sorted(taken.items()))
    wrong = tuple(finding for at, finding in enumerate(findings) if at not in taken)
    matched = set(taken.values())
    missed = tuple(label for at, label in enumerate(labels) if at not in matched and not label.optional)
    return Compared(labelled, pairs, wrong, missed)


def figures(compared: Iterable[Compared]) -> Figures:
    """Return the figures of a set, all transcripts counted together."""
    all_of = list(compared)
    right = [(found, label) for one in all_of for found, label in one.pairs if not label.optional]
    wrong = [found for one in all_of for found in one.wrong]
    missed = [label for one in all_of for label in one.missed]
    without = [one for one in all_of if not one.labelled.labels]
    outcomes = [found.outcome == label.outcome for found, label in right if label.outcome is not None]
    files = [_has_files(found, label.files) for found, label in right if label.files is not None]
    return Figures(
        len(all_of),
        len(without),
        len(right) + len(missed),
        len(right) + len(wrong),
        _share(len(right), len(right) + len(wrong)),
        _share(len(right), len(right) + len(missed)),
        sum(len(one.wrong) for one in without),
        _share(sum(outcomes), len(outcomes)),
        _share(sum(files), len(files)),
    )


def matches(finding: MinedDecision, label: Label) -> bool:
    """Whether a finding says what a label wants, by its words alone."""
    return is_met_by(label, finding.decision, finding.rationale)


def is_met_by(label: Label, decision: str, rationale: str) -> bool:
    """Whether a decision and its rationale say what a label wants."""
    decision = decision.casefold()
    both = f"{decision}\n{rationale.casefold()}"
    return _has(decision, label.key) and all(_has(both, word) for word in label.words)


def _assign(
    at: int, labels: Sequence[Label], findings: Sequence[MinedDecision], taken: dict[int, int], seen: set[int]
) -> bool:
    """Find a finding for a label, moving others where that helps."""
    for number, finding in enumerate(findings):
        if number in seen or not matches(finding, labels[at]):
            continue
        seen.add(number)
        if number not in taken or _assign(taken[number], labels, findings, taken, seen):
            taken[number] = at
            return True
    return False


def _has(text: str, alternatives: Sequence[str]) -> bool:
    return any(
        re.search(
            rf"(?<![a-z0-9]){re.escape(alternative)}" if alternative[0].isascii() else re.escape(alternative),
            text,
        )
        for alternative in alternatives
    )


def _has_files(finding: MinedDecision, files: Sequence[str]) -> bool:
    return all(any(f"/{found}".endswith(f"/{name}") for found in finding.files) for name in files)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0
