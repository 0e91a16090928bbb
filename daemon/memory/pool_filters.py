"""Owns the filters by which experiences are listed: time, agent, session, outcome, words; knows no pool."""

from __future__ import annotations

from msgspec import Struct

from ..core.errors import InvalidRequest
from .experience import Experience
from .fields import BadField, normal_timestamp
from .relevance import contains


class Filters(Struct, frozen=True):
    """What an experience must have to be listed; None doesn't matter.

    `since` is inclusive, `until` exclusive, both as `time_of` returns them. Each word of `query` must occur,
    whatever its case, in the decision, the rationale or the files.
    """

    agent_id: str | None = None
    session_id: str | None = None
    outcome: str | None = None
    trust: str | None = None
    since: str | None = None
    until: str | None = None
    query: str = ""

    def match(self, experience: Experience) -> bool:
        """Tell whether an experience is to be listed."""
        return (
            (self.agent_id is None or experience.agent_id == self.agent_id)
            and (self.session_id is None or experience.session_id == self.session_id)
            and (self.outcome is None or experience.outcome == self.outcome)
            and (self.trust is None or experience.provenance.trust == self.trust)
            and (self.since is None or experience.timestamp >= self.since)
            and (self.until is None or experience.timestamp < self.until)
            and (not self.query or contains(experience, self.query.casefold().split()))
        )


def time_of(text: str | None, name: str) -> str | None:
    """Return a time in ISO 8601 as an experience has it, None for none or an empty one.

    Raises `InvalidRequest` with the field's name.
    """
    try:
        return normal_timestamp(text) if text else None
    except BadField as error:
        raise InvalidRequest(f"{name} {error}.", name) from error
