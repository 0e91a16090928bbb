"""The process that mines a transcript: it reads one request, answers with one line, and exits.

It is a separate process, since parsing 50 MB blocks an interpreter for seconds. It ends with its standard
input, which the daemon keeps open as long as it wants the answer.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from typing import Any, BinaryIO

from msgspec import convert, to_builtins

from ..core.errors import InvalidRequest
from .activity import ActivityLog
from .cursor import Cursor
from .extraction import Mined, extract
from .transcripts import read

_NICENESS = 10
"""Increment of the process's niceness: nobody waits for the result."""


def mine(path: str, cursor: Cursor | None, speaker: str | None = None) -> Mined:
    """Read a transcript from a cursor and extract its decisions: of all its agents, of the one with the id
    `speaker`, or for an empty id of the one whose conversation it is. Raises `InvalidRequest`."""
    with read(path, cursor) as reading:
        reader = reading.reader
        activity = ActivityLog()
        findings = extract(
            activity.noted(
                entry
                for entry in reading.entries()
                if speaker is None or entry.agent_id == (speaker or reader.owner)
            )
        )
        return Mined(
            reader.source,
            speaker or reader.owner,
            reader.cwd,
            reading.cursor,
            tuple(findings),
            tuple(reading.skipped),
            reading.skipped_lines - len(reading.skipped),
            reading.is_finished,
            activity.activities,
        )


def main() -> None:
    """Answer a request `{path, cursor, speaker}` with `{mined}`, or with `{problem, field}` of bad input."""
    # Ctrl-C on a terminal reaches the whole process group; the daemon decides when this process ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(_NICENESS)
    requests = sys.stdin.buffer
    request = json.loads(requests.readline())
    threading.Thread(target=_end_with_daemon, args=(requests,), name="daemon", daemon=True).start()
    sys.stdout.buffer.write(json.dumps(_answer(request)).encode() + b"\n")
    sys.stdout.buffer.flush()
    os._exit(0)


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    cursor = convert(request["cursor"], Cursor | None)
    try:
        return {"mined": to_builtins(mine(request["path"], cursor, request["speaker"]))}
    except InvalidRequest as error:
        return {"problem": str(error), "field": error.field}


def _end_with_daemon(requests: BinaryIO) -> None:
    requests.read()
    os._exit(0)


if __name__ == "__main__":
    main()
