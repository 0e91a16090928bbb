"""Owns what is asked of the process that mines a transcript, and what it answers; both cross as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.lazy_dataclass import dataclass
from .cursor import Cursor
from .extraction import Finding


@dataclass(frozen=True, slots=True)
class Mined:
    """What one reading found. `finished` says that the agent had the last word in what was read.

    `skipped` are pairs of a line and the reason why it could not be read. They and `findings` may be cut:
    `skipped_lines` and `findings_left_out` count what there was besides.
    """

    source: str
    owner: str
    cwd: str
    cursor: Cursor
    findings: tuple[Finding, ...]
    findings_left_out: int
    skipped: tuple[tuple[int, str], ...]
    skipped_lines: int
    unknown_records: int
    finished: bool


def mined_in(fields: Mapping[str, Any]) -> Mined:
    """Read an answer: the fields of `Mined`, as `dataclasses.asdict` gives them."""
    findings = tuple(
        Finding(**{**one, "files": tuple(one["files"]), "evidence": tuple(one["evidence"])})
        for one in fields["findings"]
    )
    skipped = tuple((line, reason) for line, reason in fields["skipped"])
    return Mined(**{**fields, "cursor": Cursor(**fields["cursor"]), "findings": findings, "skipped": skipped})
