"""A request comes back exactly as it was sent, after a restart and after a crash, which loses only what waits."""

from __future__ import annotations

import lzma
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack  # type: ignore[import-untyped] # it ships no types
import pytest
from foveal.daemon.core.errors import InvalidRequest, NotFound, StateError
from foveal.daemon.core.storage import database_bytes
from foveal.daemon.rules.items import Item
from foveal.daemon.sessions.request_log import REQUEST_CHARACTERS, Ledger, Recalled, RecalledPage
from foveal.daemon.sessions.request_record import RequestRecord, Said, Sent, record_map, sent
from foveal.daemon.sessions.stored_contents import (
    LOST,
    PACK_BYTES,
    PACK_REQUESTS,
    ROUND,
    LedgerLimits,
    forget,
    line_of,
    used_bytes,
)
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.ledger_cases import ROOT, STYLE, Opened, conversation_bytes, opened, record_of, sent_for
from tests.properties import examples


def ids(at: Opened, session_id: str = "ses_a", limit: int = 100, before: str = "") -> list[str]:
    return [one.id for one in at.ledger.list(session_id, limit, before)]


# --- What comes back ---


def test_the_exact_bytes_after_a_restart_and_after_the_files_changed(tmp_path: Path) -> None:
    rule = tmp_path / "style.md"
    rule.write_bytes("Use `tabs`\r\nand 'never' spaces é\n".encode())
    with opened(tmp_path) as at:
        text = rule.read_bytes().decode()
        items = [Item("rule", "style.md", "always", text, str(rule))]
        parts = sent(
            items,
            context=f"# CONTEXT\n{text}",
            system_prompt=f"You work.\n# CONTEXT\n{text}",
            user_prompt="Why?",
            history=[Said("user", "Hi"), Said("system", "no")],
        )
        at.put(record_of(), parts)
        before = conversation_bytes(parts)
    rule.unlink()
    with opened(tmp_path) as at:
        found = at.ledger.get("ses_a", "req_1")
        assert found == Recalled(record_of(), parts)
        assert found.sent is not None
        assert conversation_bytes(found.sent) == before
        assert found.sent.rules[0].text == f"style.md\n\n{text}"


TEXTS = st.text(st.characters(), max_size=300)


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS, st.integers(1, 400), st.lists(st.tuples(TEXTS, TEXTS), max_size=4))
@example("half a pair \ud800 and a NUL \0\r\n", 1, [("user", "\udfff")])
def test_any_text_comes_back(tmp_path: Path, text: str, times: int, history: list[tuple[str, str]]) -> None:
    parts = Sent(text * times, "\n" + text, text[::-1], tuple(Said(*one) for one in history))
    with opened(tmp_path) as at:
        at.forget("ses_a")
        at.put(record_of(), parts)
        assert at.ledger.get("ses_a", "req_1") == Recalled(record_of(), parts)


def used(at: Opened) -> int:
    with at.file.reading() as database:
        return used_bytes(database)


def packs(at: Opened) -> list[int]:
    with at.file.reading() as database:
        return [count for (count,) in database.execute("SELECT requests FROM packs ORDER BY first")]


def test_requests_that_are_much_alike_take_little_room(tmp_path: Path) -> None:
    context = "".join(f"line {n * n} of a file\n" for n in range(1_000))
    with opened(tmp_path) as at:
        at.put(record_of(0), Sent(context, f"You work.\n{context}"))
        one = used(at)
        for number in range(1, PACK_REQUESTS + 3):
            at.put(record_of(number), Sent(context.replace("line 100 ", f"line {number} "), context))
        assert packs(at) == [PACK_REQUESTS, 1, 1, 1]
        assert used(at) < one + 4 * len(context)
        assert at.ledger.get("ses_a", "req_0").sent == Sent(context, f"You work.\n{context}")
        for number in range(1, PACK_REQUESTS + 3):
            changed = context.replace("line 100 ", f"line {number} ")
            assert at.ledger.get("ses_a", f"req_{number}").sent == Sent(changed, context)


def test_large_requests_stay_alone(tmp_path: Path) -> None:
    sizes = [10, PACK_BYTES, 10, PACK_BYTES // 2, 10, PACK_BYTES // 2, 10]
    with opened(tmp_path) as at:
        for number, size in enumerate(sizes):
            at.put(record_of(number), Sent("x" * size))
        assert packs(at) == [1, 1, 4, 1]
        assert [len(at.ledger.get("ses_a", f"req_{n}").sent.context) for n in range(7)] == sizes  # type: ignore[union-attr]


def test_a_request_that_is_forgotten_leaves_its_pack(tmp_path: Path) -> None:
    with opened(tmp_path) as at:
        for number in range(PACK_REQUESTS):
            at.put(record_of(number, f"ses_{number % 2}"), Sent(f"{number}"))
        at.forget("ses_0")
        assert packs(at) == [PACK_REQUESTS // 2]
        assert at.ledger.get("ses_1", "req_1").sent == Sent("1")
        at.forget("ses_1")
        assert packs(at) == []


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with opened(tmp_path) as at:
        at.put(record_of())
        for session_id, request_id in (("ses_b", "req_1"), ("ses_a", "req_2"), ("", "\ud800")):
            with pytest.raises(NotFound, match="ListRequests names those"):
                at.ledger.get(session_id, request_id)
        with pytest.raises(NotFound):
            at.ledger.list("ses_a", before="req_9")
        assert at.ledger.list("ses_b") == ()


# --- Waiting and writing ---


def test_waiting_requests_are_visible_before_writing(tmp_path: Path) -> None:
    with opened(tmp_path) as at:
        at.put(record_of(1))
        at.ledger.add(record_of(2), sent_for(record_of(2)))
        at.ledger.add(record_of(3), sent_for(record_of(3)))
        assert at.ledger.get("ses_a", "req_3") == Recalled(record_of(3), sent_for(record_of(3)))
        assert at.ledger.counts() == {"ses_a": 1}
        for _ in range(2):
            assert ids(at) == ["req_3", "req_2", "req_1"]
            assert ids(at, limit=2) == ["req_3", "req_2"]
            assert ids(at, before="req_3") == ["req_2", "req_1"]
            assert ids(at, before="req_2") == ["req_1"]
            assert ids(at, before="req_1") == []
            at.ledger.write()
        assert at.ledger.write() == 0
        assert at.ledger.counts() == {"ses_a": 3}


def test_a_request_is_written_once(tmp_path: Path) -> None:
    with opened(tmp_path) as at:
        at.put(record_of(1))
        at.put(record_of(1, tokens=99), Sent("another"))
        assert at.ledger.get("ses_a", "req_1") == Recalled(record_of(1), sent_for(record_of(1)))
        assert at.ledger.counts() == {"ses_a": 1}


def test_requests_that_the_disk_refuses_keep_waiting(tmp_path: Path) -> None:
    with opened(tmp_path) as at:
        with at.file.reading() as database:
            database.execute("PRAGMA query_only = ON")
        at.ledger.add(record_of(), sent_for(record_of()))
        with pytest.raises(StateError, match="can't be used now"):
            at.ledger.write()
        assert at.ledger.get("ses_a", "req_1").record == record_of()
        with at.file.reading() as database:
            database.execute("PRAGMA query_only = OFF")
        assert at.ledger.write() == 1
        assert at.ledger.counts() == {"ses_a": 1}


def test_a_record_that_cannot_be_written_holds_up_no_other(tmp_path: Path) -> None:
    with opened(tmp_path) as at:
        at.ledger.add(record_of(1, elapsed_ms=float("nan")), Sent())
        at.ledger.add(record_of(2), Sent())
        with pytest.raises(ValueError, match="not JSON compliant"):
            at.ledger.write()
        assert at.ledger.write() == 1
        assert ids(at) == ["req_2"]
        assert at.ledger.lost == 1


def test_a_failure_in_the_middle_writes_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as at:
        at.put(record_of(1))
        with at.file.writing() as database:
            database.execute(
                "CREATE TEMP TRIGGER full BEFORE INSERT ON packs WHEN new.first = 3"
                " BEGIN SELECT RAISE(ABORT, 'full'); END"
            )
        for number in (2, 3):
            at.ledger.add(record_of(number), sent_for(record_of(number)))
        with pytest.raises(StateError, match="full"):
            at.ledger.write()
        assert at.ledger.counts() == {"ses_a": 1}
        assert at.ledger.write() == 2  # the trigger went with the connection that was opened anew
        assert ids(at) == ["req_3", "req_2", "req_1"]


def test_threads(tmp_path: Path) -> None:
    with opened(tmp_path) as at:
        errors: list[BaseException] = []

        def work(session_id: str) -> None:
            try:
                for number in range(20):
                    record = record_of(number, session_id)
                    at.ledger.add(record, sent_for(record))
                    at.ledger.write()
                    assert at.ledger.get(session_id, record.id) == Recalled(record, sent_for(record))
                    assert at.ledger.list(session_id)[0].id == record.id
            except BaseException as error:
                errors.append(error)
                raise

        threads = [threading.Thread(target=work, args=(f"ses_{n}",)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors
        assert at.ledger.counts() == {f"ses_{n}": 20 for n in range(4)}


# --- A crash ---

_CRASHING = """
import sys
from tests.ledger_cases import Clock, opened, record_of, sent_for
from foveal.daemon.sessions import stored_contents as contents
from pathlib import Path

with opened(Path(sys.argv[1])) as at:
    for number in range(3):
        at.put(record_of(number))
    at.ledger.add(record_of(3), sent_for(record_of(3)))
    at.ledger.add(record_of(4), sent_for(record_of(4)))
    insert = contents.add
    def insert_and_stop(database, sent):
        insert(database, sent)
        print("half", flush=True)
        sys.stdin.read()
    contents.add = insert_and_stop
    at.ledger.write()
"""


def test_a_process_that_is_killed_while_it_writes_loses_only_that(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    child = subprocess.Popen(
        [sys.executable, "-c", _CRASHING, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"half\n"
        child.send_signal(signal.SIGKILL)
    with opened(tmp_path) as at:
        assert at.file.take_warnings() == ()
        assert ids(at) == ["req_2", "req_1", "req_0"]
        for number in range(3):
            record = record_of(number)
            assert at.ledger.get("ses_a", record.id) == Recalled(record, sent_for(record))
        at.put(record_of(3))
        assert at.ledger.get("ses_a", "req_3").problem == ""


# --- Going through them, forgetting, counting ---


def test_all_are_gone_through_in_their_order(tmp_path: Path) -> None:
    with opened(tmp_path) as at:
        for number in range(120):
            at.ledger.add(
                record_of(number, f"ses_{number % 2}", project_root=f"/p{number % 3}"), Sent(f"{number}")
            )
        at.ledger.write()

        def check(expected: range, **which: Any) -> None:
            for content in (False, True):
                found = at.ledger.export(limit=1_000, content=content, **which).requests
                assert [one.record.id for one in found] == [f"req_{n}" for n in expected]
                assert [one.sent for one in found] == [Sent(f"{n}") if content else None for n in expected]
                assert not any(one.problem for one in found)

        check(range(120))
        check(range(1, 120, 2), session_id="ses_1")
        check(range(2, 120, 3), project_root="/p2")
        check(range(0), session_id="ses_9")


def test_a_request_that_is_forgotten_leaves_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as at:
        for number in range(150):
            at.ledger.add(record_of(number), sent_for(record_of(number)))
        at.ledger.write()
        at.put(record_of(1, "ses_b"))
        at.forget("ses_a")
        assert ids(at) == []
        assert at.ledger.get("ses_b", "req_1") == Recalled(record_of(1, "ses_b"), sent_for(record_of(1)))
        at.forget("ses_b")
        with at.file.reading() as database:
            assert database.execute("SELECT COUNT(*) FROM packs").fetchone() == (0,)


def test_those_that_waited_longest_are_lost_and_counted(tmp_path: Path) -> None:
    with opened(tmp_path) as at:
        ledger = Ledger(at.file, at.clock, max_waiting_bytes=20_000)
        for number in range(4):
            ledger.add(record_of(number), Sent("x" * 4_000))
        assert [one.id for one in ledger.list("ses_a")] == ["req_3", "req_2"]
        ledger.add(record_of(9), Sent("x" * 100_000))
        assert [one.id for one in ledger.list("ses_a")] == ["req_9"]
        assert ledger.lost == 4
        assert ledger.write() == 1
        ledger.add(record_of(1), Sent("x" * 4_000))
        ledger.add(record_of(1), Sent("y" * 4_000))
        ledger.add(record_of(2), Sent("x" * 4_000))
        assert ledger.write() == 2
        assert ledger.get("ses_a", "req_1").sent == Sent("y" * 4_000)
        assert ledger.lost == 4


def test_request_replaced_while_writing_keeps_waiting(tmp_path: Path) -> None:
    with opened(tmp_path) as at:

        def kept_of(record: RequestRecord, parts: Sent) -> tuple[RequestRecord, Sent]:
            if parts == Sent("old"):
                ledger.add(record_of(1), Sent("new"))
            return record, parts

        ledger = Ledger(at.file, at.clock, kept_of=kept_of)
        ledger.add(record_of(1), Sent("old"))
        assert ledger.write() == 1
        assert ledger.get("ses_a", "req_1").sent == Sent("new")
        assert ledger.write() == 1
        assert ledger.write() == 0


def fill(at: Opened, numbers: range, session_id: str = "ses_a", content: int = 0) -> None:
    """Add requests, each an hour after the other, with so many bytes that nothing compresses."""
    for number in numbers:
        record = record_of(number, session_id, at=at.clock.after(hours=1))
        noise = random.Random(number).randbytes(content // 2).hex()
        at.ledger.add(record, Sent(context=f"{number} {noise}", user_prompt=f"alpha beta gamma {number}"))
    at.ledger.write()


def listed(at: Opened, session_id: str = "ses_a") -> list[tuple[str, bool]]:
    return [(one.id, not one.pruned) for one in at.ledger.list(session_id)]


def rows(at: Opened, table: str) -> int:
    with at.file.reading() as database:
        count: int = database.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]
        return count


def test_content_goes_by_age_then_the_record_then_the_counts(tmp_path: Path) -> None:
    with opened(tmp_path, LedgerLimits(content_days=2, record_days=10, count_days=20)) as at:
        fill(at, range(2))
        at.usage.report("ses_a", "req_0", used=[STYLE])
        at.clock.after(days=2, minutes=-30)
        assert at.ledger.prune() == 1
        assert listed(at) == [("req_1", True), ("req_0", False)]
        assert at.ledger.get("ses_a", "req_0").problem.endswith(": it was older than 2 days.")
        at.clock.after(days=8)
        assert at.ledger.prune() == 2  # one record, the other's content
        assert listed(at) == [("req_1", False)]
        at.clock.after(days=1)
        assert at.ledger.prune() == 1
        assert listed(at) == []
        assert at.usage.items(ROOT)[0].requests == 2
        for table in ("requests", "packs", "query_terms"):
            assert rows(at, table) == 0
        at.clock.after(days=10)
        at.ledger.prune()
        assert at.usage.items(ROOT) == ()


def test_requests_outlast_a_clock_that_does_not_know_the_time_yet(tmp_path: Path) -> None:
    with opened(tmp_path) as at:
        fill(at, range(3))
        before = listed(at)
        assert len(before) == 3
        at.clock.after(days=-20_000)
        fill(at, range(3, 4))
        assert at.ledger.prune() == 0
        at.clock.after(days=20_000)
        at.ledger.prune()
        assert listed(at)[-3:] == before


def test_request_of_a_wrong_clock_grows_old_too(tmp_path: Path) -> None:
    with opened(tmp_path, LedgerLimits(content_days=2, record_days=10)) as at:
        fill(at, range(3))
        at.alter("UPDATE requests SET at = '2036-01-01T00:00:00.000Z' WHERE number = 2")
        assert at.ledger.prune() == 0
        at.clock.after(days=11)
        at.ledger.prune()
        assert listed(at) == []


def test_a_session_keeps_its_latest(tmp_path: Path) -> None:
    with opened(tmp_path, LedgerLimits(max_per_session=3)) as at:
        fill(at, range(5))
        fill(at, range(2), "ses_b")
        assert [name for name, _ in listed(at)] == ["req_4", "req_3", "req_2"]
        assert len(listed(at, "ses_b")) == 2
        fill(at, range(5, 6))
        assert [name for name, _ in listed(at)] == ["req_5", "req_4", "req_3"]


def test_all_sessions_together_keep_the_latest(tmp_path: Path) -> None:
    with opened(tmp_path, LedgerLimits(max_requests=3)) as at:
        fill(at, range(3), "ses_a")
        fill(at, range(3, 5), "ses_b")
        at.ledger.prune()
        assert (listed(at, "ses_a"), listed(at, "ses_b")) == (
            [("req_2", True)],
            [("req_4", True), ("req_3", True)],
        )


def test_the_oldest_content_goes_when_the_file_is_too_large(tmp_path: Path) -> None:
    limits = LedgerLimits(max_bytes=1_000_000)
    with opened(tmp_path, limits) as at:
        for first in range(0, 100, 10):
            fill(at, range(first, first + 10), content=30_000)
        at.ledger.prune()
        with at.file.reading() as database:
            assert limits.max_bytes // 3 < used_bytes(database) <= limits.max_bytes
        kept = [one for one in listed(at) if one[1]]
        assert len(listed(at)) == 100
        assert 10 < len(kept) < 70
        assert listed(at)[: len(kept)] == kept
        assert at.ledger.get("ses_a", "req_0").problem.endswith("is limited to 1,000,000 bytes.")
        assert at.ledger.get("ses_a", "req_99").problem == ""
        assert database_bytes(at.file.path) < 30_000 * 100 * 2


def test_records_go_too_when_there_is_no_content_left(tmp_path: Path) -> None:
    with opened(tmp_path, LedgerLimits(max_bytes=400_000)) as at:
        for first in range(0, 1_000, 100):
            fill(at, range(first, first + 100))
        at.ledger.prune()
        with at.file.reading() as database:
            assert used_bytes(database) <= 400_000
        assert 0 < rows(at, "requests") < 1_000
        assert at.ledger.list("ses_a", 1)[0].id == "req_999"


def test_a_bound_below_the_empty_file_forgets_all_and_ends(tmp_path: Path) -> None:
    with opened(tmp_path, LedgerLimits(max_bytes=0)) as at:
        fill(at, range(30))
        at.ledger.prune()
        assert rows(at, "requests") == 0


def test_much_at_once_goes_in_rounds(tmp_path: Path) -> None:
    with opened(tmp_path) as at:
        fill(at, range(ROUND + 10))
        at.clock.after(days=15)
        assert Ledger(at.file, at.clock, LedgerLimits(content_days=1)).prune() == ROUND + 10
        assert not any(kept for _, kept in listed(at))


def exported_ids(page: RecalledPage) -> list[str]:
    return [one.record.id for one in page.requests]


def all_ids(at: Opened, since: str = "", **which: Any) -> tuple[list[str], int]:
    """Return the ids of all pages, and how many pages that took."""
    found: list[str] = []
    pages = 0
    while True:
        page = at.ledger.export(since=since, **which)
        found += exported_ids(page)
        pages += 1
        since = page.next
        if not since:
            return found, pages


def test_requests_are_listed_in_order_waiting_ones_too(tmp_path: Path) -> None:
    with opened(tmp_path) as at:
        at.put(record_of(1))
        at.usage.report("ses_a", "req_1", used=[STYLE])
        at.ledger.add(record_of(2, "ses_b", project_root="/other"), Sent("of\nline \udcff"))
        page = at.ledger.export()
        first, second = page.requests
        assert (first, page.next) == (Recalled(record_of(1), None, referred=(STYLE,)), "")
        assert (second.record.id, second.referred) == ("req_2", None)
        assert exported_ids(at.ledger.export(session_id="ses_b")) == ["req_2"]
        assert exported_ids(at.ledger.export(project_root="/other")) == ["req_2"]
        assert at.ledger.export(session_id="none") == RecalledPage((), "")


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
        assert exported_ids(at.ledger.export(since=page.next)) == ["req_249", "req_999"]


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


def test_contents_too_large_for_a_page_are_left_out(tmp_path: Path) -> None:
    with opened(tmp_path) as at:
        sent = Sent(user_prompt="x" * (REQUEST_CHARACTERS // 2 + 1))
        at.ledger.add(record_of(1), sent)
        at.ledger.add(record_of(2), Sent(user_prompt="small"))
        large, small = at.ledger.export(content=True).requests
        assert large.sent is None
        assert "1,000,002 characters" in large.problem
        assert small.sent == Sent(user_prompt="small")
        assert at.ledger.get("ses_a", "req_1").sent == sent


def test_contents_are_exported_on_request(tmp_path: Path) -> None:
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
        assert at.ledger.export() == RecalledPage((), "")


RECORD = record_of()
SENT = sent_for(RECORD)


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Opened]:
    with opened(tmp_path) as at:
        at.put(RECORD)
        yield at


def recall(at: Opened) -> Recalled:
    return at.ledger.get("ses_a", "req_1")


def test_whole(at: Opened) -> None:
    assert recall(at) == Recalled(RECORD, SENT)


def test_pruned(at: Opened) -> None:
    with at.file.writing() as database:
        forget(database, [1], "it was older than 30 days")
    problem = "What was sent is not kept any more: it was older than 30 days."
    assert recall(at) == Recalled(RECORD, None, problem)
    assert at.ledger.export().requests[0].problem == problem


@pytest.mark.parametrize("value", ["X'00'", "substr(data, 1, 100)", "zeroblob(40)", "'text'"])
def test_damaged_content(at: Opened, value: str) -> None:
    at.alter(f"UPDATE packs SET data = {value}")
    assert recall(at) == Recalled(RECORD, None, LOST)
    assert at.ledger.export(content=True).requests[0].problem == LOST


def test_single_flipped_bit_is_detected(at: Opened) -> None:
    with at.file.reading() as database:
        (data,) = database.execute("SELECT data FROM packs").fetchone()
    for place in range(0, len(data) - 1, 7):
        turned = data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :]
        at.alter("UPDATE packs SET data = ?", turned)
        assert recall(at).sent in (None, SENT)


def test_contents_of_another_layout_are_reported(at: Opened) -> None:
    line = line_of(SENT).replace(b"[1,", b"[99,", 1)
    at.alter("UPDATE packs SET data = ?", lzma.compress(b"1 " + line))
    assert recall(at).sent == SENT
    assert "another version" in recall(at).problem


def test_a_damaged_record(at: Opened) -> None:
    at.usage.report("ses_a", "req_1", used=[STYLE])
    assert recall(at).referred == (STYLE,)
    at.alter("UPDATE requests SET record = X'00'")
    found = recall(at)
    assert found.problem == "The record is damaged: its items and slices are lost."
    assert found.sent == SENT
    assert (found.record.id, found.record.tokens, found.record.items) == ("req_1", 52, ())
    assert found.referred == ()


def test_content_that_is_gone(at: Opened) -> None:
    at.alter("DELETE FROM packs")
    assert recall(at) == Recalled(RECORD, None, LOST)
