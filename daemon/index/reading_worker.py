"""Owns the process that reads ahead: files asked for on its socket, read in order, each answered at once.

It ends when its socket does, so it never outlives the indexer, and within a file's time in any case.
"""

from __future__ import annotations

import contextlib
import gc
import signal
import sys
from queue import SimpleQueue
from typing import Any

from ..core.pipe import ChildPipe
from ..core.system import System
from .reading import FileOpening, FileReader, FileToRead
from .suspects import HANG_S, set_alarm


def main() -> None:
    """Serve on the socket whose descriptor is the one argument."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # the alarm ends the process, whatever the parent did
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    pipe = ChildPipe(int(sys.argv[1]))
    messages: SimpleQueue[Any] = SimpleQueue()
    pipe.listen(messages.put)
    gc.freeze()
    opening: FileOpening = messages.get()
    reader = FileReader(opening.root, opening.max_bytes, System())
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        while True:
            wanted: list[FileToRead] = messages.get()
            for asked in wanted:
                set_alarm(HANG_S)
                read = reader.read(asked)
                set_alarm(0.0)
                pipe.send(read)


if __name__ == "__main__":
    main()
