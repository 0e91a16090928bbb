"""Deliveries in a folder, with a clock that tests set, and contexts and requests to deliver."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from foveal.daemon.core.errors import InvalidRequest
from foveal.daemon.core.storage import Database
from foveal.daemon.core.system import System
from foveal.daemon.core.times import timestamp_of
from foveal.daemon.core.work import Work
from foveal.daemon.privacy.policy import Policy
from foveal.daemon.rules.records import ItemKey
from foveal.daemon.sessions.records import (
    Access,
    ConsideredItem,
    ContextFilter,
    ContextRow,
    ContextSummary,
    DeliveredContext,
    Delivery,
    DeliveryLimits,
    ItemPart,
    RecordedSlice,
    RequestRecord,
    Sent,
    SentMessage,
    ShownPlace,
    UsedItem,
)
from foveal.daemon.sessions.service import Deliveries, Timeline, conversation, message_hash, new_context_id
from msgspec.structs import replace

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
ROOT = "/p"
STYLE = ItemKey("rule", "docs/style.md")
GUIDE = ItemKey("reference", "docs/guide.md")
SEARCH = ItemKey("tool", "search_issues", "github")
ANY = ContextFilter()


def conversation_bytes(parts: Sent) -> bytes:
    """Return `conversation` as JSON in ASCII, by which two are compared byte for byte."""
    return json.dumps(conversation(parts), separators=(",", ":")).encode("ascii")


class Clock(System):
    """A clock that stands still until a test moves it."""

    def __init__(self) -> None:
        self.at = START

    def now(self) -> datetime:
        return self.at

    def pass_on(self, **time: float) -> None:
        self.at += timedelta(**time)


async def root_of(cwd: str) -> str:
    """Return the root of a project: every folder but `/nowhere` is one."""
    if cwd == "/nowhere":
        raise InvalidRequest("no project", "cwd")
    return cwd


@dataclass
class Opened:
    """Deliveries at work, with their timeline and their clock."""

    deliveries: Deliveries
    timeline: Timeline
    clock: Clock

    def give(
        self,
        context_id: str = "",
        *,
        session: str = "ses",
        scope: str = "s_1",
        root: str = ROOT,
        text: str = "text",
        paths: Sequence[str] = (),
        record: RequestRecord | None = None,
        sent: Sent | None = None,
        policy: Policy | None = None,
        agent: str = "sam",
        preview: bool = False,
        cached: bool = False,
    ) -> str:
        """Deliver a context, with the request of a record; return its id."""
        found = context_id or new_context_id()
        request_id = "" if record is None else record.id
        context = DeliveredContext(
            scope_id=scope,
            session_id=session,
            project=root,
            agent_name=agent,
            summary=ContextSummary(
                prompt="how?", task_type="", format="markdown", model="", tokens=20, tokens_before=30,
                bytes=40, max_tokens=100, reserve_tokens=0, max_bytes=0, elapsed_ms=1.5, partial=False,
                truncated=False, layers={"anchor": 1, "focus": 2, "horizon": 3}, slices=1, dropped=0, gaps=0,
                degraded=0,
            ),
            scope={"id": scope, "focus_paths": ["a.py", "\udcff"]},
            request={"prompt": "how?"},
            reply={"slices": [], "tokens": 20},
            texts=("context", "user_prompt"),
            sent=sent or Sent(text, "You help.", "how?"),
            access=Access(root, (agent,), policy or Policy()),
            places=tuple(ShownPlace(path, "document", 4, 100) for path in paths),
            types={"document": (9, 10, 4)} if paths else {},
            record=record,
        )  # fmt: skip
        at = self.deliveries.now()
        delivery = Delivery(found, at, 2.5, cached, preview, request_id, lambda: context)
        self.deliveries.deliver(delivery, len(context.sent.context))
        return found

    async def put(self, record: RequestRecord, sent: Sent | None = None) -> RequestRecord:
        """Deliver a context with a request, and write both."""
        self.give(
            session=record.session_id, root=record.project_root, record=record, sent=sent or sent_for(record)
        )
        await self.deliveries.flush()
        return record

    async def rows(self, chosen: ContextFilter = ANY, limit: int = 100, before: str = "") -> list[ContextRow]:
        async def may_see(access: Access) -> bool:
            return access.policy == Policy()

        return await self.deliveries.contexts(chosen, limit, before, may_see)

    async def ids(self, chosen: ContextFilter = ANY, limit: int = 100, before: str = "") -> list[str]:
        return [row.id for row in await self.rows(chosen, limit, before)]

    async def requests(self, session_id: str = "ses") -> list[str]:
        return [one.id for one in await self.deliveries.requests(session_id, 1_000, "")]

    async def kinds(self, session_id: str = "ses") -> list[str]:
        page = await self.timeline.page(session_id, 1_000, "")
        return [stored.entry.kind for stored in reversed(page.entries)]

    async def alter(self, statement: str, *values: object) -> None:
        """Change the file behind the store's back, as damage does."""

        def change(database: Database) -> int:
            return database.execute(statement, values).rowcount

        assert await self.deliveries.read(change) != 0

    async def counts(self) -> dict[str, int]:
        """Return how many rows each table has, without empty ones."""
        tables = ("sessions", "contents", "contexts", "access", "files", "places", "requests", "items",
                  "item_days", "entries")  # fmt: skip

        def count(database: Database) -> dict[str, int]:
            queries = {name: f"SELECT COUNT(*) FROM {name}" for name in tables}
            return {name: database.execute(query).fetchone()[0] for name, query in queries.items()}

        return {name: rows for name, rows in (await self.deliveries.read(count)).items() if rows}


@asynccontextmanager
async def opened(
    folder: Path, limits: DeliveryLimits | None = None, clock: Clock | None = None, said: str = ""
) -> AsyncIterator[Opened]:
    """Open the deliveries in a folder; `said` is in the warning that they give."""
    work, clock = Work(), clock or Clock()
    deliveries = Deliveries(str(folder), root_of, work, clock, limits)
    async with asyncio.TaskGroup() as tasks:
        work.begin(tasks)
        warning = await deliveries.load()
        assert said in warning if said else warning == ""
        try:
            yield Opened(deliveries, Timeline(deliveries), clock)
        finally:
            work.cancel()
            await deliveries.close()
            work.close()


def record_of(number: int = 1, session_id: str = "ses", **fields: object) -> RequestRecord:
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
        (SentMessage("user", "Hi"), SentMessage("assistant", "Hello\n")),
        (ItemPart(GUIDE, "docs/guide.md\n\nHow to use `run_guide`."),),
        (ItemPart(STYLE, "docs/style.md\n\nUse `ensure_utc` for times."),),
        (ItemPart(SEARCH, "Finds issues.", '{"type": "object"}'),),
    )
