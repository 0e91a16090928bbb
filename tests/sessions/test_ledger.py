"""A request comes back exactly as it was sent, after a restart and after a crash, which loses only what waits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from foveal.daemon.core.errors import NotFound, StateError
from foveal.daemon.rules.items import Item
from foveal.daemon.sessions.request_log import Ledger, Recalled
from foveal.daemon.sessions.request_messages import Said, Sent, sent
from foveal.daemon.sessions.request_record import RequestRecord
from foveal.daemon.sessions.stored_contents import PACK_BYTES, PACK_REQUESTS, used_bytes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.ledger_cases import Opened, conversation_bytes, opened, record_of, sent_for


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


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS, st.integers(1, 400), st.lists(st.tuples(TEXTS, TEXTS), max_size=4))
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


def test_what_waits_is_seen_before_it_is_written(tmp_path: Path) -> None:
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


def test_what_the_disk_refuses_goes_on_waiting(tmp_path: Path) -> None:
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


def test_what_was_replaced_while_it_was_written_goes_on_waiting(tmp_path: Path) -> None:
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
