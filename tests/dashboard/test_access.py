"""Codes work once and for a minute, sessions for a week since they were used, and all of it ends by signing out."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from foveal.daemon.access.dashboard import (
    CODES_MAX,
    RENEWAL_S,
    SESSION_S,
    SESSIONS_MAX,
    DashboardAccess,
    DashboardFile,
)
from foveal.daemon.core.errors import StateError

from tests.dashboard_cases import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


async def start(folder: Path, clock: Clock) -> DashboardAccess:
    """Return the access as a daemon has it that starts."""
    access = DashboardAccess(DashboardFile(str(folder), clock), clock)
    assert await access.load() == ""
    return access


async def log_in(access: DashboardAccess) -> str:
    admission = await access.redeem(access.new_code())
    assert admission is not None
    assert admission.cookie
    return admission.cookie


async def test_a_code_works_once(tmp_path: Path, clock: Clock) -> None:
    access = await start(tmp_path, clock)
    code = access.new_code()
    results = await asyncio.gather(*[access.redeem(code) for _ in range(5)])
    assert sum(result is not None for result in results) == 1
    assert await access.redeem(code) is None
    assert [await access.redeem(one) for one in ("", "x", code[:-1], f"{code}=", "\udcff")] == [None] * 5


async def test_only_so_many_codes_wait(tmp_path: Path, clock: Clock) -> None:
    access = await start(tmp_path, clock)
    codes = [access.new_code() for _ in range(CODES_MAX + 1)]
    assert await access.redeem(codes[0]) is None
    assert await access.redeem(codes[1]) is not None


async def test_no_secret_that_opens_anything_is_on_the_disk(tmp_path: Path, clock: Clock) -> None:
    access = await start(tmp_path, clock)
    code, cookie = access.new_code(), await log_in(access)
    admitted = await access.admit(cookie)
    assert admitted is not None
    kept = (tmp_path / "dashboard.json").read_text()
    assert not [one for one in (code, cookie, admitted.csrf, access.token) if one in kept]


async def test_a_session_ends_a_week_after_it_was_used(tmp_path: Path, clock: Clock) -> None:
    access = await start(tmp_path, clock)
    cookie = await log_in(access)
    clock.passed = RENEWAL_S - 1
    admitted = await access.admit(cookie)
    assert admitted is not None
    assert admitted.cookie == "", "once a day is enough"
    clock.passed = SESSION_S - 1
    renewed = await access.admit(cookie)
    assert renewed is not None
    assert (renewed.cookie, renewed.csrf) == (cookie, admitted.csrf)
    clock.passed += SESSION_S - 1
    again = await start(tmp_path, clock)
    assert await again.admit(cookie) is not None
    clock.passed += SESSION_S
    assert await again.admit(cookie) is None
    assert again.sessions == 0


async def test_a_clock_that_went_back_prolongs_nothing(tmp_path: Path, clock: Clock) -> None:
    access = await start(tmp_path, clock)
    clock.passed = 10 * SESSION_S
    cookie = await log_in(access)
    clock.passed = 0
    assert await access.admit(cookie) is None


async def test_of_too_many_sessions_the_oldest_goes(tmp_path: Path, clock: Clock) -> None:
    access = await start(tmp_path, clock)
    cookies = []
    for _ in range(SESSIONS_MAX + 1):
        clock.passed += 1
        cookies.append(await log_in(access))
    assert access.sessions == SESSIONS_MAX
    assert await access.admit(cookies[0]) is None
    assert await access.admit(cookies[1]) is not None
    assert await access.admit(cookies[-1]) is not None


async def test_signing_out_ends_everything_for_good(tmp_path: Path, clock: Clock) -> None:
    access = await start(tmp_path, clock)
    await access.keep_port(4321)
    cookie, code, token = await log_in(access), access.new_code(), access.token
    assert await access.revoke() == 1
    for now in (access, await start(tmp_path, clock)):
        assert await now.admit(cookie) is None
        assert await now.redeem(code) is None
        assert not now.is_token(token)
        assert now.port == 4321
    assert access.is_token(access.token)


async def test_a_full_disk_signs_nobody_in_and_leaves_those_who_are(tmp_path: Path, clock: Clock) -> None:
    access = await start(tmp_path, clock)
    cookie = await log_in(access)
    (tmp_path / "dashboard.json").unlink()
    (tmp_path / "dashboard.json").mkdir()
    with pytest.raises(StateError, match="can't be written"):
        await access.redeem(access.new_code())
    clock.passed = 2 * RENEWAL_S
    admitted = await access.admit(cookie)
    assert admitted is not None
    assert admitted.cookie == ""
