"""The log of hooks, which write nothing to standard error; imports the standard library only."""

from __future__ import annotations

import os
import time

from ..ipc.paths import private_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

LOG_NAME: Final = "hooks.log"
MAX_BYTES: Final = 256 * 1024
"""Maximum bytes of the log, about two thousand failures; the previous file is kept."""
MAX_LINE_CHARACTERS: Final = 500


def note(state: str, text: str) -> None:
    """Append a line with the time to the log in the state folder. Raises `OSError` or `PathError`."""
    path = os.path.join(private_folder(state), LOG_NAME)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    try:
        if os.fstat(descriptor).st_size > MAX_BYTES:
            os.replace(path, f"{path}.1")
            os.close(descriptor)
            descriptor = os.open(path, flags, 0o600)
        line = " ".join(text[:MAX_LINE_CHARACTERS].split())
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        os.write(descriptor, f"{stamp} {line}\n".encode("utf-8", "replace"))
    finally:
        os.close(descriptor)
