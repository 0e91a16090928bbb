"""Owns the export of requests: a line of JSON for each, for analysis outside; knows no file to write to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .ledger import Ledger
from .messages import conversation
from .recalled import Recalled
from .request_record import key_map, record_map


def lines(
    ledger: Ledger, *, session_id: str | None = None, project_root: str | None = None, content: bool = False
) -> Iterator[str]:
    """Yield the requests of a session, of a project, or all, as JSON Lines, the first first.

    A line is the record as `record_map` gives it, with `referred` (items, or null while no reply was
    reported) and `problem`. What people and agents wrote stands in it only with `content`: then `sent` holds
    the context, the messages and the tools. Lines are ASCII and end with a line feed. They come one by one,
    however many there are; what waits to be written is written first.
    """
    ledger.write()
    for request in ledger.each(session_id=session_id, project_root=project_root, content=content):
        yield json.dumps(_line(request, content=content)) + "\n"


def _line(request: Recalled, *, content: bool) -> dict[str, Any]:
    referred = None if request.referred is None else [key_map(key) for key in request.referred]
    line = {**record_map(request.record), "referred": referred, "problem": request.problem}
    if content:
        sent = request.sent
        line["sent"] = None if sent is None else {"context": sent.context, **conversation(sent)}
    return line
