"""The probability that a statement is a decision: a logistic score of its evidence.

The evidence are cues in its words, its place and speaker, and the events around it: edits, checks, an undo.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import exp, fsum
from typing import Final

from .statements import Kind

KINDS: Final[tuple[Kind, ...]] = ("choice", "cause", "attempt")
"""The columns of `WEIGHTS`. A user's standing decision needs no evidence but its words."""
LEAST: Final = 0.68
"""Minimum probability of a decision. With .65, decisions are found in transcripts that hold none; with .75, a
twentieth less of what was decided is found."""
TOGETHER: Final[tuple[tuple[str, str], ...]] = (
    ("abandons", "judges"), ("acts", "contrast"), ("acts", "edited next"), ("acts", "report"),
    ("cause", "reason"), ("chose", "reason"), ("contrast", "report"), ("limits", "listed"),
    ("now", "contrast"), ("now", "reason"), ("reason", "report"), ("source was edited", "report"),
)  # fmt: skip
"""Evidence that says more together than each by itself."""
WEIGHTS: Final[Mapping[str, tuple[float, float, float]]] = {
    "abandons + judges": (0, 0, 0.28),
    "abandons after": (0, 0, 0.33),
    "acts": (-0.55, -0.24, 0.57),
    "acts + contrast": (1.1, 0, 0.072),
    "acts + edited next": (0.71, 0.57, 0.53),
    "acts + report": (0.67, 0.39, 0.19),
    "after found": (-0.69, 1, 0),
    "alternative after": (2.1, 0.75, 0),
    "bare": (-0.0092, 0.96, 0),
    "cause": (-0.47, 1.8, 0),
    "cause + reason": (-0.78, -0.38, 0),
    "checks": (-1.4, -1.7, 0),
    "chose": (2, 0, -0.33),
    "chose + reason": (0.92, 0, 0),
    "clause": (-0.26, 0.12, 0.22),
    "complaint": (0.44, 0.56, -0.54),
    "complaint, before any edit": (-0.27, 0.32, -0.78),
    "constant": (-3.7, -2.3, 0.73),
    "contrast": (1.2, 0.92, 0.072),
    "contrast + report": (-0.3, -0.67, 0),
    "edited next": (0.84, 0.98, 0.48),
    "gave_up": (0, 0, 0.9),
    "in cause": (0, 0.5, 0),
    "in decision": (0.92, 0, 0),
    "judges": (0.44, -0.52, -0.077),
    "judges after": (0.99, 0.41, 0),
    "just edited": (0.17, 0.17, 0.61),
    "limits + listed": (0.41, 0, 0),
    "links": (0.71, 0.96, -0.29),
    "listed": (0.41, 0.036, -0.54),
    "meant": (1, 0, 0),
    "mechanical": (-0.48, 0, 0),
    "narration": (0.78, -0.2, -0.031),
    "now": (-0.91, -0.56, 0),
    "now + contrast": (1.1, 1.1, 0),
    "now + reason": (0.62, 0.22, 0),
    "purpose": (1.3, 0.54, 0),
    "reason": (0.57, 0.54, 0.095),
    "reason + report": (0.37, -1.1, 0.13),
    "report": (-0.47, 0.18, 0.036),
    "short": (-1.2, -1.4, -0.73),
    "something failed before it": (-0.66, -0.31, 0.44),
    "source was edited": (1.4, 0.27, 1.2),
    "source was edited + report": (1.4, 1.6, 0.41),
    "summary": (-0.33, 0, 0),
    "symptom": (-0.15, 0.52, -0.63),
    "trade after": (0.61, 0, 0),
    "undone": (0, 0, 0.72),
}
"""The weights of evidence for a choice, a cause and an attempt: `python -m benchmarks.transcripts.fit` fits
them to five of the sets of benchmarks/transcripts and to its labelled sentences."""


def probability_of(kind: Kind, evidence: Collection[str]) -> float:
    """Return the probability that a statement of a kind with this evidence is a decision."""
    if kind not in KINDS:
        return 1.0
    score = fsum(WEIGHTS[name][KINDS.index(kind)] for name in with_pairs(evidence) if name in WEIGHTS)
    return 1 / (1 + exp(-max(min(score, 30.0), -30.0)))


def with_pairs(evidence: Collection[str]) -> set[str]:
    """Return the names in `WEIGHTS` that evidence meets: each by itself, and together."""
    pairs = {f"{one} + {other}" for one, other in TOGETHER if one in evidence and other in evidence}
    return {"constant", *evidence, *pairs}
