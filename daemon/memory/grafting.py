"""Owns grafting from transcripts: has one mined by a process of its own, and keeps what was found.

Only what is new in a transcript is read. What was read is noted after its findings are durable, so that a
crash between the two costs a second reading, which finds what the pool has.
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

from msgspec import to_builtins
from msgspec.structs import replace

from ..core.errors import DeadlineExceeded, FovealError, InvalidRequest
from ..core.events import EventHub
from ..core.system import System
from ..core.work import Work
from ..project.project import Project
from ..transcripts.cursor import Cursor, CursorStore
from ..transcripts.extraction import Mined, drafts_of, mined_in
from ..transcripts.transcript_file import check_path
from .experience import Draft

ARGV = (sys.executable, "-m", "foveal.daemon.transcripts.miner")
MINING_S = 300.0
"""A transcript of 50 MB takes three seconds of an idle core; a busy machine may take twenty times as long."""
LAG_STEP_S = 0.2
LAG_STEPS = 10
"""Hosts write behind their events: a file that just changed, and in which the agent hasn't the last word, is
looked at so often for the rest."""
FRESH_NS = 10_000_000_000
"""A file that was written longer ago than this has no rest to wait for: its agent was broken off."""
BATCH = 100
"""Maximum number of experiences written at once, so that other writers wait for one fsync and no more."""
_REPLY_BYTES = 64 * 1024 * 1024


class Grafting:
    """Grafts transcripts, one at a time. Every method belongs on the event loop.

    `pause` waits for some seconds, and is another one in tests.
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

    async def graft_transcript(
        self, project: Project, path: str, session_id: str = "", agent_id: str = ""
    ) -> dict[str, Any]:
        """Keep what was decided in a transcript; durable when this returns.

        The result has the counts `grafted` and `duplicates`, `skipped: [{line?, reason}]`, `experience_ids`
        and `warnings`. Agent and session are those of the records where none is given. Raises
        `InvalidRequest` for the field `transcript_path`, `DeadlineExceeded`, and what the pool raises.
        """
        return await self._graft(project, path, session_id, agent_id, _as_mined)

    async def graft_own(
        self, project: Project, path: str, session_id: str = "", agent_id: str = ""
    ) -> dict[str, Any]:
        """Do the same for what an agent said itself: what its subagents told it is grafted from their own."""
        return await self._graft(project, path, session_id, agent_id, _own_words)

    async def _graft(
        self,
        project: Project,
        path: str,
        session_id: str,
        agent_id: str,
        chosen: Callable[[Mined], Mined],
    ) -> dict[str, Any]:
        check_path(path)
        cursors = CursorStore(project.folder, self._system)
        cursor = await self._work.in_builder(partial(cursors.find, path))
        mined = chosen(await self._mine_to_its_end(path, cursor))
        drafts = await self._work.in_builder(partial(_drafts, project, mined, path, agent_id, session_id))
        result = await self._keep(project, mined, drafts)
        await self._work.in_writer(partial(cursors.put, path, mined.cursor))
        if result["grafted"]:
            data = {
                "project": project.root,
                "experience_ids": result["experience_ids"],
                "grafted": result["grafted"],
            }
            self._events.publish("experience.grafted", data)
        return result

    async def _keep(self, project: Project, mined: Mined, drafts: list[Draft]) -> dict[str, Any]:
        """Put drafts into the pool and tell what became of each."""
        skipped: list[dict[str, Any]] = [{"line": line, "reason": reason} for line, reason in mined.skipped]
        if mined.skipped_lines:
            skipped.append({"reason": f"{mined.skipped_lines:,} more lines could not be read"})
        if mined.findings_left_out:
            skipped.append({"reason": f"{mined.findings_left_out:,} findings are too many for one reading"})
        result: dict[str, Any] = {
            "grafted": 0,
            "duplicates": 0,
            "skipped": skipped,
            "experience_ids": [],
            "warnings": [],
        }
        for start in range(0, len(drafts), BATCH):
            kept = await self._work.in_writer(partial(project.pool.graft, drafts[start : start + BATCH]))
            result["grafted"] += kept.grafted
            result["duplicates"] += kept.duplicates
            result["experience_ids"] += kept.ids
            for name, told in (("skipped", kept.skipped), ("warnings", kept.warnings)):
                result[name] += [
                    {"line": mined.findings[start + number].line, "reason": reason} for number, reason in told
                ]
        result["warnings"] = [
            f"line {warning['line']}: {warning['reason']}" for warning in result["warnings"]
        ]
        return result

    async def _mine_to_its_end(self, path: str, cursor: Cursor | None) -> Mined:
        """Mine a transcript, and again as long as its host seems to be writing it."""
        mined = await self._mine(path, cursor)
        for _ in range(LAG_STEPS):
            if mined.finished or not self._is_fresh(path):
                break
            await self._pause(LAG_STEP_S)
            if self._has_grown(path, mined.cursor):
                mined = await self._mine(path, cursor)
        return mined

    def _is_fresh(self, path: str) -> bool:
        with suppress(OSError):
            return self._system.time_ns() - self._system.stat(path).st_mtime_ns < FRESH_NS
        return False

    def _has_grown(self, path: str, cursor: Cursor) -> bool:
        with suppress(OSError):
            return self._system.stat(path).st_size != cursor.size
        return False

    async def _mine(self, path: str, cursor: Cursor | None) -> Mined:
        request = {"path": path, "cursor": None if cursor is None else to_builtins(cursor)}
        async with self._turn:
            answer = await _ask_miner(json.dumps(request).encode() + b"\n")
        if "mined" in answer:
            return mined_in(answer["mined"])
        raise InvalidRequest(answer["problem"], answer["field"])


def _as_mined(mined: Mined) -> Mined:
    return mined


def _own_words(mined: Mined) -> Mined:
    """Return what was mined without what other agents said."""
    own = tuple(finding for finding in mined.findings if finding.agent_id in {"", mined.owner})
    return replace(mined, findings=own)


def _drafts(project: Project, mined: Mined, path: str, agent_id: str, session_id: str) -> list[Draft]:
    """Return a draft for each finding, with its files as they are: a conversation ended just now."""
    drafts = drafts_of(mined, path, project.root, agent_id, session_id)
    return [project.sketches.sketched(draft) for draft in drafts]


async def _ask_miner(request: bytes) -> dict[str, Any]:
    """Start the process, ask it, and see it end, whatever comes of it."""
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
            with suppress(ConnectionError):  # it ended, which its answer tells
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
