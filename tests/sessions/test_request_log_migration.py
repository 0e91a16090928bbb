"""The ledger that an earlier version wrote is taken over: each request comes back as it was, to the byte."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from foveal.daemon.core.errors import StateError
from foveal.daemon.sessions import context_table
from foveal.daemon.sessions.context_table import ContextFilter
from foveal.daemon.sessions.request_log import Recalled
from foveal.daemon.sessions.request_log_file import BARE_VERSION
from foveal.daemon.sessions.request_record import Sent
from foveal.daemon.sessions.request_table import ItemCounts
from foveal.daemon.sessions.stored_contents import LOST

from tests.ledger_cases import GUIDE, ROOT, SEARCH, STYLE, Opened, opened, record_of, sent_for

DUMP = Path(__file__).parents[1] / "ledger_v1.sql"
"""What version 1 wrote: requests 1, 3 and 4 of one session, of which the last has no content any more and 3
has a reply, and request 2 of another one, with a text of several pieces; one more was forgotten."""

QUERY = "Why does parse_url drop the port of an address"
LONG = "".join(f"line {n * n} of a file\n" for n in range(400))
SECOND = Sent(LONG, f"You work.\n{LONG}", "\ud800 why does parse_url drop the port?")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "requests.db"
    with sqlite3.connect(path) as database:
        database.executescript(
            DUMP.read_text("utf-8") + "PRAGMA user_version = 1; PRAGMA journal_mode = WAL;"
        )
    database.close()
    return path


def check(at: Opened) -> None:
    assert at.file.take_warnings() == ()
    assert at.ledger.get("ses_a", "req_1") == Recalled(record_of(1), sent_for(record_of(1)))
    other = record_of(2, "ses_b", project_root="/home/\udcff")
    assert at.ledger.get("ses_b", "req_2") == Recalled(other, SECOND)
    third = Recalled(record_of(3), sent_for(record_of(3), QUERY), "", (STYLE, SEARCH))
    assert at.ledger.get("ses_a", "req_3") == third
    pruned = "What was sent is not kept any more: it was old."
    assert at.ledger.get("ses_a", "req_4") == Recalled(record_of(4), None, pruned)
    assert [one.id for one in at.ledger.list("ses_a")] == ["req_4", "req_3", "req_1"]
    assert [one.record.id for one in at.ledger.export().requests[:4]] == ["req_1", "req_2", "req_3", "req_4"]
    assert at.ledger.export(content=True, limit=1).requests[0].sent == sent_for(record_of(1))
    assert ItemCounts(GUIDE, 4, 1, 0, "2026-03-01") in at.usage.items(ROOT)


def files(path: Path) -> set[str]:
    return {one.name.removesuffix("-seal") for one in path.parent.iterdir()}


def test_requests_come_back_before_and_after_they_moved_and_later(path: Path, tmp_path: Path) -> None:
    for _ in range(2):
        with opened(tmp_path) as at:
            check(at)
    with opened(tmp_path) as at:
        at.put(record_of(9, "ses_c", project_root="/other"))
        assert files(path) > {"requests.db", "requests-v1.db"}
        at.ledger.prune()
        check(at)
        assert at.ledger.get("ses_c", "req_9") == Recalled(
            record_of(9, "ses_c", project_root="/other"), sent_for(record_of(9))
        )
    assert files(path) == {"requests.db"}
    with opened(tmp_path) as at:
        check(at)


def test_what_is_forgotten_before_it_moved_stays_forgotten(path: Path, tmp_path: Path) -> None:
    with opened(tmp_path) as at:
        at.forget("ses_a")
        at.ledger.prune()
        assert at.ledger.counts() == {"ses_b": 1}
        assert at.ledger.get("ses_b", "req_2").sent == SECOND


def test_an_end_between_the_two_renames_loses_nothing(path: Path, tmp_path: Path) -> None:
    database = sqlite3.connect(path)
    database.execute("UPDATE requests SET pruned = 'it was old' WHERE id = X'7265715f34'")  # req_4
    database.commit()
    Path(f"{path}-wal").rename(path.with_name("requests-v1.db-wal"))
    with opened(tmp_path) as at:
        check(at)
    database.close()


def test_damage_of_one_request_costs_that_one(path: Path, tmp_path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("UPDATE bodies SET manifest = X'00' WHERE number = 2")
    database.close()
    with opened(tmp_path) as at:
        assert at.ledger.get("ses_a", "req_1").problem == LOST
        at.ledger.prune()
        assert at.ledger.get("ses_a", "req_1").problem.endswith("not kept any more: it was damaged.")
        assert at.ledger.get("ses_b", "req_2").sent == SECOND
    assert files(path) == {"requests.db"}


def test_a_damaged_file_is_quarantined_and_told(path: Path, tmp_path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("DROP TABLE items")
    database.close()
    with opened(tmp_path) as at:
        (warning,) = at.file.take_warnings()
        assert "Of earlier requests some or all is lost" in warning
        assert at.ledger.counts() == {}
        at.put(record_of(9))
        assert at.ledger.get("ses_a", "req_9").problem == ""
    assert any(".damaged-" in name for name in files(path))


def test_a_file_that_turns_out_to_be_damaged_does_not_stay(path: Path, tmp_path: Path) -> None:
    with opened(tmp_path) as at:
        with at.file.writing() as database:
            database.execute(
                "CREATE TEMP TRIGGER stop BEFORE INSERT ON packs BEGIN SELECT RAISE(ABORT, 'malformed'); END"
            )
        with pytest.raises(StateError, match="malformed"):
            at.ledger.prune()
        assert "malformed" in at.file.take_warnings()[0]
        assert "requests-v1.db" not in files(path)
        assert at.ledger.get("ses_a", "req_1") == Recalled(record_of(1), None, LOST)
        at.ledger.prune()
    assert any(".damaged-" in name for name in files(path))


def test_a_wrong_mode_is_mended_and_what_is_no_file_is_set_aside(path: Path, tmp_path: Path) -> None:
    path.chmod(0)
    with opened(tmp_path) as at:
        check(at)
    path.with_name("requests-v1.db").chmod(0)
    with opened(tmp_path) as at:
        check(at)
        at.ledger.prune()
    path.with_name("requests-v1.db").mkdir()
    with opened(tmp_path) as at:
        assert "is a folder, not a file" in at.file.take_warnings()[0]
        check(at)


def test_a_file_without_contexts_gets_their_tables(tmp_path: Path) -> None:
    path = tmp_path / "requests.db"
    with opened(tmp_path) as at:
        record = at.put(record_of(1))
    with sqlite3.connect(path) as database:
        for (name,) in database.execute(
            "SELECT name FROM sqlite_master WHERE name LIKE 'context%'"
        ).fetchall():
            database.execute(f"DROP {'INDEX' if '_by_' in name else 'TABLE'} IF EXISTS {name}")
        database.execute(f"PRAGMA user_version = {BARE_VERSION}")
    database.close()
    Path(f"{path}-seal").unlink()  # it is of the file as it was closed
    with opened(tmp_path) as at:
        assert at.file.take_warnings() == ()
        assert at.ledger.get("ses_a", "req_1").record == record
        with at.file.reading() as database:
            assert context_table.page(database, ContextFilter(), 10) == []
    assert files(path) == {"requests.db"}


def test_a_damaged_file_without_contexts_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "requests.db"
    with opened(tmp_path) as at:
        at.put(record_of(1))
    with sqlite3.connect(path) as database:
        database.execute(f"PRAGMA user_version = {BARE_VERSION}")
    database.close()
    with opened(tmp_path) as at:
        [warning] = at.file.take_warnings()
        assert "The record of earlier requests is lost" in warning
        assert at.ledger.list("ses_a") == ()


def test_file_whose_migration_was_interrupted_is_never_replaced(path: Path, tmp_path: Path) -> None:
    with opened(tmp_path) as at:
        assert files(path) > {"requests.db", "requests-v1.db"}
        assert at.file.take_warnings() == ()
    former = path.with_name("requests-v1.db")
    with sqlite3.connect(former) as database:
        whole = "\n".join(database.iterdump())
    database.close()
    for part in path.parent.glob("requests.db*"):
        part.unlink()
    with sqlite3.connect(path) as database:  # as an earlier version makes it anew
        database.executescript(DUMP.read_text("utf-8") + "PRAGMA user_version = 1;")
    database.close()
    with opened(tmp_path) as at:
        (warning,) = at.file.take_warnings()
    kept = next(
        one for one in path.parent.glob("requests-v1.db.damaged-*") if one.name.rpartition("-")[2].isdigit()
    )
    assert kept.name in warning
    with sqlite3.connect(kept) as database:
        assert "\n".join(database.iterdump()) == whole
    database.close()
