"""A request comes back byte for byte, or says what is lost; exports go through all of them in pages."""

from __future__ import annotations

import zlib
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from foveal.daemon.core.errors import InvalidRequest, NotFound
from foveal.daemon.sessions.delivery_tables import GZIP, packed_sent
from foveal.daemon.sessions.request_log import (
    LOST,
    RECORD_LOST,
    REQUEST_BYTES,
    ExportQuery,
    LoggedRequest,
    RequestPage,
)
from foveal.daemon.sessions.request_record import Sent, SentMessage
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.delivery_cases import ROOT, STYLE, Opened, opened, record_of, sent_for
from tests.properties import examples

RECORD = record_of()
SENT = sent_for(RECORD)


async def export(at: Opened, **fields: object) -> RequestPage:
    return await at.deliveries.export(ExportQuery(**fields))  # type: ignore[arg-type]  # the fields of a query


async def all_ids(at: Opened, since: str = "", **fields: object) -> tuple[list[str], int]:
    """Return the ids of all pages, and their number."""
    found, pages = list[str](), 0
    while True:
        page = await export(at, since=since, **fields)
        found += [one.record.id for one in page.requests]
        pages, since = pages + 1, page.next
        if not since:
            return found, pages


TEXTS = st.text(st.characters(), max_size=300)


@settings(
    max_examples=examples(20), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(TEXTS, st.integers(1, 400), st.lists(st.tuples(TEXTS, TEXTS), max_size=4))
@example("half a pair \ud800 and a NUL \0\r\n", 1, [("user", "\udfff")])
async def test_any_text_comes_back(
    tmp_path: Path, text: str, times: int, history: list[tuple[str, str]]
) -> None:
    said = tuple(SentMessage(*message) for message in history)
    parts = Sent(text * times, "\n" + text, text[::-1], said)
    async with opened(tmp_path) as at:
        await at.deliveries.forget_project(ROOT)
        await at.put(RECORD, parts)
        found = await at.deliveries.request("ses", "req_1")
        assert replace(found, size=0) == LoggedRequest(RECORD, parts)


async def test_a_list_follows_an_id_and_says_what_is_not_there(tmp_path: Path) -> None:
    async with opened(tmp_path) as at:
        for number in range(4):
            await at.put(record_of(number, f"ses{number // 3}"))
        await at.put(record_of(0))  # the session has it
        requests = at.deliveries.requests
        assert [one.id for one in await requests("ses0", 2, "")] == ["req_2", "req_1"]
        assert [one.id for one in await requests("ses0", 9, "req_1")] == ["req_0"]
        (summary,) = await requests("ses1", 9, "")
        assert (summary.items, summary.considered, summary.degraded, summary.referred) == (3, 1, 1, None)
        for ask in (at.deliveries.request("ses1", "req_0"), requests("ses0", 9, "req_9")):
            with pytest.raises(NotFound, match="removed as too old, or never existed"):
                await ask
        assert await requests("\udcff", 9, "") == ()


# Damage


async def forgotten(at: Opened) -> None:
    at.clock.pass_on(days=31)
    await at.deliveries.prune()


def altered(statement: str, *values: object) -> Callable[[Opened], Awaitable[None]]:
    return lambda at: at.alter(statement, *values)


LAYOUT = zlib.decompress(packed_sent(SENT), GZIP).replace(b"[1,", b"[99,", 1)
OTHER = "The parts are exact, but another version of foveal made messages of them in its way."
OLD = "What was sent is not kept any more: it was older than 30 days."


@pytest.mark.parametrize(
    ("change", "sent", "problem"),
    [
        (forgotten, None, OLD),
        (altered("UPDATE contents SET sent = X'00'"), None, LOST),
        (altered("UPDATE contents SET sent = zeroblob(40)"), None, LOST),
        (altered("UPDATE contents SET sent = substr(sent, 1, 100)"), None, LOST),
        (altered("DELETE FROM contents"), None, LOST),
        (altered("UPDATE contents SET sent = ?", zlib.compress(LAYOUT, wbits=GZIP)), SENT, OTHER),
        (altered("UPDATE requests SET record = X'00'"), SENT, RECORD_LOST),
    ],
    ids=["old", "zero", "zeros", "cut", "gone", "layout", "record"],
)
async def test_what_is_lost_is_said(
    tmp_path: Path, change: Callable[[Opened], Awaitable[None]], sent: Sent | None, problem: str
) -> None:
    async with opened(tmp_path) as at:
        await at.put(RECORD)
        await at.deliveries.report("ses", "req_1", "", [STYLE])
        await change(at)
        found = await at.deliveries.request("ses", "req_1")
        (exported,) = (await export(at, content=True)).requests
    assert exported == found
    assert (found.sent, found.problem) == (sent, problem)
    is_whole = problem != RECORD_LOST
    assert (found.record.id, found.record.tokens) == ("req_1", 52)
    assert (found.record == RECORD, found.referred) == (is_whole, (STYLE,) if is_whole else ())


async def test_a_flipped_bit_is_detected(tmp_path: Path) -> None:
    data = packed_sent(SENT)
    async with opened(tmp_path) as at:
        await at.put(RECORD)
        for place in range(0, len(data) - 1, 7):
            turned = data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :]
            await at.alter("UPDATE contents SET sent = ?", turned)
            assert (await at.deliveries.request("ses", "req_1")).sent in (None, SENT)


# Exports


async def test_pages_follow_each_other_whatever_their_size(tmp_path: Path) -> None:
    async with opened(tmp_path) as at:
        for number in range(120):
            at.give(
                session=f"s{number % 2}", record=record_of(number, f"s{number % 2}"), sent=Sent(str(number))
            )
        expected = [f"req_{number}" for number in range(120)]
        for limit in (7, 100, 1_000):
            for content in (False, True):
                assert (await all_ids(at, limit=limit, content=content))[0] == expected
            assert (await all_ids(at, limit=limit, session_id="s1"))[0] == expected[1::2]
        page = await export(at, limit=119)
        await at.put(record_of(999, project_root="/other"), Sent())
        assert (await all_ids(at, page.next))[0] == ["req_119", "req_999"]
        assert (await all_ids(at, project_root="/other"))[0] == ["req_999"]
        assert await export(at, session_id="none") == RequestPage((), "")
        assert (await export(at, limit=1)).requests[0].sent is None


async def test_a_page_of_large_contents_is_short(tmp_path: Path) -> None:
    async with opened(tmp_path) as at:
        for number in range(7):
            at.give(record=record_of(number), sent=Sent("x" * (REQUEST_BYTES - 10_000)))
        assert len((await export(at, content=True)).requests) == 4
        assert (await all_ids(at, content=True))[0] == [f"req_{number}" for number in range(7)]
        assert len((await export(at)).requests) == 7


async def test_contents_too_large_for_a_page_are_left_out(tmp_path: Path) -> None:
    async with opened(tmp_path) as at:
        large = Sent(user_prompt="x" * (REQUEST_BYTES))
        at.give(record=record_of(1), sent=large)
        at.give(record=record_of(2), sent=Sent(user_prompt="small"))
        first, second = (await export(at, content=True)).requests
        assert first.sent is None
        assert "bytes, too many for an export" in first.problem
        assert second.sent == Sent(user_prompt="small")
        assert (await at.deliveries.request("ses", "req_1")).sent == large


@pytest.mark.parametrize(
    ("since", "before", "expected"),
    [
        ("", "", [0, 1, 2]),
        ("2026-01-31", "", [1, 2]),
        ("2026-01-31T00:00:00Z", "2026-02-01", [1]),
        ("2026-01-31T01:00:00+01:00", "2026-01-31T00:00:00.001Z", [1]),
        ("", "2026-01-31", [0]),
        ("2027-01-01", "", []),
    ],
)
async def test_times_bound_an_export(tmp_path: Path, since: str, before: str, expected: list[int]) -> None:
    times = "2026-01-30T23:59:59.999Z", "2026-01-31T00:00:00.000Z", "2026-02-01T10:00:00.000Z"
    async with opened(tmp_path) as at:
        for number, time in enumerate(times):
            at.give(record=record_of(number, at=time))
        found, _ = await all_ids(at, since, before=before, limit=1)
    assert found == [f"req_{number}" for number in expected]


async def test_a_bound_that_can_not_be_used_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path) as at:
        for bound in ("soon", "#", "#x", "#-1", "# 1", "#" + "9" * 40, "0001-01-01T00:00:00+14:00", "\0"):
            for field in ("since", "before"):
                with pytest.raises(InvalidRequest) as raised:
                    await export(at, **{field: bound})
                assert raised.value.field == field
