"""The figures of a choice: recall@5, precision and recall of what is taken, quantiles of scores."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from foveal.daemon.rules.records import ItemKey


@dataclass(frozen=True)
class Taken:
    """What a preset took. `needless` is what it took on average where nothing was wanted."""

    precision: float
    recall: float
    per_query: float
    needless: float


def recall_at(ranked: Sequence[ItemKey], wanted: Collection[ItemKey], k: int = 5) -> float:
    """Return how many of the wanted ones are among the first k, of as many as could be."""
    return len(set(ranked[:k]).intersection(wanted)) / min(k, len(wanted))


def taken(choices: Iterable[tuple[Collection[ItemKey], Collection[ItemKey]]]) -> Taken:
    """Return the figures of pairs (taken, wanted), all queries counted together."""
    pairs = [(set(chosen), set(wanted)) for chosen, wanted in choices]
    right = sum(len(chosen & wanted) for chosen, wanted in pairs)
    all_taken = sum(len(chosen) for chosen, _ in pairs)
    all_wanted = sum(len(wanted) for _, wanted in pairs)
    unasked = [len(chosen) for chosen, wanted in pairs if not wanted]
    return Taken(
        right / all_taken if all_taken else 1.0,
        right / all_wanted if all_wanted else 1.0,
        all_taken / len(pairs),
        sum(unasked) / len(unasked) if unasked else 0.0,
    )


def quantiles(samples: Iterable[float], shares: Sequence[float]) -> list[float]:
    """Return quantiles of samples, each the nearest that was seen."""
    ordered = sorted(samples)
    return [ordered[min(int(share * len(ordered)), len(ordered) - 1)] for share in shares]
