"""Promise 4: what one client does, or a file says, harms no other client, and memory stays bounded."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Iterator

import psutil
from foveal.ipc import paths
from foveal.ipc.client import Client
from foveal.ipc.connection import Limits

from .. import fuzzing
from ..beside import fare, served
from ..home import home
from ..misbehaving import KINDS, misbehaving
from ..promise import Ground, Promise, Test, Trial

PROOF = "tests/faults/test_neighbours.py"
BESIDE = "others answered beside a client that misbehaves"
DESCRIPTORS = "more connections than there are descriptors for"
FUZZED = {reader: f"{reader} reader, fuzzed" for reader in fuzzing.READERS}

CALLS = 100
LIMITS = Limits()
AT_REST_BYTES = 250 << 20
"""What a daemon takes with a small project, generously, with what its allocator keeps back."""
MEMORY_BYTES = AT_REST_BYTES + 2 * LIMITS.partial_bytes + 2 * LIMITS.working_bytes + LIMITS.unread_bytes
"""A request is held as bytes and as text, a frame that grows is copied once."""

DESCRIPTORS_MAX = 400
"""The limit of that daemon: less than a client has connections."""


def answer_others(ground: Ground) -> Iterator[Trial]:
    """Let each kind of client misbehave in turn, and ask beside it: all answers come and are right."""
    with served(ground.folder / "h") as (user, path):
        pid = user.pid
        for kind in itertools.islice(itertools.cycle(KINDS), ground.count):
            with misbehaving(kind, path, str(user.project)):
                one = fare(user, path, CALLS)
            lost = one.failed
            if one.rss > MEMORY_BYTES:
                lost = f"the daemon took {one.rss:,} bytes"
            if user.pid != pid:
                lost = "the daemon ended"
            yield Trial(f"{kind}: P99 {one.p99:.1f} ms, {one.rss / 1e6:.0f} MB", lost)


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


def fuzz(reader: str, ground: Ground) -> Iterator[Trial]:
    """Give a reader changed inputs: it refuses them as it should, or reads them."""
    for number, data in enumerate(itertools.islice(fuzzing.mutated(reader, ground.seed), ground.count)):
        lost = ""
        started = time.process_time()
        try:
            fuzzing.READERS[reader](data)
        except Exception as error:  # noqa: BLE001 - it is what this is about
            lost = f"{error!r} for {data[:300]!r}"
        if (took := time.process_time() - started) > 2:
            lost = lost or f"it took {took:.1f} s for {data[:300]!r}"
        yield Trial(f"input {number} of seed {ground.seed}", lost)


PROMISE = Promise(
    4,
    "One bad client harms no other",
    (
        Test(BESIDE, answer_others, 5 * len(KINDS), PROOF, len(KINDS)),
        Test(DESCRIPTORS, take_all_descriptors, 20, PROOF, 3),
        *(
            Test(name, lambda ground, reader=reader: fuzz(reader, ground), full, PROOF, 1_000)  # type: ignore[misc] # mypy sees no default
            for (reader, name), full in zip(FUZZED.items(), (500_000, 30_000, 30_000), strict=True)
        ),
    ),
)
