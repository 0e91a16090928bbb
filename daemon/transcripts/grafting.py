"""Grafts experiences from transcripts: a process of its own mines a transcript, and the findings go into the
pool.

Only new lines of a transcript are read. The read position is stored after the findings are durable; after a
crash between the two, the lines are read again and their findings are duplicates.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

from msgspec import Struct, convert, to_builtins

from ..core.errors import DeadlineExceeded, FovealError, InvalidRequest
from ..core.events import EventHub
from ..core.system import System
from ..core.work import Work
from ..memory.experience import Draft
from ..memory.experiences import PoolOwner
from .activity import Activity
from .cursor import Cursor, CursorStore
from .extraction import Mined, draft_of
from .transcript_file import check_path

ARGV = (sys.executable, "-m", "foveal.daemon.transcripts.miner")
MINING_S = 300.0
"""Maximum seconds of mining: a transcript of 50 MB takes three seconds, twenty times as long on a busy
machine."""
LAG_STEP_S = 0.2
LAG_STEPS = 10
"""Number and interval of further readings of a file that just changed and doesn't end with the agent's
message: hosts write transcripts after their events."""
FRESH_NS = 10_000_000_000
"""Maximum age of a file that may still be written; an older one belongs to an interrupted agent."""
TURN_BYTES = 4 * 1024 * 1024
"""Maximum bytes read at the end of a turn: a quarter of a second; more are read by the next graft."""
_REPLY_BYTES = 64 * 1024 * 1024


class SkippedLine(Struct, frozen=True):
    """A line or a finding that was left out, and why; without a number for several lines."""

    reason: str
    line: int | None = None


class TranscriptResult(Struct):
    """The result of grafting a transcript: counts, what was left out, the new ids, and warnings; and the
    files that the agents touched, as the host wrote them in a conversation that began in `cwd`."""

    grafted: int = 0
    duplicates: int = 0
    skipped: list[SkippedLine] = []
    experience_ids: list[str] = []
    warnings: list[str] = []
    activity: tuple[Activity, ...] = ()
    cwd: str = ""


class GraftService:
    """Grafts transcripts, one at a time. On the event loop only.

    `pause` waits for some seconds; tests replace it.
    """

    def __init__(
        self,
        work: Work,
        events: EventHub,
        system: System,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._work = work
        self._events = events
        self._system = system
        self._pause = pause
        self._turn = asyncio.Semaphore(1)
        """Each mining takes a core for a while."""

    async def read_turn(self, project: PoolOwner, path: str) -> TranscriptResult | None:
        """Return what the agent of a conversation did to files since the last graft, and graft nothing;
        None if there is too much to read."""
        check_path(path)
        cursor = await self._work.in_builder(partial(CursorStore(project.folder, self._system).find, path))
        size = (await asyncio.to_thread(os.stat, path)).st_size
        if size - (cursor.resume if cursor else 0) > TURN_BYTES:
            return None
        mined = await self._mine_to_its_end(path, cursor, "")
        return TranscriptResult(activity=mined.activity, cwd=mined.cwd)

    async def graft(
        self,
        project: PoolOwner,
        path: str,
        session_id: str = "",
        agent_id: str = "",
        speaker: str | None = None,
    ) -> TranscriptResult:
        """Graft the decisions of a transcript; durable when this returns.

        Agent and session default to those of the records. With a `speaker` only what that agent said: the
        subagent with this id, in its own transcript or in its parent's, or for an empty id the agent of the
        conversation, whose subagents are grafted when they stop. For a subagent the whole file is read, and
        no cursor is stored: it would skip its parent's words.

        Raises `InvalidRequest` for the field `transcript_path`, `DeadlineExceeded`, and what the pool raises.
        """
        check_path(path)
        cursors = CursorStore(project.folder, self._system)
        cursor = None if speaker else await self._work.in_builder(partial(cursors.find, path))
        mined = await self._mine_to_its_end(path, cursor, speaker)
        drafts = await self._work.in_builder(partial(_drafts, project, mined, path, agent_id, session_id))
        result = await self._keep(project, mined, drafts)
        if not speaker:
            await self._work.in_writer(partial(cursors.put, path, mined.cursor))
        if result.grafted:
            data = {"experience_ids": result.experience_ids, "grafted": result.grafted}
            self._events.publish("experience.grafted", {"project": project.root, **data})
        return result

    async def _keep(self, project: PoolOwner, mined: Mined, drafts: list[Draft]) -> TranscriptResult:
        """Put drafts into the pool and report the result of each."""
        skipped = [SkippedLine(reason, line) for line, reason in mined.skipped]
        if mined.skipped_lines:
            skipped.append(SkippedLine(f"{mined.skipped_lines:,} more lines could not be read"))
        kept = await self._work.in_writer(partial(project.pool.graft, drafts))
        lines = [finding.line for finding in mined.findings]
        return TranscriptResult(
            kept.grafted,
            kept.duplicates,
            [*skipped, *(SkippedLine(draft.reason, lines[draft.number]) for draft in kept.skipped)],
            list(kept.ids),
            [f"line {lines[number]}: {reason}" for number, reason in kept.warnings],
            mined.activity,
            mined.cwd,
        )

    async def _mine_to_its_end(self, path: str, cursor: Cursor | None, speaker: str | None) -> Mined:
        """Mine a transcript, again while its host seems to be writing it."""
        mined = await self._mine(path, cursor, speaker)
        with suppress(OSError):
            for _ in range(LAG_STEPS):
                age_ns = self._system.time_ns() - self._system.stat(path).st_mtime_ns
                if mined.finished or age_ns >= FRESH_NS:
                    break
                await self._pause(LAG_STEP_S)
                if self._system.stat(path).st_size != mined.cursor.size:
                    mined = await self._mine(path, cursor, speaker)
        return mined

    async def _mine(self, path: str, cursor: Cursor | None, speaker: str | None) -> Mined:
        request = to_builtins({"path": path, "cursor": cursor, "speaker": speaker})
        async with self._turn:
            answer = await _ask_miner(json.dumps(request).encode() + b"\n")
        if "mined" in answer:
            return convert(answer["mined"], Mined)
        raise InvalidRequest(answer["problem"], answer["field"])


def _drafts(project: PoolOwner, mined: Mined, path: str, agent_id: str, session_id: str) -> list[Draft]:
    """Return a draft for each finding, with sketches of its files now: the conversation just ended."""
    return [
        project.sketches.sketched(draft_of(finding, mined, path, project.root, agent_id, session_id))
        for finding in mined.findings
    ]


async def _ask_miner(request: bytes) -> dict[str, Any]:
    """Start the process, send the request, and always end it."""
    process = await asyncio.create_subprocess_exec(
        *ARGV,
        cwd="/",
        env={**os.environ, "PYTHONSAFEPATH": "1"},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=_REPLY_BYTES,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        async with asyncio.timeout(MINING_S):
            with suppress(ConnectionError):  # it ended early; the missing answer says so
                process.stdin.write(request)
                await process.stdin.drain()
            line = await process.stdout.readline()
    except TimeoutError as error:
        raise DeadlineExceeded(
            f"the transcript wasn't read within {MINING_S:.0f} s; try again when the machine has less to do"
        ) from error
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        process.stdin.close()
        await process.wait()
    if not line.endswith(b"\n"):
        raise FovealError("the process that reads transcripts ended without an answer; see: foveal logs")
    answer: dict[str, Any] = json.loads(line)
    return answer
