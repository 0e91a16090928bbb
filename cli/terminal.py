"""Output on the terminal: streams, colours, tables, units, check marks; knows no daemon.

What comes from a project is untrusted: a file's name may hold control characters that move a terminal's
cursor or change its title, so every value goes through `clean`.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, Literal

import click

from .errors import CliError, OutputClosed, OutputFailed

COLUMN_GAP = "  "

NARROW, READABLE = 8, 24
"""Characters that a column keeps that is cut; it keeps more if spare columns can go instead."""


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


def say_text(text: str) -> None:
    """Write a text as it was sent: to a pipe unchanged, to a terminal without what would steer it."""
    shown = clean_lines(text) if is_terminal(sys.stdout) else text
    write(shown if shown.endswith("\n") or not is_terminal(sys.stdout) else f"{shown}\n")


def say_json(value: Any) -> None:
    """Write a value as indented JSON: the document that --json promises."""
    import json

    say(json.dumps(value, ensure_ascii=False, indent=2))
    _said.json = True


def say_json_error(message: str, hint: str, code: str) -> None:
    """Write an error as a line of JSON, unless a document was written already."""
    import json

    if not _said.json:
        error = {"code": code, "message": message, **({"hint": hint} if hint else {})}
        say(json.dumps({"error": error}, ensure_ascii=False))


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


def note_more(found: int, limit: int, most: int) -> None:
    """Write that a list was cut, if more was found than its limit, or may have been at the highest limit."""
    if found > limit or found == most:
        flush()
        note(
            f"only the latest {limit:,}"
            + ("; --limit shows more" if limit < most else ", the most of a list")
        )


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


def clean(text: str) -> str:
    """Return text without control characters: they are shown as escapes, line breaks too."""
    return _CONTROLS.sub(_escape, text)


def clean_lines(text: str) -> str:
    """Return text whose line breaks and tabs stay; other control characters are shown as escapes."""
    return _CONTROLS_IN_LINES.sub(_escape, text)


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


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[int] = (),
    paths: Sequence[int] = (),
    texts: Sequence[int] = (),
    spare: Sequence[int] = (),
) -> str:
    """Return rows under a header, columns as wide as their widest cell; those in `right` flush right.

    If lines have a limit (`columns`), cells of `paths` lose their beginning and those of `texts` their end.
    Before they get hard to read, the columns in `spare` are left out, the first one first.
    """
    cells = [[clean(cell) for cell in row] for row in rows]
    natural = [max(len(row[column]) for row in [header, *cells]) for column in range(len(header))]
    widths = dict(enumerate(natural))
    most = columns()
    if most is not None:
        flexible = (*paths, *texts)
        for column in (None, *spare):
            if column is not None:
                del widths[column]
            if _total(_fitted(widths, flexible, header, most, READABLE)) <= most:
                break
        widths = _fitted(widths, flexible, header, most, NARROW)
    lines = []
    for row in [header, *cells]:
        parts = []
        for column, width in widths.items():
            cell = row[column]
            if len(cell) > width:
                cell = end_of_path(cell, width) if column in paths else shortened(cell, width)
            parts.append(cell.rjust(width) if column in right else cell.ljust(width))
        lines.append(COLUMN_GAP.join(parts).rstrip())
    return "\n".join([styled(lines[0], bold=True), *lines[1:]])


def count(number: int, noun: str) -> str:
    """Return `1 file`, `6,869 files`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def lines_of(first: int, last: int) -> str:
    """Return a range of lines as behind the colon of a path: `3-8`, or `3` for one line."""
    return str(first) if first == last else f"{first}-{last}"


def size(amount: int) -> str:
    """Return bytes in decimal units with two or three digits: `950 B`, `4.2 kB`, `85 MB`, `1.0 GB`."""
    value, units = float(amount), ["B", "kB", "MB", "GB", "TB"]
    while round(value) >= 1000 and len(units) > 1:  # as it is shown
        value /= 1000
        del units[0]
    unit = units[0]
    return f"{value:.1f} {unit}" if round(value, 1) < 10 and unit != "B" else f"{value:,.0f} {unit}"


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


def end_of_path(path: str, most: int) -> str:
    """Return a path without its beginning where it has more characters than that: its end says more."""
    if len(path) <= most:
        return path
    end = path[len(path) - most + 1 :]
    folder = end.find("/")
    return f"…{end[folder:]}" if 0 <= folder < len(end) // 2 else f"…{end}"


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


def _fitted(
    widths: Mapping[int, int], flexible: Sequence[int], header: Sequence[str], most: int, least: int
) -> dict[int, int]:
    """Return the widths of columns so that a line fits, if the flexible ones can give so much. The widest
    gives first, and each keeps `least` characters or its header."""
    fitted = dict(widths)
    kept = {
        column: min(fitted[column], max(least, len(header[column])))
        for column in flexible
        if column in fitted
    }
    while (over := _total(fitted) - most) > 0:
        givers = [column for column in kept if fitted[column] > kept[column]]
        if not givers:
            break
        widest = max(givers, key=lambda column: fitted[column])
        others = [fitted[column] for column in givers if column != widest]
        # Down to the next wide one at a stroke, then one by one.
        step = max(fitted[widest] - max(others, default=0), 1)
        fitted[widest] -= min(step, over, fitted[widest] - kept[widest])
    return fitted


def _total(widths: Mapping[int, int]) -> int:
    return sum(widths.values()) + len(COLUMN_GAP) * (len(widths) - 1)


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
