"""Folders of other versions are left alone or brought up; a few of each here, `make faults` tries more."""

from __future__ import annotations

import pytest
from foveal.benchmarks.faults.promise import Ground, attempt
from foveal.benchmarks.faults.promises.versions import FIRST, KILLED, NEWER, PROMISE


@pytest.mark.parametrize(("name", "count"), [(NEWER, 1), (KILLED, 20), (FIRST, 1)])
def test_no_version_of_the_folder_loses_anything(
    tmp_path_factory: pytest.TempPathFactory, name: str, count: int
) -> None:
    outcome = attempt(PROMISE, PROMISE.test(name), Ground(tmp_path_factory.mktemp("v"), count))
    assert outcome.lost == []
    assert outcome.tried == count
