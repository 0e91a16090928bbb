"""The command `foveal logs`: the end of the daemon's log, also across rotation."""

from __future__ import annotations

import codecs
import os
import time
from collections.abc import Iterator

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
    """Print the end of the daemon's log. --json prints `{file, lines}`."""
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
    pieces: list[list[bytes]] = []
    for file in reversed(log_files(path)):
        if count <= 0:
            break
        pieces.append(last_lines(file, count, end if file == path else os.path.getsize(file)))
        count -= len(pieces[-1])
    return [line.decode("utf-8", "replace") for piece in reversed(pieces) for line in piece]


def log_files(path: str) -> list[str]:
    """Return the files of a log that exist, the oldest first: rotated ones end in a number."""
    numbers = []
    folder, name = os.path.split(path)
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    for other in names:
        ending = other.removeprefix(f"{name}.")
        if ending != other and ending.isdecimal():
            numbers.append(int(ending))
    found = [f"{path}.{number}" for number in sorted(numbers, reverse=True)]
    return [*found, path] if name in names else found


def last_lines(path: str, count: int, end: int) -> list[bytes]:
    """Return at most `count` of the last lines before the position `end`, reading no more than them."""
    with open(path, "rb") as file:
        found = b""
        while end > 0 and found.count(b"\n") <= count:
            step = min(BLOCK_BYTES, end)
            end -= step
            file.seek(end)
            found = file.read(step) + found
    return found.splitlines()[-count:] if count > 0 else []


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
