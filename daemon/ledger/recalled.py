"""Owns the recalled request: its record, what was sent with it, and what of that is gone or damaged."""

from __future__ import annotations

from ..core.lazy_dataclass import dataclass
from ..core.storage import Database
from ..item.item_keys import ItemKey
from . import body_table
from .messages import Sent
from .request_record import RequestRecord
from .request_table import RequestRow, RequestSummary

ENTRY_CHARACTERS = 200
"""About what an item, a slice or a part that was dropped takes in an answer beside its names and paths."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """A request as it was. `problem` is empty if `sent` is exactly what was sent; else it says what is gone
    or damaged: all of it (`sent` is None), or parts, which are empty. `referred` names the items that a reply
    referred to and is None while none was reported."""

    record: RequestRecord
    sent: Sent | None
    problem: str = ""
    referred: tuple[ItemKey, ...] | None = None

    @property
    def characters(self) -> int:
        """About how many characters an answer with it takes."""
        record = self.record
        lists = record.items, record.considered, record.slices, record.dropped
        entries = ENTRY_CHARACTERS * (1 + sum(map(len, lists)))
        keys = (*(one.key for one in record.items), *(one.key for one in record.considered))
        entries += sum(len(key.name) + len(key.server_name) for key in keys)
        entries += sum(len(one.id) + len(one.path) + len(one.source) for one in record.slices)
        entries += sum(len(one.id) for one in record.dropped) + sum(map(len, record.degraded))
        return entries + (0 if self.sent is None else self.sent.framed_characters)


def recalled(database: Database, row: RequestRow, *, content: bool = True) -> Recalled:
    """Return the request in a row. Without `content`, what was sent isn't read, and is None."""
    body = body_table.read(database, row.number)
    record, problem = body.record, ""
    if record is None:
        record, problem = _bare(row.summary), "The record is damaged: its items and slices are lost."
    referred = None
    if row.referred is not None:
        referred = tuple(record.items[one].key for one in row.referred if one < len(record.items))
    if row.summary.pruned:
        parts, lost = None, f"What was sent is not kept any more: {row.summary.pruned}."
    elif content:
        parts, lost = body_table.sent(database, body.manifest)
    else:
        parts, lost = None, body_table.MANIFEST_DAMAGED if body.manifest is None else ""
    masked = "" if row.summary.pruned else masked_problem(record)
    return Recalled(record, parts, " ".join(filter(None, (problem, lost, masked))), referred)


def masked_problem(record: RequestRecord) -> str:
    """Return why what is kept isn't to the byte what was sent, where secrets were masked in it."""
    if not record.masked:
        return ""
    one = record.masked == 1
    values = (
        "A value that looks like a secret is"
        if one
        else f"{record.masked:,} values that look like secrets are"
    )
    return f"{values} kept as [masked]; the agent was answered with its own text as it gave it."


def _bare(summary: RequestSummary) -> RequestRecord:
    """Return the record as far as a list knows it."""
    return RequestRecord(
        summary.id,
        summary.session_id,
        summary.project_root,
        summary.at,
        summary.message_hash,
        tokens=summary.tokens,
        bytes=summary.bytes,
        elapsed_ms=summary.elapsed_ms,
    )
