"""The results of a run as plain data; other files print them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .judged import Judged
from .measures import score


@dataclass
class Results:
    """The scores of every method on every question.

    `scores` goes by method and question id. `notes` are what a reader must know, such as why a baseline is
    missing.
    """

    questions: dict[str, Judged] = field(default_factory=dict)
    scores: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, question: Judged, found: Mapping[str, Iterable[str]]) -> None:
        """Score what methods found for a question, best first."""
        self.questions[question.id] = question
        for method, ranked in found.items():
            self.scores.setdefault(method, {})[question.id] = score(list(ranked), question.relevant)
