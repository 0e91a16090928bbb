"""The exit status of a run in which not all tests ran: it is no failure of a test, after which those that
failed may run once more.

Pytest itself ends with the same status, 1, where a worker died or collected other tests than another one.
"""

from __future__ import annotations

import pytest

INCOMPLETE = 3
"""As pytest says of an error inside itself."""

_incomplete: list[str] = []


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Note a module that can't be collected, here or in a worker."""
    if report.failed:
        _incomplete.append(report.nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object, error: object) -> None:
    """Note a worker that ended before its time: the tests that it had left may not have run."""
    if error:
        _incomplete.append(str(error))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell failed tests from tests that never ran."""
    is_worker = hasattr(session.config, "workerinput")
    if _incomplete and not is_worker and session.exitstatus == pytest.ExitCode.TESTS_FAILED:
        session.exitstatus = INCOMPLETE
