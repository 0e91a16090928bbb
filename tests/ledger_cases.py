"""Requests and a log of requests in a folder, with a clock that tests set."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from foveal.daemon.core.system import System
from foveal.daemon.rules.items import ItemKey
from foveal.daemon.sessions import request_table
from foveal.daemon.sessions.item_usage import Usage
from foveal.daemon.sessions.request_log import Ledger
from foveal.daemon.sessions.request_log_file import LedgerFile
from foveal.daemon.sessions.request_record import (
    ConsideredItem,
    ItemPart,
    RecordedSlice,
    RequestRecord,
    Said,
    Sent,
    UsedItem,
    conversation,
    message_hash,
)
from foveal.daemon.sessions.session import timestamp_of
from foveal.daemon.sessions.stored_contents import LedgerLimits, forget
from msgspec.structs import replace

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
ROOT = "/home/user/project"
STYLE = ItemKey("rule", "docs/style.md")
GUIDE = ItemKey("reference", "docs/guide.md")
SEARCH = ItemKey("tool", "search_issues", "github")


def conversation_bytes(parts: Sent) -> bytes:
    """Return `conversation` as JSON in ASCII, by which two are compared byte for byte."""
    return json.dumps(conversation(parts), separators=(",", ":")).encode("ascii")


class Clock(System):
    """A clock that stands still until a test moves it."""

    def __init__(self, at: datetime = START) -> None:
        self.at = at

    def now(self) -> datetime:
        return self.at

    def after(self, **time: float) -> str:
        self.at += timedelta(**time)
        return timestamp_of(self.at)


@dataclass
class Opened:
    """A ledger at work, with its file, its usage and its clock."""

    file: LedgerFile
    ledger: Ledger
    usage: Usage
    clock: Clock

    def forget(self, session_id: str) -> None:
        """Forget the requests of a session as age does."""
        with self.file.writing() as database:
            rows = request_table.of_session(database, session_id, 10_000, None)
            forget(database, [row.number for row in rows])

    def put(self, record: RequestRecord, sent: Sent | None = None) -> RequestRecord:
        """Write a request."""
        self.ledger.add(record, sent or sent_for(record))
        self.ledger.write()
        return record

    def alter(self, statement: str, *values: object) -> None:
        """Change the file behind the ledger's back, as damage does."""
        with self.file.writing() as database:
            assert database.execute(statement, values).rowcount > 0


@contextmanager
def opened(folder: Path, limits: LedgerLimits | None = None, clock: Clock | None = None) -> Iterator[Opened]:
    """Open the ledger in a folder."""
    clock = clock or Clock()
    file = LedgerFile(str(folder / "requests.db"), clock)
    try:
        ledger = Ledger(file, clock, limits)
        yield Opened(file, ledger, Usage(ledger, file), clock)
    finally:
        file.close()


def record_of(number: int = 1, session_id: str = "ses_a", **fields: object) -> RequestRecord:
    """Return a record with something in every field."""
    record = RequestRecord(
        f"req_{number}",
        session_id,
        ROOT,
        timestamp_of(START),
        message_hash("Why?"),
        agent_name="reviewer",
        format="messages",
        items=(UsedItem(STYLE, "always"), UsedItem(GUIDE, "manual"), UsedItem(SEARCH, "agent", 0.71)),
        considered=(ConsideredItem(ItemKey("tool", "merge", "github"), 0.21, "floor"),),
        slices=(
            RecordedSlice(
                "focus:a.py", "focus", "focus", 0.9, 12, True, "focus path", path="a.py", score=0.5
            ),
            RecordedSlice("skeleton", "skeleton", "horizon", 0.1, 40, False, ""),
        ),
        tokens=52,
        bytes=208,
        elapsed_ms=3.25,
        steps_ms={"search": 1.5},
        degraded=("the embedding model didn't answer in time",),
    )
    return replace(record, **fields)


def sent_for(record: RequestRecord, text: str = "Why?") -> Sent:
    """Return what a record's request could have sent, with the record's id in the context."""
    context = f"# PROJECT CONTEXT\n\nOf {record.id}.\n"
    return Sent(
        context,
        f"You work on it.\n\n{context}",
        text,
        (Said("user", "Hi"), Said("assistant", "Hello\n")),
        (ItemPart(GUIDE, "docs/guide.md\n\nHow to use `run_guide`."),),
        (ItemPart(STYLE, "docs/style.md\n\nUse `ensure_utc` for times."),),
        (ItemPart(SEARCH, "Finds issues.", '{"type": "object"}'),),
    )
