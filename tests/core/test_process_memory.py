"""What the system says of a process is told of one that works, waits, was stopped, or is gone."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys

import pytest
from foveal.daemon.core.process_memory import ARENAS_MAX, is_runnable, process_state, resident_bytes

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="there is no /proc to look at")


def test_a_process_is_seen_to_work_to_be_stopped_and_to_end() -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        before = process_state(process.pid)
        assert before is not None
        while (state := process_state(process.pid)) is not None and state.ticks == before.ticks:
            assert not state.stopped
        assert is_runnable(process.pid)
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        stopped = process_state(process.pid)
        assert stopped is not None
        assert stopped.stopped
        assert not is_runnable(process.pid)
        assert resident_bytes(process.pid)
        process.kill()
    assert process_state(process.pid) is None
    assert not is_runnable(process.pid)


_HEAPS = """
import threading
from foveal.daemon.core.process_memory import share_heaps

share_heaps()
kept, together = [], threading.Barrier(12)
def fill():
    together.wait()
    kept.append([bytes(2_000) for _ in range(500)])
    together.wait()
threads = [threading.Thread(target=fill) for _ in range(12)]
for thread in threads: thread.start()
for thread in threads: thread.join()
starts = (int(line.partition("-")[0], 16) for line in open("/proc/self/maps") if len(line.split()) == 5)
print(sum(start % (64 << 20) == 0 for start in starts))
"""


@pytest.mark.skipif("glibc" not in platform.libc_ver(), reason="another C library")
def test_threads_share_a_few_heaps() -> None:
    environ = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}
    found = subprocess.run([sys.executable, "-c", _HEAPS], env=environ, capture_output=True, check=True)
    assert int(found.stdout) < ARENAS_MAX
