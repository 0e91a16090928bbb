"""The method that says what contexts cost, and which of the shown places were of use."""

from __future__ import annotations

import os

from msgspec import UNSET, Struct, UnsetType

from ...hooks.hosts.registry import host_named
from ..access.permissions import require_all
from ..engine.engine import EngineMethods
from ..sessions.usage_report import Grouping, UsageCounts
from .marks import Count, Plain, Text
from .method import AgentRequest, method, reply_of


class UsageRequest(AgentRequest, frozen=True, kw_only=True):
    by: Grouping
    cwd: str | None = None
    since: str = ""
    until: str = ""


class UsageRow(Struct, frozen=True, kw_only=True):
    """The contexts of a group: their number, their size, and the places that they showed."""

    key: Text[str]
    name: Text[str | UnsetType] = UNSET
    project: Text[str | UnsetType] = UNSET
    turns: Count[int]
    tokens: Count[int]
    bytes: Count[int]
    tokens_before: Count[int]
    places_shown: Count[int]
    places_used: Count[int]
    sessions: Count[int]


class UnusedPlace(Struct, frozen=True):
    """A file that was shown in `shown` contexts and never used."""

    path: Text[str]
    project: Text[str]
    shown: Count[int]


class SavedCharacters(Struct, frozen=True):
    """An estimate, and how it was made."""

    characters: Count[int]
    basis: Plain[str]


class UsageReply(Struct, frozen=True):
    rows: list[UsageRow]
    total: UsageRow
    never_used: list[UnusedPlace]
    saved: SavedCharacters


class UsageMethods(EngineMethods):
    """The methods about the cost and use of contexts."""

    @method("GetUsage", policy="own", access="person")
    async def usage(self, request: UsageRequest) -> UsageReply:
        """Return the cost and use of the contexts of a project or of all, in groups; below.
        `since` and `until` are times or days in ISO 8601."""
        root = None if request.cwd is None else await self._engine.projects.root_of(request.cwd)
        if request.agent.is_named:
            # The counts are of what was shown to all agents, so only who may see everything learns them.
            permissions = self._engine.permissions
            if root is None:
                await permissions.require_everywhere(request.agent)
            else:
                require_all((await permissions.view(root, request.agent)).policy)
        report = await self._engine.deliveries.usage(request.by, root, request.since, request.until)
        names: dict[str, str] = {}
        if request.by == "session":
            sessions = (await self._engine.sessions.list(root)).sessions
            names = {session.id: session.name for session in sessions}
        return UsageReply(
            [_row(row, names.get(row.key) or _name_of(request.by, row)) for row in report.rows],
            _row(report.total, ""),
            [reply_of(UnusedPlace, place) for place in report.never_used],
            SavedCharacters(report.saved_characters, report.saved_basis),
        )


def _name_of(by: Grouping, row: UsageCounts) -> str:
    """Return the name of a group for people, "" for none."""
    if by == "project":
        return os.path.basename(row.key)
    if by == "host":
        host = host_named(row.key)
        return host.title if host is not None else ""
    return row.name


def _row(row: UsageCounts, name: str) -> UsageRow:
    return reply_of(UsageRow, row, name=name or UNSET)
