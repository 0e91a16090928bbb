"""The results of a run as plain data; other files print them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .asking import STAGES
from .judged import Judged
from .measures import score


@dataclass(frozen=True, slots=True)
class Cost:
    """What a project costs: its first index, its embeddings, and its sizes on the disk in megabytes."""

    project: str
    files: int
    chunks: int
    contents: int
    index_s: float
    index_peak_mb: float
    embedded: int
    embed_s: float
    sqlite_mb: float
    lexical_mb: float
    vectors_mb: float
    embeddings_mb: float


@dataclass
class Results:
    """The scores of every method on every question, and what it cost.

    `scores` goes by method and question id. `times` go by what was timed, in milliseconds. `notes` are what a
    reader must know, such as why a baseline is missing.
    """

    questions: dict[str, Judged] = field(default_factory=dict)
    scores: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)
    times: dict[str, list[float]] = field(default_factory=lambda: {stage: [] for stage in STAGES})
    baselines: tuple[str, ...] = ()
    costs: list[Cost] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, question: Judged, found: Mapping[str, Iterable[str]]) -> None:
        """Score what methods found for a question, best first."""
        self.questions[question.id] = question
        for method, ranked in found.items():
            self.scores.setdefault(method, {})[question.id] = score(list(ranked), question.relevant)

    def add_times(self, times: Mapping[str, Iterable[float]]) -> None:
        """Add times by what was timed."""
        for name, values in times.items():
            self.times.setdefault(name, []).extend(values)
