"""The command `foveal logs`: the end of the daemon's log, also across rotation."""

from __future__ import annotations

import codecs
import os
import time
from collections import deque
from collections.abc import Iterator
from glob import escape, glob

from ..ipc.paths import log_file, state_folder
from . import terminal
from .command import Run, command
from .errors import CliError
from .options import flag, number
from .text import clean_lines, short_path

FOLLOW_S = 0.2
"""Seconds between two checks of the log."""

BLOCK_BYTES = 64 * 1024
LINES_MAX = 10_000_000


@command(
    "Print the end of the daemon's log.",
    number("-n --lines", 0, LINES_MAX, "How many of the last lines.", None, default=50, show_default=True),
    flag("-f --follow", "Print what is added, until Ctrl-C."),
)
def logs_command(run: Run) -> None:
    """Print the end of the daemon's log. --json prints `{file, lines}`.

    For example:

        foveal logs -n 200
        foveal logs --follow
    """
    if run.follow and run.as_json:
        raise run.usage("--json and --follow exclude each other")
    path = log_file(state_folder(run.settings.environ))
    if not run.follow and not log_files(path):
        raise CliError(f"there is no log yet at {short_path(path)}", "foveal up")
    end = os.path.getsize(path) if os.path.exists(path) else 0
    lines = tail(path, run.lines, end)
    run.show({"file": path, "lines": lines}, map(clean_lines, lines))
    if run.follow:
        terminal.flush()
        for text in follow_log(path, end):
            terminal.write(clean_lines(text))
            terminal.flush()


def tail(path: str, count: int, end: int) -> list[str]:
    """Return the last lines of a log across its rotated files; the newest file is read up to `end`."""
    lines: deque[bytes] = deque(maxlen=count)
    for file in log_files(path):
        with open(file, "rb") as opened:
            lines.extend(opened.read(end if file == path else -1).splitlines())
    return [line.decode("utf-8", "replace") for line in lines]


def log_files(path: str) -> list[str]:
    """Return the files of a log that exist, the oldest first: rotated ones end in a number."""
    rotated = (file.rpartition(".")[2] for file in glob(f"{escape(path)}.*"))
    numbers = sorted((int(number) for number in rotated if number.isdecimal()), reverse=True)
    return [*(f"{path}.{number}" for number in numbers), *([path] if os.path.exists(path) else [])]


def follow_log(path: str, position: int = 0) -> Iterator[str]:
    """Yield what is added to a log after a position, for ever, also across rotation."""
    while not os.path.exists(path):
        time.sleep(FOLLOW_S)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    file = open(path, "rb")  # noqa: SIM115 - it is replaced below when the log is rotated
    try:
        file.seek(position)
        while True:
            if text := decoder.decode(file.read(BLOCK_BYTES)):
                yield text
            elif _was_replaced(path, os.fstat(file.fileno()), file.tell()):
                yield decoder.decode(file.read())  # what was written before the rotation
                file.close()
                file = open(path, "rb")  # noqa: SIM115 - closed below
            else:
                time.sleep(FOLLOW_S)
    finally:
        file.close()


def _was_replaced(path: str, opened: os.stat_result, position: int) -> bool:
    try:
        now = os.stat(path)
    except FileNotFoundError:
        return False  # between two files
    return not os.path.samestat(now, opened) or now.st_size < position
