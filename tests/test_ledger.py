"""A request comes back exactly as it was sent, after a restart and after a crash, which loses only what waits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from foveal.daemon.context.items import Item
from foveal.daemon.core.errors import NotFound, StateError
from foveal.daemon.ledger.ledger import Ledger
from foveal.daemon.ledger.messages import Said, Sent, sent
from foveal.daemon.ledger.recalled import Recalled
from foveal.daemon.ledger.request_queue import RequestQueue
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


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS, st.integers(1, 400), st.lists(st.tuples(TEXTS, TEXTS), max_size=4))
def test_any_text_comes_back(tmp_path: Path, text: str, times: int, history: list[tuple[str, str]]) -> None:
    parts = Sent(text * times, "\n" + text, text[::-1], tuple(Said(*one) for one in history))
    with opened(tmp_path) as at:
        at.forget("ses_a")
        at.put(record_of(), parts)
        assert at.ledger.get("ses_a", "req_1") == Recalled(record_of(), parts)


def test_what_two_requests_share_is_kept_once(tmp_path: Path) -> None:
    context = "".join(f"line {n * n} of a file\n" for n in range(5_000))
    with opened(tmp_path) as at:
        at.put(record_of(1), Sent(context, f"You work.\n{context}"))
        one = at.ledger.statistics().used_bytes
        for number in range(2, 12):
            at.put(record_of(number), Sent(context.replace("line 100 ", f"line {number} "), context))
        assert at.ledger.statistics().used_bytes < one + len(context) // 2
        assert at.ledger.get("ses_a", "req_1").sent == Sent(context, f"You work.\n{context}")


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
        assert at.ledger.statistics().waiting == 2
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
        assert at.ledger.statistics().lost == 1


def test_a_failure_in_the_middle_writes_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as at:
        at.put(record_of(1))
        with at.file.writing() as database:
            database.execute(
                "CREATE TEMP TRIGGER full BEFORE INSERT ON bodies WHEN new.number = 3"
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
from foveal.daemon.ledger import body_table
from foveal.daemon.ledger import ledger
from pathlib import Path

with opened(Path(sys.argv[1])) as at:
    for number in range(3):
        at.put(record_of(number))
    at.ledger.add(record_of(3), sent_for(record_of(3)))
    at.ledger.add(record_of(4), sent_for(record_of(4)))
    insert = body_table.insert
    def insert_and_stop(database, number, *rest):
        insert(database, number, *rest)
        print("half", flush=True)
        sys.stdin.read()
    body_table.insert = insert_and_stop
    at.ledger.write()
"""


def test_a_process_that_is_killed_while_it_writes_loses_only_that(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parent.parent
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

        def check(expected: range, **which: str) -> None:
            for content in (False, True):
                found: list[Recalled] = []
                number = 0
                while some := at.ledger.after(number, ("", ""), content=content, **which):
                    found += [one for _, one in some]
                    number = some[-1][0]
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
            assert database.execute("SELECT COUNT(*) FROM pieces").fetchone() == (0,)


def test_statistics(tmp_path: Path) -> None:
    with opened(tmp_path) as at:
        ledger = Ledger(at.file, at.clock, queue=RequestQueue(max_bytes=1))
        for number in range(3):
            ledger.add(record_of(number), Sent())
        numbers = ledger.statistics()
        assert (numbers.requests, numbers.sessions, numbers.waiting, numbers.lost) == (0, 0, 1, 2)
        ledger.write()
        numbers = ledger.statistics()
        assert (numbers.requests, numbers.sessions, numbers.waiting, numbers.lost) == (1, 1, 0, 2)
        assert numbers.bytes > 0
        assert numbers.used_bytes > 0
