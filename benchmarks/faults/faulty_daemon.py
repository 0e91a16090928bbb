"""The start of a daemon whose indexer is the one of `faulty_worker.py`; all else in it is as it is."""

from __future__ import annotations

import sys

from foveal.__main__ import main
from foveal.daemon.workspace import indexer_client

COMMAND = (sys.executable, "-m", "foveal.benchmarks.faults.faulty_daemon")
"""What starts it, with its socket, state and log as the environment says."""

if __name__ == "__main__":
    indexer_client.ARGV = (sys.executable, "-m", "foveal.benchmarks.faults.faulty_worker")
    sys.argv[1:] = ["up", "--foreground"]
    main()
