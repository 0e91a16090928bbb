"""The pages of decisions: the timeline, one decision, the preview of a pruning, unreadable lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from aiohttp import web

from ...ipc.errors import INVALID_PARAMS, RpcError
from ..formats import beginning, escaped_bytes
from ..view import NotOpen, Page, get, href, page_number
from .sessions import named_session

ROWS: Final = 50
"""Maximum decisions on a page of the timeline; a typical one takes 1.6 KB."""

ROWS_BYTES: Final = 230_000
"""Maximum bytes of all decisions on a page; 70 KB remain for forms and the names of projects."""

ROW_BYTES: Final = 1_500
"""Bytes of a decision's tags and short fields."""

LISTED_MAX: Final = 500
"""Maximum number of experiences listed; older ones are found by words and dates."""

QUARANTINED: Final = 50
"""Maximum unreadable lines shown."""

SAID: Final[Mapping[str, int]] = {"decision": 900, "rationale": 600, "error": 600, "agent": 200, "path": 200}
"""Maximum escaped bytes of each text on the timeline; the decision's own page has all of it."""

PATHS: Final = 3
"""Maximum files of a decision on the timeline."""

OUTCOMES: Final[Mapping[str, str]] = {
    "success": "worked",
    "failure": "failed",
    "reverted": "taken back",
    "none": "not told",
}
"""The outcomes in words."""

CHANGES: Final[Mapping[str, str]] = {
    "update": "Changed",
    "delete": "Deleted",
    "restore": "Restored",
    "mark": "Marked by a later decision",
}
"""The kinds of entries of a decision's history, in words."""

FILTERS: Final = ("query", "outcome", "agent_id", "session_id", "trust", "since", "until")

DAYS_MAX: Final = 1_000_000
"""Maximum age in days, the same as the daemon's."""


class ExperiencesPage(Page):
    """The pages below `/experiences`."""

    @get("/experiences")
    async def _timeline(self, request: web.Request) -> web.Response:
        view = self._view
        project = await view.project(request)
        asked = {name: request.query.get(name, "").strip() for name in FILTERS}
        deleted = request.query.get("deleted", "") == "1"
        found: Mapping[str, Any] = {"experiences": [], "total": 0}
        rows = rows_of(project.root)
        end = min(page_number(request) * rows, LISTED_MAX)
        if project.root:
            given = {name: value or None for name, value in asked.items()}
            found = await view.call(
                "ListExperiences", cwd=project.root, limit=end, deleted=deleted or None, **given
            )
        listed = min(found["total"], LISTED_MAX)
        last = max(-(-listed // rows), 1)
        page = min(page_number(request), last)
        shown = found["experiences"][(page - 1) * rows : page * rows]
        kept = {"project": project.root, "deleted": "1" if deleted else "", **asked}
        return await view.page(
            request,
            "experiences.html",
            at="experiences",
            title="Experiences",
            project=project,
            asked=asked,
            deleted=deleted,
            days=by_day([short(experience) for experience in shown]),
            total=found["total"],
            listed=listed,
            page=page,
            last=last,
            at_page=lambda number: href("/experiences", page=number, **kept),
            outcomes=OUTCOMES,
        )

    @get("/experiences/prune")
    async def _prune(self, request: web.Request) -> web.Response:
        view = self._view
        project = await view.project(request)
        criteria = _criteria(request)
        found = None
        if criteria and project.root:
            found = await view.call("PruneExperiences", cwd=project.root, dry_run=True, **criteria)
        return await view.page(
            request,
            "experiences_prune.html",
            at="experiences",
            title="Prune",
            project=project,
            asked=criteria,
            found=found,
            outcomes=OUTCOMES,
        )

    @get("/experiences/quarantine")
    async def _quarantine(self, request: web.Request) -> web.Response:
        view = self._view
        project = await view.project(request)
        found: Mapping[str, Any] = {"lines": [], "total": 0}
        if project.root:
            found = await view.call("ListQuarantine", cwd=project.root, limit=QUARANTINED)
        return await view.page(
            request,
            "experiences_quarantine.html",
            at="experiences",
            title="Quarantine",
            project=project,
            found=found,
        )

    @get("/experiences/{id}")
    async def _one(self, request: web.Request) -> web.Response:
        view = self._view
        project = await view.project(request)
        if not project.root:
            raise NotOpen(project)
        found = await view.call("GetExperience", cwd=project.root, experience_id=request.match_info["id"])
        return await view.page(
            request,
            "experience.html",
            at="experiences",
            title=found["experience"]["decision"][:80],
            project=project,
            one=found["experience"],
            session=await named_session(view, found["experience"]["session_id"]),
            deleted=found["deleted"],
            history=found["history"],
            changes=CHANGES,
            outcomes=OUTCOMES,
        )


def rows_of(root: str) -> int:
    """Return how many decisions fit on a page; each contains the project's root in a link and a button."""
    row = ROW_BYTES + sum(SAID.values()) + (PATHS - 1) * SAID["path"] + 2 * escaped_bytes(href("", p=root))
    return max(min(ROWS, ROWS_BYTES // row), 1)


def short(experience: Mapping[str, Any]) -> dict[str, Any]:
    """Return a decision for the timeline, its texts cut to `SAID` bytes."""
    outcome, paths = experience.get("outcome") or {}, experience["files_touched"]
    return {
        "experience_id": experience["experience_id"],
        "timestamp": experience["timestamp"],
        "kind": outcome.get("kind", "none"),
        "is_low": experience["provenance"]["trust"] == "low",
        "decision": beginning(experience["decision"], SAID["decision"]),
        "rationale": beginning(experience.get("rationale") or "", SAID["rationale"]),
        "error": beginning(outcome.get("error") or "", SAID["error"]),
        "agent": beginning(experience["agent_id"], SAID["agent"]),
        "paths": [beginning(path, SAID["path"]) for path in paths[:PATHS]],
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


def _criteria(request: web.Request) -> dict[str, Any]:
    """Return the parameters of PruneExperiences, empty without a criterion."""
    criteria: dict[str, Any] = {}
    for name in ("max_age_days", "max_count"):
        text = request.query.get(name, "").strip()
        if text:
            if not text.isascii() or not text.isdigit() or len(text) > 7 or int(text) > DAYS_MAX:
                message = f"{name} must be a number from 0 to {DAYS_MAX:,}, not {text!r:.40}"
                raise RpcError(INVALID_PARAMS, message, {"field": name})
            criteria[name] = int(text)
    outcomes = request.query.getall("outcomes", [])
    if outcomes:
        criteria["outcomes"] = outcomes
    for name in ("irrelevant", "deleted"):
        if request.query.get(name) == "1":
            criteria[name] = True
    return criteria
