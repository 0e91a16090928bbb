"""Owns how the wire's times read for a person."""

from __future__ import annotations

from datetime import datetime

from . import terminal


def local_time(timestamp: str) -> str:
    """Return the wire's time to the minute as the user's clock shows it; what is none stays as it came."""
    try:
        return f"{datetime.fromisoformat(timestamp).astimezone():%Y-%m-%d %H:%M}"
    except ValueError:
        return terminal.clean(timestamp)
