"""Owns the form of what stands in the context sets: paths, URLs, ports; the applet has its own file."""

from __future__ import annotations

import os.path
from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

from ..core.errors import InvalidRequest
from ..core.lazy_dataclass import dataclass
from ..item.texts import has_harmful
from .applet import applet_entries

MAX_ENTRY_CHARACTERS = 4_096
"""Of an entry: as long as a path may be on Linux (PATH_MAX), and longer than any URL that servers take."""


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries of a set in their normal form, each once, and sentences about what is odd in them."""

    entries: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def checked_entries(set_name: str, entries: Iterable[str], home: str) -> Entries:
    """Return the entries that a caller gave for a set. `home` is the folder that `~` stands for.

    Raises `InvalidRequest` for the first entry that can't be used, with its place.
    """
    plain = dict.fromkeys(_plain(set_name, number, entry) for number, entry in enumerate(entries))
    if set_name == "applet":
        return Entries(applet_entries(plain))
    form = _FORMS.get(set_name)
    warnings: dict[str, None] = {}
    if form is not None:
        plain = dict.fromkeys(form(entry, home, warnings) for entry in plain)
    return Entries(tuple(plain), tuple(warnings))


def _plain(set_name: str, number: int, entry: str) -> str:
    text = entry.strip()
    place = f"entry {number + 1} of {set_name}"
    if not text:
        raise InvalidRequest(f"{place} is empty; leave it out. An empty list clears the set", "items")
    if len(text) > MAX_ENTRY_CHARACTERS:
        raise InvalidRequest(f"{place} is longer than {MAX_ENTRY_CHARACTERS:,} characters", "items")
    if has_harmful(text) or "\n" in text or "\t" in text:
        raise InvalidRequest(f"{place} holds line breaks or control characters: {text!r:.80}", "items")
    return text


def _file(entry: str, home: str, _warnings: dict[str, None]) -> str:
    """Return an absolute path without `.`, `..` and doubled slashes. Nothing is looked up on the disk."""
    path = home + entry[1:] if entry == "~" or entry.startswith("~/") else entry
    if not path.startswith("/"):
        raise InvalidRequest(f"files takes absolute paths (~ is expanded), not {entry!r:.200}", "items")
    return "/" + os.path.normpath(path).lstrip("/")


def _endpoint(entry: str, _home: str, warnings: dict[str, None]) -> str:
    wrong = f"endpoints takes full URLs such as http://localhost:8080/health, not {entry!r:.200}"
    try:
        parts = urlsplit(entry)
        usable = bool(parts.scheme and parts.hostname) and parts.port != 0
    except ValueError as error:
        raise InvalidRequest(f"{wrong} ({error})", "items") from error
    if not usable or any(character.isspace() for character in entry):
        raise InvalidRequest(wrong, "items")
    if parts.password:
        warnings[
            f"endpoints: the URL for {parts.hostname} holds a password, which is kept and shown as it is"
        ] = None
    return entry


def _port(entry: str, _home: str, _warnings: dict[str, None]) -> str:
    # The length first: a number of thousands of digits takes long.
    if not (entry.isascii() and entry.isdecimal() and len(entry) <= 5 and 1 <= int(entry) <= 65_535):
        raise InvalidRequest(
            f'ports takes numbers from 1 to 65535 as strings, such as "8080", not {entry!r:.60}', "items"
        )
    return str(int(entry))


_FORMS: dict[str, Callable[[str, str, dict[str, None]], str]] = {
    "files": _file,
    "endpoints": _endpoint,
    "ports": _port,
}
