"""Owns the table of bodies in the ledger: a request's record, and what was sent, both known by their hash."""

from __future__ import annotations

import json
import zlib

from ..core.lazy_dataclass import dataclass
from ..core.storage import Database
from . import piece_table
from .manifest import DamagedManifest, Manifest, manifest_bytes, manifest_in, manifest_of, rebuilt
from .messages import LAYOUT, Sent
from .pieces import digest_of
from .request_record import RequestRecord, record_in

SCHEMA = """
CREATE TABLE bodies (
    number INTEGER PRIMARY KEY, record BLOB NOT NULL, record_digest BLOB NOT NULL,
    manifest BLOB, manifest_digest BLOB);
"""

MANIFEST_DAMAGED = "What was sent is lost: the list of its pieces is damaged."

_NAMED = 5
"""So many damaged parts are named."""


@dataclass(frozen=True, slots=True)
class Body:
    """A row: the record, and the manifest of what was sent. None for what is damaged or not there."""

    record: RequestRecord | None
    manifest: Manifest | None


def insert(database: Database, number: int, record: bytes, parts: Sent, texts: list[bytes]) -> None:
    """Write a body: the record as JSON, and the parts, whose texts are given too. Needs a transaction."""
    manifest = manifest_bytes(manifest_of(parts, piece_table.keep(database, texts)))
    database.execute(
        "INSERT INTO bodies VALUES (?, ?, ?, ?, ?)", (number, *_packed(record), *_packed(manifest))
    )


def read(database: Database, number: int) -> Body:
    """Return the body of a request as far as it is whole."""
    row = database.execute(
        "SELECT record, record_digest, manifest, manifest_digest FROM bodies WHERE number = ?", (number,)
    ).fetchone()
    return Body(None, None) if row is None else Body(_record(*row[:2]), _manifest(*row[2:]))


def sent(database: Database, manifest: Manifest | None) -> tuple[Sent | None, str]:
    """Return what was sent, and the problem if it isn't exactly that."""
    if manifest is None:
        return None, MANIFEST_DAMAGED
    parts, missing = rebuilt(manifest, piece_table.read(database, manifest.pieces))
    if missing:
        more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        return parts, f"Not exact: damaged and left out: {', '.join(missing[:_NAMED])}{more}."
    if manifest.layout != LAYOUT:
        return parts, "The parts are exact, but another version of foveal made messages of them in its way."
    return parts, ""


def remove_sent(database: Database, number: int) -> None:
    """Forget what was sent for a request. Needs a transaction."""
    manifest = read(database, number).manifest
    if manifest is not None:
        # Of a damaged one the pieces stay: nothing else says which they are.
        piece_table.release(database, manifest.pieces)
    database.execute("UPDATE bodies SET manifest = NULL, manifest_digest = NULL WHERE number = ?", (number,))


def remove(database: Database, number: int) -> None:
    """Forget a body. Needs a transaction."""
    remove_sent(database, number)
    database.execute("DELETE FROM bodies WHERE number = ?", (number,))


def _record(packed: object, digest: object) -> RequestRecord | None:
    data = _unpacked(packed, digest)
    try:
        return None if data is None else record_in(json.loads(data))
    except Exception:  # noqa: BLE001 - as below
        return None  # its hash is right, so another version wrote it


def _manifest(packed: object, digest: object) -> Manifest | None:
    data = _unpacked(packed, digest)
    try:
        return None if data is None else manifest_in(data)
    except DamagedManifest:
        return None


def _packed(data: bytes) -> tuple[bytes, bytes]:
    return zlib.compress(data), digest_of(data)


def _unpacked(packed: object, digest: object) -> bytes | None:
    """Return what was packed, None if it is damaged."""
    try:
        data = zlib.decompress(packed) if isinstance(packed, bytes) else None
    except zlib.error:
        return None
    return data if data is not None and digest_of(data) == digest else None
