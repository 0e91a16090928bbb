"""Other versions are understood or told which to update; a few of each here, `make faults` tries more."""

from __future__ import annotations

import pytest
from foveal.benchmarks.faults.promise import Ground, attempt
from foveal.benchmarks.faults.promises.upgrades import CLIENTS, DAEMONS, PROMISE


@pytest.mark.parametrize(("name", "count"), [(CLIENTS, 60), (DAEMONS, 20)])
def test_versions_understand_each_other_or_say_which_to_update(
    tmp_path_factory: pytest.TempPathFactory, name: str, count: int
) -> None:
    outcome = attempt(PROMISE, PROMISE.test(name), Ground(tmp_path_factory.mktemp("u"), count))
    assert outcome.lost == []
    assert outcome.tried == count
