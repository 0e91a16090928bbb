"""Requests are exported page by page in their order; what was sent comes only when that is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgpack  # type: ignore[import-untyped] # it ships no types
import pytest
from foveal.daemon.core.errors import InvalidRequest
from foveal.daemon.sessions.request_log import REQUEST_CHARACTERS, Page, Recalled
from foveal.daemon.sessions.request_messages import Said, Sent
from foveal.daemon.sessions.request_record import record_map
from foveal.daemon.sessions.stored_contents import forget
from msgspec.structs import replace

from tests.ledger_cases import STYLE, Opened, opened, record_of, sent_for


def ids(page: Page) -> list[str]:
    return [one.record.id for one in page.requests]


def all_ids(at: Opened, since: str = "", **which: Any) -> tuple[list[str], int]:
    """Return the ids of all pages, and how many pages that took."""
    found: list[str] = []
    pages = 0
    while True:
        page = at.ledger.export(since=since, **which)
        found += ids(page)
        pages += 1
        since = page.next
        if not since:
            return found, pages


def test_requests_come_in_their_order_also_what_waits(tmp_path: Path) -> None:
    with opened(tmp_path) as at:
        at.put(record_of(1))
        at.usage.report("ses_a", "req_1", used=[STYLE])
        at.ledger.add(record_of(2, "ses_b", project_root="/other"), Sent("of\nline \udcff"))
        page = at.ledger.export()
        first, second = page.requests
        assert (first, page.next) == (Recalled(record_of(1), None, referred=(STYLE,)), "")
        assert (second.record.id, second.referred) == ("req_2", None)
        assert ids(at.ledger.export(session_id="ses_b")) == ["req_2"]
        assert ids(at.ledger.export(project_root="/other")) == ["req_2"]
        assert at.ledger.export(session_id="none") == Page((), "")


def test_pages_follow_each_other_whatever_their_size(tmp_path: Path) -> None:
    with opened(tmp_path) as at:
        for number in range(250):
            at.ledger.add(record_of(number, f"ses_{number % 2}"), Sent(str(number)))
        expected = [f"req_{number}" for number in range(250)]
        for limit in (7, 100, 125, 1_000):
            assert all_ids(at, limit=limit)[0] == expected
            assert all_ids(at, limit=limit, content=True)[0] == expected
            assert all_ids(at, limit=limit, session_id="ses_1")[0] == expected[1::2]
        page = at.ledger.export(limit=249)
        at.ledger.add(record_of(999), Sent())
        assert ids(at.ledger.export(since=page.next)) == ["req_249", "req_999"]


@pytest.mark.parametrize(
    "sent",
    [
        Sent("x" * REQUEST_CHARACTERS),
        Sent(system_prompt="x" * (REQUEST_CHARACTERS // 2)),  # a prompt stands alone and as a message
        Sent(user_prompt="x" * (REQUEST_CHARACTERS // 2)),
        Sent(history=(Said("user", "x" * (REQUEST_CHARACTERS - 100)),)),
    ],
    ids=["context", "system prompt", "user prompt", "history"],
)
def test_a_page_of_large_contents_is_short(tmp_path: Path, sent: Sent) -> None:
    with opened(tmp_path) as at:
        for number in range(7):
            at.ledger.add(record_of(number), sent)
        assert len(at.ledger.export(content=True).requests) == 3
        assert all_ids(at, content=True) == ([f"req_{number}" for number in range(7)], 3)
        assert len(at.ledger.export().requests) == 7


def test_a_page_of_many_short_messages_fits(tmp_path: Path) -> None:
    """What names and frames take counts too: it is many times as much as the texts."""
    with opened(tmp_path) as at:
        for number in range(7):
            at.ledger.add(record_of(number), Sent(history=(Said("user", "ok"),) * 20_000))
        assert len(at.ledger.export(content=True).requests) == 5
        at.ledger.add(record_of(7), Sent(history=(Said("x" * REQUEST_CHARACTERS, "ok"),)))
        last = at.ledger.export(content=True, session_id=None, since="").requests
        assert len(last) == 5
        found, pages = all_ids(at, content=True)
        assert (found, pages) == ([f"req_{number}" for number in range(8)], 2)


def test_a_page_of_long_paths_fits(tmp_path: Path) -> None:
    """A path of four bytes a character stands in a slice up to three times."""
    path = "/".join("\U00020000" * 60 for _ in range(4)) + "/a.py"
    one = replace(record_of(0).slices[0], id=path, path=path, source=path)
    with opened(tmp_path) as at:
        for number in range(100):
            at.ledger.add(replace(record_of(number), slices=(one,) * 60, dropped=()), Sent())
        page = at.ledger.export()
        packed = sum(len(msgpack.packb(record_map(each.record))) for each in page.requests)
        assert packed < 14 * 1024 * 1024, "a frame has 16 MiB"
        assert page.next


def test_a_page_of_long_records_is_short(tmp_path: Path) -> None:
    slices = record_of(0).slices[:1] * 4_000
    assert slices
    with opened(tmp_path) as at:
        for number in range(5):
            at.ledger.add(record_of(number, slices=slices), Sent())
        assert len(at.ledger.export().requests) == 4
        assert all_ids(at) == ([f"req_{number}" for number in range(5)], 2)


def test_content_too_large_for_a_page_is_left_out_and_told(tmp_path: Path) -> None:
    with opened(tmp_path) as at:
        sent = Sent(user_prompt="x" * (REQUEST_CHARACTERS // 2 + 1))
        at.ledger.add(record_of(1), sent)
        at.ledger.add(record_of(2), Sent(user_prompt="small"))
        large, small = at.ledger.export(content=True).requests
        assert large.sent is None
        assert "1,000,002 characters" in large.problem
        assert small.sent == Sent(user_prompt="small")
        assert at.ledger.get("ses_a", "req_1").sent == sent


def test_content_comes_when_asked_for(tmp_path: Path) -> None:
    with opened(tmp_path) as at:
        at.put(record_of(1))
        at.put(record_of(2))
        with at.file.writing() as database:
            forget(database, [2], "it was old")
        whole, bare = at.ledger.export(content=True).requests
        assert whole == Recalled(record_of(1), sent_for(record_of(1)))
        assert bare.sent is None
        assert "it was old" in bare.problem
        assert [one.sent for one in at.ledger.export().requests] == [None, None]


def test_times_bound_it(tmp_path: Path) -> None:
    with opened(tmp_path) as at:
        for number, time in enumerate(
            ("2026-01-30T23:59:59.999Z", "2026-01-31T00:00:00.000Z", "2026-02-01T10:00:00.000Z")
        ):
            at.put(record_of(number, at=time))

        def check(since: str, before: str, *expected: int) -> None:
            assert all_ids(at, since, before=before, limit=1)[0] == [f"req_{one}" for one in expected]

        check("", "", 0, 1, 2)
        check("2026-01-31", "", 1, 2)
        check("2026-01-31T00:00:00Z", "2026-02-01", 1)
        check("2026-01-31T01:00:00+01:00", "2026-01-31T00:00:00.001Z", 1)
        check("", "2026-01-31", 0)
        check("2027-01-01", "")


@pytest.mark.parametrize(
    "bound", ["soon", "#", "#x", "#-1", "# 1", "#" + "9" * 40, "0001-01-01T00:00:00+14:00", "\0"]
)
def test_a_bound_that_can_not_be_used(tmp_path: Path, bound: str) -> None:
    with opened(tmp_path) as at:
        for field in ("since", "before"):
            with pytest.raises(InvalidRequest) as raised:
                at.ledger.export(**{field: bound})  # type: ignore[arg-type]  # only these two
            assert raised.value.field == field


def test_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as at:
        assert at.ledger.export() == Page((), "")
