"""What the system says of a process is told of one that works, waits, was stopped, or is gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from foveal.daemon.process_memory import is_runnable, process_state, resident_bytes

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
