"""How numbers, sizes, times, places and long texts are written on a page; knows no page."""

from __future__ import annotations

import html
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import quote

from markupsafe import Markup, escape


def exact(text: str) -> Markup:
    """Escape a text so that an HTML parser reads it unchanged as the content of an element.

    It is for no attribute: quotes stay, which would make source code a half larger. A carriage return is
    written by its number.
    """
    return Markup(html.escape(text, quote=False).replace("\r", "&#13;"))  # noqa: S704 - it is escaped


NOTHING: Final = "–"  # noqa: RUF001 - a dash, as people write it
"""Shown for a missing value."""


ROUNDED_UP = 0.9995
"""Share of a unit from which a number in the next smaller one would be rounded up to 1000."""


def number(value: float | None) -> str:
    """Write a count with its thousands apart: `12,345`."""
    return NOTHING if value is None else f"{value:,.0f}"


def short(value: float | None) -> str:
    """Write a count in three digits or so: `950`, `12.3k`, `4.56M`."""
    if value is None:
        return NOTHING
    divided, unit = _scaled(value, ("G", "M", "k"))
    return f"{divided:.3g}{unit}" if unit else f"{value:.0f}"


def _scaled(value: float, units: Sequence[str]) -> tuple[float, str]:
    """Return a number in the largest unit, each a thousand of the next, that it has one of; "" for none."""
    for place, unit in enumerate(units):
        limit = 1000.0 ** (len(units) - place)
        if abs(value) >= limit * ROUNDED_UP:
            return value / limit, unit
    return value, ""


def share(value: float | None) -> str:
    """Write a share from 0 to 1 in percent."""
    return NOTHING if value is None else f"{value * 100:.0f} %"


def score(value: float | None) -> str:
    """Write a score with two decimals."""
    return NOTHING if value is None else f"{value:.2f}"


def size(value: float | None) -> str:
    """Write a number of bytes: `1.2 MB`, in powers of 1,000."""
    if value is None:
        return NOTHING
    divided, unit = _scaled(value, ("TB", "GB", "MB", "kB"))
    return f"{divided:.1f} {unit}" if unit else f"{value:.0f} B"


def milliseconds(value: float | None) -> str:
    """Write a time that something took: `0.21 ms`, `35 ms`, `1.4 s`."""
    if value is None:
        return NOTHING
    if value >= 10_000:
        return duration(value / 1000)
    if value >= 1000 * ROUNDED_UP:
        return f"{value / 1000:.1f} s"
    return f"{value:.0f} ms" if value >= 10 else f"{value:.2g} ms"


def duration(seconds: float | None) -> str:
    """Write a longer time in its two largest units: `3 d 4 h`, `12 min 5 s`."""
    if seconds is None:
        return NOTHING
    left, parts = int(seconds), []
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        if left >= length:
            parts.append(f"{left // length} {unit}")
            left %= length
    return " ".join(parts[:2]) or "0 s"


def moment(value: str | float | None) -> Markup:
    """Write a moment (ISO 8601, or seconds since 1970) in UTC; a script turns it into the reader's zone."""
    return _time(value, Markup(), lambda _, text: text)


def ago(value: str | float | None) -> Markup:
    """Write how long ago a moment was, `5 min ago`; the exact one shows on hover, a script keeps it true."""
    return _time(value, Markup(" data-ago"), lambda at, _: since(at, datetime.now(UTC)))


def day(text: str) -> str:
    """Write a day (ISO 8601, in UTC) as seen from today: `today`, `yesterday`, `3 d ago`, then the date."""
    now = datetime.now(UTC)
    days = (now.date() - _parsed(text).date()).days
    return "today" if days < 1 else "yesterday" if days == 1 else since(now - timedelta(days), now)


def since(at: datetime, now: datetime) -> str:
    """Write the time from a moment until now in its largest unit, after a week the date; as times.js does."""
    seconds = (now - at).total_seconds()
    if seconds >= 7 * 86_400:
        return f"{at.day} {at:%b}" if at.year == now.year else f"{at.day} {at:%b %Y}"
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{int(seconds // length)} {unit} ago"
    return "just now"


def _time(value: str | float | None, mark: Markup, shown: Callable[[datetime, str], str]) -> Markup:
    """Write a moment as an element with a mark; `shown` gives its text from the moment and its exact text."""
    if value is None or value == "":
        return Markup(NOTHING)  # noqa: S704 - a constant
    try:
        at = datetime.fromtimestamp(value, UTC) if isinstance(value, (int, float)) else _parsed(value)
    except (ValueError, OverflowError, OSError):
        return escape(value)
    text = at.strftime("%Y-%m-%d %H:%M:%S UTC")
    return Markup('<time datetime="{}" title="{}"{}>{}</time>').format(
        at.isoformat(timespec="milliseconds"), text, mark, shown(at, text)
    )


def breakable(path: str) -> Markup:
    """Write a path that may break after its slashes, so that a long one stays readable."""
    return Markup("/<wbr>").join(path.split("/"))


def quoted(path: str) -> str:
    """Write a path as a shell takes it."""
    return shlex.quote(path)


def count(value: float, one: str, many: str = "") -> str:
    """Write a number with its noun: `1 file`, `2 files`."""
    return f"{value:,.0f} {one if value == 1 else many or one + 's'}"


def editor_href(template: str, root: str, path: str, line: int = 1) -> str:
    """Return the address that opens a file in an editor, empty where there is none.

    `template` is the daemon's, which answers for its scheme: here `{path}` and `{line}` are filled in only.
    """
    absolute = path if os.path.isabs(path) else os.path.join(root, path)
    return template.replace("{path}", quote(absolute)).replace("{line}", str(max(int(line or 1), 1)))


def _parsed(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)


FILTERS: Final[Mapping[str, Callable[..., Any]]] = {
    "day": day,
    "number": number,
    "short": short,
    "share": share,
    "score": score,
    "size": size,
    "ms": milliseconds,
    "duration": duration,
    "moment": moment,
    "ago": ago,
    "breakable": breakable,
    "quoted": quoted,
    "count_of": count,
}
"""The filters of the templates."""
