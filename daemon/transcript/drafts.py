"""Owns how a finding becomes a draft of an experience: whose it is, where it stands, which files it names."""

from __future__ import annotations

import os
import posixpath
from datetime import datetime

from ..experience.draft import Draft
from ..experience.experience import Provenance
from .extraction import Finding
from .mined import Mined


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
