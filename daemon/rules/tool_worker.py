"""Owns the process that lists tools: it takes one request, answers a line for each server, and ends.

It lives for seconds, and imports what the daemon never does. Its standard input stays open as long as the
daemon lives: at its end the whole process group ends, with every server in it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
import threading
from typing import Any, BinaryIO


def main() -> None:
    """Serve one request: see `tool_list.py` for its fields."""
    replies = _claim_output()
    logging.disable(logging.CRITICAL)
    requests = sys.stdin.buffer
    request = json.loads(requests.readline())
    threading.Thread(target=_end_with_daemon, args=(requests,), name="daemon", daemon=True).start()
    asyncio.run(_serve(request, replies))
    replies.flush()
    os._exit(0)  # whatever is left of threads and servers ends with the process group


async def _serve(request: dict[str, Any], replies: BinaryIO) -> None:
    from .tool_client import list_tools  # takes a second

    turn = asyncio.Semaphore(request["concurrent"])

    async def answer(launch: dict[str, Any]) -> None:
        async with turn:
            listed = await list_tools(launch)
        replies.write(json.dumps({"number": launch["number"], **listed}).encode() + b"\n")
        replies.flush()

    await asyncio.gather(*(answer(launch) for launch in request["launches"]))


def _claim_output() -> BinaryIO:
    """Return standard output for replies alone, so that nothing that is printed mixes with them."""
    replies = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.close(nothing)
    return replies


def _end_with_daemon(requests: BinaryIO) -> None:
    requests.read()
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
