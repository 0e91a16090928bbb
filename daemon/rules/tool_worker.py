"""The process that lists tools: it takes one request, answers a line for each server, and ends.

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
from typing import BinaryIO

from msgspec import convert, to_builtins

from .server_launch import Launch, ListRequest


def main() -> None:
    """Serve one request: a line with a `ListRequest`."""
    replies = _claim_output()
    logging.disable(logging.CRITICAL)
    requests = sys.stdin.buffer
    request = convert(json.loads(requests.readline()), ListRequest, str_keys=True)
    threading.Thread(target=_end_with_daemon, args=(requests,), name="daemon", daemon=True).start()
    asyncio.run(_serve(request, replies))
    replies.flush()
    os._exit(0)  # remaining threads and servers end with the process group


async def _serve(request: ListRequest, replies: BinaryIO) -> None:
    from .tool_client import list_tools  # takes a second

    turn = asyncio.Semaphore(request.concurrent)

    async def answer(number: int, launch: Launch) -> None:
        async with turn:
            listed = await list_tools(launch)
        # Not msgspec's JSON: a server may answer with what is no UTF-8.
        replies.write(json.dumps({"number": number, **to_builtins(listed)}).encode() + b"\n")
        replies.flush()

    await asyncio.gather(*(answer(number, launch) for number, launch in request.launches.items()))


def _claim_output() -> BinaryIO:
    """Return standard output for replies only, so that nothing printed mixes with them."""
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
