"""Output on the terminal: streams, colours, tables, units, check marks; knows no daemon.

What comes from a project is untrusted: a file's name may hold control characters that move a terminal's
cursor or change its title, so every value goes through `clean`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import IO, Any, Literal

import click

from .errors import OutputClosed, OutputFailed

COLUMN_GAP = "  "


def prepare_streams() -> None:
    """Make the standard output take any text: UTF-8 in a pipe, escapes on a terminal that can't show it."""
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
    """Write text to the standard output as it is.

    Raises `OutputClosed` when nobody reads it any more, `OutputFailed` when it can't be written.
    """
    if sys.stdout is None:
        return
    try:
        sys.stdout.write(text)
    except OSError as error:
        raise _output_error(error) from error


def say(text: str = "") -> None:
    """Write a line to the standard output."""
    write(f"{text}\n")


def flush() -> None:
    """Hand over what was written; raises as `write` does."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except OSError as error:
        raise _output_error(error) from error


def drop_output() -> None:
    """Let the interpreter's last flush go nowhere instead of complaining about a closed pipe."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say_json(value: Any) -> None:
    """Write a value as indented JSON."""
    import json

    say(json.dumps(value, ensure_ascii=False, indent=2))


def say_reply(reply: Any, as_json: bool, *lines: str) -> None:
    """Write a reply as JSON for programs, or the lines for a person."""
    if as_json:
        say_json(reply)
        return
    for line in lines:
        say(line)


def note(text: str) -> None:
    """Write a dim remark to the standard error, which programs that read the output never see."""
    _complain(f"note: {clean(text)}", dim=True)


def note_degraded(reply: Mapping[str, Any]) -> None:
    """Write why a reply is poorer than it could be, below what was said of it."""
    flush()
    for reason in reply["degraded"]:
        note(f"degraded: {reason}")


def warn(text: str) -> None:
    """Write a warning to the standard error."""
    _complain_labelled("warning", "yellow", text)


def show_error(message: str, hint: str = "") -> None:
    """Write an error, and what to do about it, to the standard error."""
    _complain_labelled("error", "red", message)
    if hint:
        _complain_labelled("hint", "cyan", hint)


def end_line() -> None:
    """End the line that a terminal began with `^C`."""
    _complain("")


def styled(text: str, **style: Any) -> str:
    """Return text for the standard output in a style, where colours are shown."""
    return click.style(text, **style) if use_colour(sys.stdout, os.environ) else text


def clean(text: str) -> str:
    """Return text without control characters: they are shown as escapes, line breaks too."""
    return _CONTROLS.sub(_escape, text)


def clean_lines(text: str) -> str:
    """Return text whose line breaks and tabs stay; other control characters are shown as escapes."""
    return _CONTROLS_IN_LINES.sub(_escape, text)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Return rows under a header, columns as wide as their widest cell; those in `right` flush right."""
    cells = [[clean(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in [header, *cells]) for column in range(len(header))]
    lines = [styled(_line(header, widths, right), bold=True)]
    lines += [_line(row, widths, right) for row in cells]
    return "\n".join(lines)


def count(number: int, noun: str) -> str:
    """Return `1 file`, `6,869 files`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def size(amount: int) -> str:
    """Return bytes in decimal units with three digits at most: `950 B`, `4.2 kB`, `85 MB`."""
    value = float(amount)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            break
        value /= 1000
    return f"{value:.1f} {unit}" if value < 10 and unit != "B" else f"{value:,.0f} {unit}"


def duration(seconds: float) -> str:
    """Return a time span in its two largest units: `45 s`, `2 min 5 s`, `3 h 10 min`, `2 d 4 h`."""
    left = int(seconds)
    parts = []
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        amount, left = divmod(left, length)
        if amount:
            parts.append(f"{amount} {unit}")
        elif parts:
            break
    return " ".join(parts[:2]) or "0 s"


def shortened(text: str, most: int) -> str:
    """Return a text on one line, cut where it has more characters than that."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def short_path(path: str) -> str:
    """Return a path with `~` for the home folder, and control characters shown as escapes."""
    home = os.path.expanduser("~")
    inside = path == home or path.startswith(home.rstrip("/") + "/")
    return clean(f"~{path[len(home) :]}" if inside and home != "/" else path)


_BIDI = "\u200e\u200f\u202a-\u202e\u2066-\u2069"
_CONTROLS = re.compile(f"[\x00-\x1f\x7f-\x9f\u2028\u2029{_BIDI}]")
_CONTROLS_IN_LINES = re.compile(f"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f{_BIDI}]")


def _output_error(error: OSError) -> Exception:
    if isinstance(error, BrokenPipeError):
        return OutputClosed()
    return OutputFailed(f"the output can't be written: {error.strerror}")


def _escape(match: re.Match[str]) -> str:
    return match.group().encode("unicode_escape").decode("ascii")


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[int]) -> str:
    padded = (
        cell.rjust(width) if column in right else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return COLUMN_GAP.join(padded).rstrip()


def _complain(text: str, **style: Any) -> None:
    if sys.stderr is None:
        return
    coloured = click.style(text, **style) if use_colour(sys.stderr, os.environ) else text
    try:
        print(coloured, file=sys.stderr, flush=True)  # noqa: T201 - the one place that writes there
    except BrokenPipeError as error:
        raise OutputClosed from error


def _complain_labelled(label: str, colour: str, text: str) -> None:
    if sys.stderr is None:
        return
    shown = clean_lines(text)
    if use_colour(sys.stderr, os.environ):
        shown = f"{click.style(label, fg=colour, bold=True)}{click.style(':', bold=True)} {shown}"
    else:
        shown = f"{label}: {shown}"
    _complain(shown)


def say_warnings(reply: Mapping[str, Any]) -> None:
    """Write the warnings of a reply, if it has any."""
    flush()
    for warning in reply.get("warnings", ()):
        warn(warning)


def local_time(timestamp: str) -> str:
    """Return the wire's time to the minute as the user's clock shows it; a text that is no time is returned
    unchanged."""
    try:
        return f"{datetime.fromisoformat(timestamp).astimezone():%Y-%m-%d %H:%M}"
    except ValueError:
        return clean(timestamp)


Level = Literal["ok", "warning", "wrong"]


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the report: `fix` is what to run about it."""

    name: str
    level: Level
    text: str
    fix: str = ""


def to_map(check: Check) -> dict[str, str]:
    """Return a check as JSON shows it."""
    found = {"name": check.name, "level": check.level, "text": check.text}
    return {**found, "fix": check.fix} if check.fix else found


def to_text(check: Check) -> str:
    """Return a check as a person reads it: a mark, what was found, and below it what to run."""
    mark, colour = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "wrong": ("✗", "red")}[check.level]
    line = f"{styled(mark, fg=colour, bold=True)} {clean(check.text)}"
    return f"{line}\n    run: {clean(check.fix)}" if check.fix else line
