"""Promise 4: what one client does, or a file says, harms no other client, and memory stays bounded."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import psutil
from foveal.ipc import paths
from foveal.ipc.client import Client
from foveal.ipc.connection import Limits

from ..home import DEADLINE_S, PROJECT, Home, home
from ..misbehaving import KINDS, misbehaving
from ..promise import Ground, Promise, Test, Trial

BESIDE = "others answered beside a client that misbehaves"

CALLS = 100
FILES = {**PROJECT, "large.txt": "".join(f"line {n} of a log\n" for n in range(30_000))}
"""With a file whose context is large."""

LIMITS = Limits()
AT_REST_BYTES = 250 << 20
"""What a daemon takes with a small project, generously, with what its allocator keeps back."""
MEMORY_BYTES = AT_REST_BYTES + 2 * LIMITS.partial_bytes + 2 * LIMITS.working_bytes + LIMITS.unread_bytes
"""A request is held as bytes and as text, a frame that grows is copied once."""


def answer_others(ground: Ground) -> Iterator[Trial]:
    """Let each kind of client misbehave in turn, and ask beside it: all answers come and are right."""
    with home(ground.folder / "h", files=FILES) as user:
        user.open_ready()
        path, pid = paths.find_socket(None, user.environ).path, user.pid
        for kind in itertools.islice(itertools.cycle(KINDS), ground.count):
            with misbehaving(kind, path, str(user.project)):
                lost, memory = _ask_beside(user, path)
            if memory > MEMORY_BYTES:
                lost = f"the daemon took {memory:,} bytes"
            yield Trial(kind, "the daemon ended" if user.pid != pid else lost)


def _ask_beside(user: Home, path: str) -> tuple[str, int]:
    """Ask for a context that is known, again and again; return what failed, and the daemon's memory."""
    params = {"cwd": str(user.project), "focus_paths": ["shop/auth.py"], "session_id": "other"}
    most, process = 0, psutil.Process(user.pid)
    with Client.connect(path, DEADLINE_S) as client:
        for number in range(CALLS):
            try:
                reply = client.call("GetContext", params, DEADLINE_S)
            except Exception as error:  # noqa: BLE001 - it is what this is about
                return f"call {number}: {error!r}", most
            if "def login" not in reply["context"]:
                return f"call {number} got another context", most
            most = max(most, process.memory_info().rss)
    return "", most


PROMISE = Promise(
    4,
    "One bad client harms no other",
    (Test(BESIDE, answer_others, 5 * len(KINDS), len(KINDS)),),
)
