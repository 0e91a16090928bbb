"""Owns `foveal logs`: the end of the daemon's log across its rotated files, and following it."""

from __future__ import annotations

import codecs
import os
import time
from collections.abc import Iterator

import click

from ..ipc.paths import log_file, state_folder
from . import terminal
from .command import Command, settings_of
from .errors import CliError

FOLLOW_S = 0.2
"""Between two looks at the log; nobody reads faster."""

BLOCK_BYTES = 64 * 1024
LINES_MAX = 10_000_000


@click.command("logs", cls=Command, short_help="Print the end of the daemon's log.")
@click.option(
    "-n",
    "--lines",
    type=click.IntRange(0, LINES_MAX),
    default=50,
    show_default=True,
    help="How many of the last lines.",
)
@click.option("-f", "--follow", is_flag=True, help="Print what is added, until Ctrl-C.")
@click.pass_context
def logs_command(context: click.Context, lines: int, follow: bool) -> None:
    """Print the end of the daemon's log."""
    path = log_file(state_folder(settings_of(context).environ))
    if not follow and not log_files(path):
        raise CliError(f"there is no log yet at {terminal.short_path(path)}", "foveal up")
    end = os.path.getsize(path) if os.path.exists(path) else 0
    for line in tail(path, lines, end):
        terminal.say(terminal.clean_lines(line))
    if follow:
        terminal.flush()
        for text in follow_log(path, end):
            terminal.write(terminal.clean_lines(text))
            terminal.flush()


def tail(path: str, count: int, end: int) -> list[str]:
    """Return the last lines of a log across its rotated files; of the newest what is before `end`."""
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
    """Yield what is added to a log from a position on, for ever; a file that took its place is read whole."""
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
                yield decoder.decode(file.read())  # what came before the new file took its place
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
