"""Promise 7: memory and disk stay flat over years of use, since everything that grows has a limit."""

from __future__ import annotations

from collections.abc import Iterator

from ..promise import Ground, Promise, Test, Trial
from ..soaking import DAYS, Taken, grown, soak

SOAK = "years of use, a clock that is set ahead"

WARM_ROUNDS = 90
"""Rounds until everything that ages has aged once, see the limits of the ledger; of fewer it is only asked
that they take less than `FEW_BYTES`."""
FEW_BYTES = 200 << 20


def use_for_years(ground: Ground) -> Iterator[Trial]:
    """Use a daemon for so many rounds; the second half takes what the first one took."""
    taken: list[Taken] = []
    for number, one in enumerate(soak(ground.folder, ground.count)):
        taken.append(one)
        lost = ""
        if max(one.daemon, one.indexer, one.state) > FEW_BYTES:
            lost = "it takes too much"
        elif number == ground.count - 1 and ground.count >= 2 * WARM_ROUNDS:
            lost = grown(taken)
        yield Trial(f"day {number * DAYS}: {one}", lost)


PROMISE = Promise(
    7,
    "Memory and disk have limits that hold",
    (Test(SOAK, use_for_years, 240),),
)
