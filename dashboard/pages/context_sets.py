"""Owns a session's context sets as a page shows them: what each entry leads to; knows no request."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from .applet import SET_NAME as APPLET

SET_MAX: Final = 10
"""Entries of one set that the daemon keeps at most (docs/protocol.md, Sessions)."""

TITLES: Final[Mapping[str, str]] = {"files": "Files", "endpoints": "Endpoints", "ports": "Ports"}
"""The sets that have a form of their own; others are shown by their names, their entries as texts."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry: its text as it is kept, as it is shown, and where it leads, if anywhere."""

    text: str
    shown: str
    link: str = ""
    leaves: bool = False
    """Whether the link leaves the dashboard for another site; one to an editor doesn't."""


@dataclass(frozen=True, slots=True)
class ContextSet:
    """A set with its entries, in their order."""

    name: str
    title: str
    entries: tuple[Entry, ...]

    @property
    def texts(self) -> list[str]:
        """The entries as the daemon has them."""
        return [entry.text for entry in self.entries]

    @property
    def is_full(self) -> bool:
        """Whether the daemon takes no more of it."""
        return len(self.entries) >= SET_MAX


def sets_of(
    context: Mapping[str, Sequence[str]], root: str, editor_link: Callable[[str, str], str]
) -> list[ContextSet]:
    """Return the sets but for the applet, which is no list. `editor_link` takes a root and a path in it."""
    return [
        ContextSet(
            name, TITLES.get(name, name), tuple(_entry(name, text, root, editor_link) for text in texts)
        )
        for name, texts in context.items()
        if name != APPLET
    ]


def _entry(name: str, text: str, root: str, editor_link: Callable[[str, str], str]) -> Entry:
    if name == "files":
        inside = text.removeprefix(root.rstrip("/") + "/")
        return Entry(text, inside, editor_link(root, text) if os.path.isabs(text) else "")
    if name == "endpoints":
        return Entry(text, text, text if is_web(text) else "", leaves=True)
    if name == "ports" and text.isascii() and text.isdecimal():
        return Entry(text, text, f"http://localhost:{text}", leaves=True)
    return Entry(text, text)


def is_web(text: str) -> bool:
    """Whether a text is an address that a browser may be led to: http or https, and nothing else."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)
