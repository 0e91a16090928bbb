"""Times as records and the wire have them: ISO 8601 in UTC, or milliseconds since 1970."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TypeVar

from .errors import InvalidRequest

T = TypeVar("T")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def timestamp_of(moment: datetime) -> str:
    """Return an aware time as ISO 8601 UTC with milliseconds and `Z`, which sorts as text."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def moment_in(text: str) -> datetime:
    """Return the time or day in ISO 8601, UTC without a zone. Raises `ValueError` or `OverflowError`."""
    moment = datetime.fromisoformat(text)
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def bound_in(text: str, field: str, otherwise: T, *, local: bool = False) -> int | T:
    """Return a time or day of a request in milliseconds since 1970, `otherwise` for none. Without a zone it
    is UTC, or `local`. Raises `InvalidRequest`."""
    if not text:
        return otherwise
    try:
        return milliseconds_of(datetime.fromisoformat(text).astimezone() if local else moment_in(text))
    except (ValueError, OverflowError, OSError) as error:
        message = f"{field} must be a time such as 2026-01-31T12:00:00Z or a day, not {text!r:.60}"
        raise InvalidRequest(message, field) from error


def milliseconds_of(moment: datetime) -> int:
    """Return an aware time in milliseconds since 1970, without the rest of the last one."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def iso_of(milliseconds: int) -> str:
    """Return milliseconds since 1970 as `timestamp_of` does."""
    return timestamp_of(_EPOCH + timedelta(milliseconds=milliseconds))
