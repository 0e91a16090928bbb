"""Owns what is asked of the process that mines a transcript, and what it answers, both as JSON; and how
what it found becomes drafts of experiences."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from ..memory.experience import Draft, Provenance
from .cursor import Cursor
from .extraction import Finding


class Mined(Struct, frozen=True):
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


def drafts_of(mined: Mined, path: str, root: str, agent_id: str, session_id: str) -> list[Draft]:
    """Return a draft for each finding, in their order.

    `path` is the transcript's, `root` the project's. A given agent or session counts for everything but what
    a subagent said inside its parent's transcript. An agent that has no id is known by its host's name.
    """
    return [_draft_of(finding, mined, path, root, agent_id, session_id) for finding in mined.findings]


def _draft_of(finding: Finding, mined: Mined, path: str, root: str, agent_id: str, session_id: str) -> Draft:
    own = finding.agent_id in {"", mined.owner}
    return Draft(
        finding.decision,
        (agent_id if own else "") or finding.agent_id or mined.source,
        session_id or finding.session_id,
        finding.rationale,
        tuple(_placed(file, mined.cwd, root) for file in finding.files),
        finding.outcome,
        finding.error,
        finding.at if _is_time(finding.at) else "",
        provenance=Provenance(mined.source, f"{path}:{finding.line}", finding.trust),
    )


def _placed(file: str, cwd: str, root: str) -> str:
    """Return a path as the project knows it: agents work in folders of a project, and behind symlinks to it.

    A relative path of a conversation that began elsewhere, such as in a container, stays as it is.
    """
    if not posixpath.isabs(cwd):
        return file
    base = os.path.realpath(cwd)
    if base != root and not base.startswith(posixpath.join(root, "")):
        return file
    if not posixpath.isabs(file):
        return posixpath.join(base, file)
    inside = posixpath.relpath(posixpath.normpath(file), posixpath.normpath(cwd))
    return file if inside.startswith("../") or inside == ".." else posixpath.join(base, inside)


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
