"""Texts for people: without control characters, cut to a width, with units and local times.

What comes from a project is untrusted: a file's name may hold control characters that move a terminal's
cursor or change its title, so every value goes through `clean`.
"""

from __future__ import annotations

import os
import re
from datetime import datetime


def clean(text: str) -> str:
    """Return text without control characters: they are shown as escapes, line breaks too."""
    return _CONTROLS.sub(_escape, text)


def clean_lines(text: str) -> str:
    """Return text whose line breaks and tabs stay; other control characters are shown as escapes."""
    return _CONTROLS_IN_LINES.sub(_escape, text)


def count(number: int, noun: str) -> str:
    """Return `1 file`, `6,869 files`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def share(part: int, whole: int) -> str:
    """Return `25%`, nothing without a whole."""
    return f"{part / whole:.0%}" if whole else ""


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


def local_time(timestamp: str, form: str = "%Y-%m-%d %H:%M") -> str:
    """Return the wire's time as the user's clock shows it, to the minute or in another form; a text that is
    no time is returned unchanged."""
    try:
        return datetime.fromisoformat(timestamp).astimezone().strftime(form)
    except ValueError:
        return clean(timestamp)


_BIDI = "\u200e\u200f\u202a-\u202e\u2066-\u2069"


_CONTROLS = re.compile(f"[\x00-\x1f\x7f-\x9f\u2028\u2029{_BIDI}]")


_CONTROLS_IN_LINES = re.compile(f"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f{_BIDI}]")


def _escape(match: re.Match[str]) -> str:
    return match.group().encode("unicode_escape").decode("ascii")
