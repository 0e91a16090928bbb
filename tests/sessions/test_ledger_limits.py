"""What is too old or too much is forgotten, content before records, and a record says why it has none."""

from __future__ import annotations

import random
from pathlib import Path

from foveal.daemon.core.storage import database_bytes
from foveal.daemon.sessions.request_log import Ledger
from foveal.daemon.sessions.request_record import Sent
from foveal.daemon.sessions.stored_contents import ROUND, LedgerLimits, used_bytes

from tests.ledger_cases import ROOT, STYLE, Opened, opened, record_of


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
