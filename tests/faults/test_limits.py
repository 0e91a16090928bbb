"""Memory and disk have limits; some simulated days here, `make faults` looks at years of them."""

from __future__ import annotations

import pytest
from foveal.benchmarks.faults.promise import Ground, attempt
from foveal.benchmarks.faults.promises.limits import PROMISE, SOAK
from foveal.benchmarks.faults.soaking import Taken, grown


def test_days_of_use_take_little(tmp_path_factory: pytest.TempPathFactory) -> None:
    outcome = attempt(PROMISE, PROMISE.test(SOAK), Ground(tmp_path_factory.mktemp("l"), 1))
    assert outcome.lost == []
    assert outcome.tried == 1


def test_what_grows_is_noticed() -> None:
    flat = [Taken(90 << 20, 70 << 20, 40 << 20)] * 40
    assert grown(flat) == ""
    rising = [Taken(90 << 20, 70 << 20, (40 + number) << 20) for number in range(40)]
    assert grown(rising) == "state grew from 57.1 to 78.1 MB"
