"""The terminal: its streams, colours and width, and how errors, notes and JSON are written to it."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

import click

from ..ipc.protocol import MAX_FRAME_BYTES
from .errors import CliError, OutputFailed
from .text import clean, clean_lines

NARROW = 8
"""Minimum characters that a text gets on a line, however narrow that is."""


@dataclass(slots=True)
class _Said:
    """What was written in this run."""

    json: bool = False


_said = _Said()


def prepare_streams() -> None:
    """Make the standard output take any text: UTF-8 in a pipe, escapes on a terminal that can't show it."""
    _said.json = False
    stream = sys.stdout
    if stream is None or not hasattr(stream, "reconfigure"):
        return
    if is_terminal(stream):
        stream.reconfigure(errors="backslashreplace")
    else:
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def is_terminal(stream: IO[str] | None) -> bool:
    """Whether a person sees what is written to a stream."""
    return stream is not None and not stream.closed and stream.isatty()


def use_colour(stream: IO[str] | None, environ: Mapping[str, str]) -> bool:
    """Whether to colour a stream: NO_COLOR wins over FORCE_COLOR, which wins over what the stream is."""
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR", "0") not in {"", "0"}:
        return True
    return is_terminal(stream) and environ.get("TERM") != "dumb"


def write(text: str) -> None:
    """Write text to the standard output as it is. Raises `OutputFailed`."""
    if sys.stdout is not None:
        with _writing():
            sys.stdout.write(text)


def say(text: str = "") -> None:
    """Write a line to the standard output."""
    write(f"{text}\n")


def flush() -> None:
    """Hand over what was written; raises as `write` does."""
    if sys.stdout is not None:
        with _writing():
            sys.stdout.flush()


def drop_output() -> None:
    """Let the interpreter's last flush go nowhere instead of complaining about a closed pipe."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say_text(text: str) -> None:
    """Write a text as it was sent: to a pipe unchanged, to a terminal without what would steer it."""
    shown = clean_lines(text) if is_terminal(sys.stdout) else text
    write(shown if shown.endswith("\n") or not is_terminal(sys.stdout) else f"{shown}\n")


def say_json(value: Any) -> None:
    """Write a value as indented JSON: the document that --json promises."""
    say(json.dumps(value, ensure_ascii=False, indent=2))
    _said.json = True


def say_json_error(message: str, hint: str, code: str) -> None:
    """Write an error as a line of JSON, unless a document was written already."""
    if not _said.json:
        error = {"code": code, "message": message, **({"hint": hint} if hint else {})}
        say(json.dumps({"error": error}, ensure_ascii=False))


def note(text: str) -> None:
    """Write a dim remark to the standard error, which programs that read the output never see."""
    _complain(f"note: {clean(text)}", dim=True)


def warn(text: str) -> None:
    """Write a warning to the standard error."""
    _complain_labelled("warning", "yellow", text)


def show_error(message: str, hint: str = "") -> None:
    """Write an error, and what to do about it, to the standard error."""
    _complain_labelled("error", "red", message)
    if hint:
        _complain_labelled("hint", "cyan", hint)


def check_can_ask(*, asks: bool = True) -> None:
    """Raise `CliError` if a command is to ask, but nobody can answer; called before anything is shown."""
    if asks and not is_terminal(sys.stdin):
        raise CliError("can't prompt: stdin is not a terminal; pass --yes")


def end_line() -> None:
    """End the line that a terminal began with `^C`."""
    _complain("")


def styled(text: str, **style: Any) -> str:
    """Return text for the standard output in a style, where colours are shown."""
    return click.style(text, **style) if use_colour(sys.stdout, os.environ) else text


def columns() -> int | None:
    """Return how many characters fit on a line: what COLUMNS says, else the terminal's width; None in a pipe,
    where nothing needs to be cut."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given) > 0:
        return int(given)
    return shutil.get_terminal_size().columns if is_terminal(sys.stdout) else None


def room(taken: int) -> int:
    """Return how many characters are left on a line that has so many; a large number without a limit."""
    most = columns()
    return sys.maxsize if most is None else max(most - taken, NARROW)


def read_text(what: str) -> str:
    """Return all of the standard input as text; bytes that are no UTF-8 are replaced.

    `what` names the text in the message of the `CliError` for an input that is closed or too large for a
    request.
    """
    if sys.stdin is None:
        raise CliError(f"the {what} - reads the standard input, which is closed")
    stream = getattr(sys.stdin, "buffer", None)
    data: bytes = b"" if stream is None else stream.read(MAX_FRAME_BYTES + 1)
    if len(data) > MAX_FRAME_BYTES:
        raise CliError(f"the {what} is larger than {MAX_FRAME_BYTES:,} bytes", "send the part that matters")
    return data.decode("utf-8", "replace")


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        closed = isinstance(error, BrokenPipeError)
        raise OutputFailed("" if closed else f"the output can't be written: {error.strerror}") from error


def _complain(text: str, **style: Any) -> None:
    if sys.stderr is None:
        return
    coloured = click.style(text, **style) if use_colour(sys.stderr, os.environ) else text
    with _writing():
        print(coloured, file=sys.stderr, flush=True)  # noqa: T201 - the one place that writes there


def _complain_labelled(label: str, colour: str, text: str) -> None:
    if sys.stderr is not None and use_colour(sys.stderr, os.environ):
        label, mark = click.style(label, fg=colour, bold=True), click.style(":", bold=True)
    else:
        mark = ":"
    _complain(f"{label}{mark} {clean_lines(text)}")
