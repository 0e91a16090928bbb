"""Only this user gets in, and no secret comes out; a few faults of each here, `make faults` tries more."""

from __future__ import annotations

import pytest
from foveal.benchmarks.faults.promise import Ground, attempt
from foveal.benchmarks.faults.promises.strangers import ESCAPES, MODES, PROMISE, SECRETS, USERS


@pytest.mark.parametrize(("name", "count"), [(USERS, 3), (MODES, 20), (ESCAPES, 40), (SECRETS, 9)])
def test_nobody_else_gets_in_and_nothing_out(
    tmp_path_factory: pytest.TempPathFactory, name: str, count: int
) -> None:
    outcome = attempt(PROMISE, PROMISE.test(name), Ground(tmp_path_factory.mktemp("x"), count))
    if outcome.skipped:
        pytest.skip(outcome.skipped)
    assert outcome.lost == []
    assert outcome.tried == count
