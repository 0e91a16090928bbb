"""Precision and recall: verdicts of an oracle and answers in, counts out."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, fields

from .product import Answer
from .sites import Site, Target, Verdict, last_name

SEED = 4
DEFINITIONS = 100
"""Functions and classes a package whose callers are asked for."""


@dataclass(slots=True)
class Score:
    """Counts of call sites; sums of scores are scores.

    `judged` are the sites of which the oracle knows where they lead, `inside` those of them that lead to a
    function or class of the project. `resolved` counts the judged ones that the product resolves, `right`
    those of them that the oracle agrees with; `found` those `inside` that it has right, `named` those that it
    lists by their name only, and that name is the definition's. `unjudged` are resolved where the oracle
    knows nothing. `definitions` were asked for their callers: `callers` the sites that call them, `listed`
    those that the answer holds, resolved or by name, `listed_right` those of them that can be said to call,
    and `callers_listed` those of the callers.
    """

    sites: int = 0
    judged: int = 0
    inside: int = 0
    resolved: int = 0
    right: int = 0
    found: int = 0
    named: int = 0
    unjudged: int = 0
    definitions: int = 0
    callers: int = 0
    listed: int = 0
    listed_right: int = 0
    callers_listed: int = 0

    def __add__(self, other: Score) -> Score:
        return Score(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))

    @property
    def precision(self) -> float:
        """Of the resolved links, the share that is right."""
        return _share(self.right, self.resolved)

    @property
    def recall(self) -> float:
        """Of the call sites, the share that is resolved and right."""
        return _share(self.found, self.inside)

    @property
    def whole_recall(self) -> float:
        """Of the call sites, the share that the whole answer holds."""
        return _share(self.found + self.named, self.inside)

    @property
    def listed_precision(self) -> float:
        """Of what the whole answer to "what calls X" lists, the share that does call it."""
        return _share(self.listed_right, self.listed)


def score(verdicts: Mapping[Site, Verdict], answers: Mapping[Site, Answer]) -> Score:
    """Return the counts for sites that have both a verdict and an answer."""
    total = Score()
    for site, verdict in verdicts.items():
        answer = answers.get(site)
        if answer is None:
            continue
        total.sites += 1
        if verdict.outcome == "unknown":
            total.unjudged += answer.target is not None
            continue
        right = answer.target is not None and verdict.accepts(answer.target)
        total.judged += 1
        total.resolved += answer.target is not None
        total.right += right
        if verdict.outcome == "project":
            total.inside += 1
            total.found += right
            total.named += not right and any(_by_name(site, answer, each) for each in verdict.targets)
    return total + _callers(verdicts, answers)


def _callers(verdicts: Mapping[Site, Verdict], answers: Mapping[Site, Answer]) -> Score:
    """Return the counts of whole answers, over a sample of the definitions that are called."""
    callers: dict[tuple[str, str], list[Site]] = defaultdict(list)
    followed: dict[tuple[str, str], list[Site]] = defaultdict(
        list
    )  # through a variable: right, but not missed
    by_name: dict[str, list[Site]] = defaultdict(list)
    by_target: dict[tuple[str, str], list[Site]] = defaultdict(list)
    for site, verdict in verdicts.items():
        answer = answers.get(site)
        if answer is None or verdict.outcome == "unknown":
            continue
        for key in {target.key for target in verdict.targets if verdict.outcome == "project"}:
            callers[key].append(site)
        for target in verdict.also:
            followed[target.key].append(site)
        if answer.target is not None:
            by_target[answer.target.key].append(site)
        elif answer.state == "name":
            by_name[site.name].append(site)
    total = Score()
    for key in random.Random(SEED).sample(sorted(callers), min(DEFINITIONS, len(callers))):
        listed = {*by_target[key], *by_name[last_name(key[1])]}
        total.definitions += 1
        total.callers += len(callers[key])
        total.listed += len(listed)
        total.listed_right += len(listed.intersection(callers[key] + followed[key]))
        total.callers_listed += len(listed.intersection(callers[key]))
    return total


def _by_name(site: Site, answer: Answer, target: Target) -> bool:
    return answer.target is None and answer.state == "name" and site.name == last_name(target.name)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
