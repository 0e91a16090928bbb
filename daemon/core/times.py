"""Times as records and the wire have them: ISO 8601 in UTC, or milliseconds since 1970."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def timestamp_of(moment: datetime) -> str:
    """Return an aware time as ISO 8601 UTC with milliseconds and `Z`, which sorts as text."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def moment_in(text: str) -> datetime:
    """Return the time or day in ISO 8601, UTC without a zone. Raises `ValueError` or `OverflowError`."""
    moment = datetime.fromisoformat(text)
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def milliseconds_of(moment: datetime) -> int:
    """Return an aware time in milliseconds since 1970, without the rest of the last one."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def iso_of(milliseconds: int) -> str:
    """Return milliseconds since 1970 as `timestamp_of` does."""
    return timestamp_of(_EPOCH + timedelta(milliseconds=milliseconds))
