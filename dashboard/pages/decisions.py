"""Decisions of agents: their list on the Knowledge page, one decision, and the preview of a pruning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from aiohttp import web

from ...ipc.errors import INVALID_PARAMS, RpcError
from ..formats import count
from ..view import NotOpen, Page, View, get, href, page_number, rows_on
from .sessions import named_session

ROWS: Final = 40
"""Maximum decisions on a page of the list."""

LISTED_MAX: Final = 500
"""Maximum decisions on all pages of the list; words and dates find older ones."""

EXPORTED_MAX: Final = 1_000
"""Maximum decisions in one reply of ListExperiences."""

SAID: Final = 600
"""Maximum characters of each text in the list; the decision's own page has all of it."""

PATHS: Final = 3
"""Maximum files of a decision in the list."""

OUTCOMES: Final[Mapping[str, str]] = {
    "success": "worked",
    "failure": "failed",
    "reverted": "reverted",
    "none": "unknown",
}
"""The outcomes in words."""

CHANGES: Final[Mapping[str, str]] = {
    "update": "Changed",
    "delete": "Deleted",
    "restore": "Restored",
    "mark": "Marked by a later decision",
}
"""The kinds of entries of a decision's history, in words."""

FILTERS: Final[Mapping[str, str]] = {
    "q": "query",
    "outcome": "outcome",
    "agent": "agent_id",
    "session_id": "session_id",
    "trust": "trust",
    "since": "since",
    "until": "until",
}
"""The filters in the address, with their parameters of ListExperiences."""

DECISION_COLUMNS: Final = (
    *("timestamp", "decision", "why", "outcome", "error", "files", "agent", "session_id", "trust", "commit"),
    "id",
)


class DecisionsPage(Page):
    """The pages below `/knowledge/decisions`."""

    @get("/knowledge/decisions/prune")
    async def _prune(self, request: web.Request) -> web.Response:
        view = self._view
        project = await view.project(request)
        criteria = _criteria(request)
        found = None
        if criteria and project.root:
            found = await view.call("PruneExperiences", cwd=project.root, dry_run=True, **criteria)
        return await view.page(
            request,
            "prune.html",
            title="Prune decisions",
            project=project,
            asked=criteria,
            found=found,
            outcomes=OUTCOMES,
            reasons_of=lambda one: prune_reasons(one, criteria, datetime.now(UTC)),
        )

    @get("/knowledge/decisions/{id}")
    async def _one(self, request: web.Request) -> web.Response:
        view = self._view
        project = await view.project(request)
        if not project.root:
            raise NotOpen(project)
        found = await view.call("GetExperience", cwd=project.root, experience_id=request.match_info["id"])
        return await view.page(
            request,
            "decision.html",
            title=found["experience"]["decision"][:80],
            project=project,
            one=found["experience"],
            session=await named_session(view, found["experience"]["session_id"]),
            deleted=found["deleted"],
            history=found["history"],
            changes=CHANGES,
            outcomes=OUTCOMES,
        )


async def listed_decisions(view: View, request: web.Request, root: str) -> dict[str, Any]:
    """Return what the template shows of a page of the list."""
    asked, deleted = _asked(request)
    end = min(page_number(request) * ROWS, LISTED_MAX)
    found = await view.call("ListExperiences", cwd=root, limit=end, **_listing(asked, deleted))
    listed = min(found["total"], LISTED_MAX)
    _, page, last = rows_on(page_number(request), range(listed), ROWS)
    kept = {"project": root, "kind": "decisions", "deleted": "1" if deleted else "", **asked}
    return {
        "asked": asked,
        "deleted": deleted,
        "filtered": deleted or any(asked.values()),
        "narrowed": deleted or any(value for name, value in asked.items() if name not in ("q", "outcome")),
        "days": by_day([short(one) for one in found["experiences"][(page - 1) * ROWS : page * ROWS]]),
        "total": found["total"],
        "listed": listed,
        "page": page,
        "last": last,
        "at_page": lambda number: href("/knowledge", page=number, **kept),
    }


async def all_decisions(view: View, request: web.Request, root: str) -> list[Mapping[str, Any]]:
    """Return all decisions that the address asks for once, the newest first, page by page."""
    asked, deleted = _asked(request)
    wanted = {"cwd": root, "limit": EXPORTED_MAX, **_listing(asked, deleted)}
    found: dict[str, Mapping[str, Any]] = {}
    page: dict[str, Any] = {"next": None}
    while "next" in page:
        page = await view.call("ListExperiences", **wanted, before=page["next"])
        found.update((one["experience_id"], one) for one in page["experiences"])
    return list(found.values())


def decision_row(experience: Mapping[str, Any]) -> dict[str, Any]:
    """Return a decision as a row of an export."""
    outcome = experience.get("outcome") or {}
    return {
        **experience,
        "id": experience["experience_id"],
        "why": experience["rationale"],
        "outcome": OUTCOMES.get(outcome.get("kind", "none"), ""),
        "error": outcome.get("error"),
        "files": experience["files_touched"],
        "agent": experience["agent_id"],
        "trust": experience["provenance"]["trust"],
    }


def _asked(request: web.Request) -> tuple[dict[str, str], bool]:
    """Return the filters of an address, and whether deleted decisions are wanted."""
    asked = {name: request.query.get(name, "").strip() for name in FILTERS}
    return asked, request.query.get("deleted", "") == "1"


def _listing(asked: Mapping[str, str], deleted: bool) -> dict[str, Any]:
    given = {FILTERS[name]: value or None for name, value in asked.items()}
    return {**given, "deleted": deleted or None}


def short(experience: Mapping[str, Any]) -> dict[str, Any]:
    """Return a decision for the list, with the beginnings of its texts."""
    outcome, paths = experience.get("outcome") or {}, experience["files_touched"]
    return {
        **{name: experience[name][:SAID] for name in ("experience_id", "timestamp", "decision", "rationale")},
        "kind": outcome.get("kind", "none"),
        "is_low": experience["provenance"]["trust"] == "low",
        "error": outcome.get("error", "")[:SAID],
        "agent": experience["agent_id"][:SAID],
        "paths": paths[:PATHS],
        "more_paths": max(len(paths) - PATHS, 0),
    }


def by_day(experiences: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[Mapping[str, Any]]]]:
    """Return experiences by the day of their time, in UTC, in the order in which they come."""
    days: list[tuple[str, list[Mapping[str, Any]]]] = []
    for experience in experiences:
        day = datetime.fromisoformat(experience["timestamp"]).strftime("%d %B %Y").lstrip("0")
        if not days or days[-1][0] != day:
            days.append((day, []))
        days[-1][1].append(experience)
    return days


def prune_reasons(experience: Mapping[str, Any], criteria: Mapping[str, Any], now: datetime) -> list[str]:
    """Return why a decision is among those that PruneExperiences chose by these criteria, in words.

    It is over one of the limits at least; the outcome shows by itself.
    """
    days, most = criteria.get("max_age_days"), criteria.get("max_count")
    reasons = []
    if days is not None and datetime.fromisoformat(experience["timestamp"]) < now - timedelta(days):
        reasons.append(f"older than {count(days, 'day')}")
    elif most is not None:
        reasons.append(f"not among the newest {most:,}")
    if criteria.get("irrelevant"):
        reasons.append("all its files are gone")
    if criteria.get("deleted"):
        reasons.append("it was deleted")
    return reasons


def _criteria(request: web.Request) -> dict[str, Any]:
    """Return the parameters of PruneExperiences, empty without a criterion."""
    criteria: dict[str, Any] = {}
    for name in ("max_age_days", "max_count"):
        text = request.query.get(name, "").strip()
        if text:
            if not text.isdecimal() or len(text) > 7:
                raise RpcError(INVALID_PARAMS, f"{name} must be a number from 0, not {text!r:.40}")
            criteria[name] = int(text)
    outcomes = request.query.getall("outcomes", [])
    if outcomes:
        criteria["outcomes"] = outcomes
    for name in ("irrelevant", "deleted"):
        if request.query.get(name) == "1":
            criteria[name] = True
    return criteria
