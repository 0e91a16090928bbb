"""Promise 4: what one client does, or a file says, harms no other client, and memory stays bounded."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator

import psutil
from foveal.ipc import paths
from foveal.ipc.client import Client
from foveal.ipc.connection import Limits

from ..home import DEADLINE_S, PROJECT, Home, home
from ..misbehaving import KINDS, misbehaving
from ..promise import Ground, Promise, Test, Trial

BESIDE = "others answered beside a client that misbehaves"
DESCRIPTORS = "more connections than there are descriptors for"

CALLS = 100
FILES = {**PROJECT, "large.txt": "".join(f"line {n} of a log\n" for n in range(30_000))}
"""With a file whose context is large."""

LIMITS = Limits()
AT_REST_BYTES = 250 << 20
"""What a daemon takes with a small project, generously, with what its allocator keeps back."""
MEMORY_BYTES = AT_REST_BYTES + 2 * LIMITS.partial_bytes + 2 * LIMITS.working_bytes + LIMITS.unread_bytes
"""A request is held as bytes and as text, a frame that grows is copied once."""

DESCRIPTORS_MAX = 400
"""The limit of that daemon: less than a client has connections."""


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


def take_all_descriptors(ground: Ground) -> Iterator[Trial]:
    """Open so many connections that a daemon with few descriptors could open no file: it still does."""
    shell = f"ulimit -n {DESCRIPTORS_MAX}; exec {sys.executable} -m foveal up --foreground"
    with home(ground.folder / "h") as user:
        user.command = ["sh", "-c", shell]
        user.open_ready()
        path = paths.find_socket(None, user.environ).path
        process = psutil.Process(user.pid)
        with Client.connect(path) as other:
            for number in range(ground.count):
                with misbehaving("1,000 connections", path, str(user.project)):
                    lost = _use(other, user.project.as_posix(), number)
                    used = process.num_fds()
                if used > DESCRIPTORS_MAX - 64:
                    lost = lost or f"{used} of {DESCRIPTORS_MAX} descriptors were in use"
                yield Trial(f"a thousand connections, time {number}", lost)


def _use(other: Client, root: str, number: int) -> str:
    """Do what opens files, over a connection that was there before the others."""
    try:
        focus = {"cwd": root, "focus_paths": ["shop/sessions.py"], "prompt": f"question {number}"}
        if "class Session" not in other.call("GetContext", focus, 20)["context"]:
            return "the context lacks its focus"
        decision = {"decision": f"decision {number}", "agent_id": "a", "session_id": "s"}
        if other.call("GraftExperience", {"cwd": root, "experience": decision}, 20)["grafted"] != 1:
            return "the experience was not stored"
    except Exception as error:  # noqa: BLE001 - it is what this is about
        return f"another client got {error!r}"
    return ""


PROMISE = Promise(
    4,
    "One bad client harms no other",
    (
        Test(BESIDE, answer_others, 5 * len(KINDS), len(KINDS)),
        Test(DESCRIPTORS, take_all_descriptors, 20, 3),
    ),
)
