"""Owns the pages of what agents decided: the timeline, one decision, what a pruning would take, bad lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from aiohttp import web

from ...ipc.errors import INVALID_PARAMS, RpcError
from ..view import NotOpen, View

SHOWN: Final = (50, 100, 200, 300)
"""How many are on the timeline: each is about 900 bytes, and a page stays below 300 KB."""

OUTCOMES: Final[Mapping[str, str]] = {
    "success": "worked",
    "failure": "failed",
    "reverted": "taken back",
    "none": "not told",
}
"""How a decision turned out, in words."""

CHANGES: Final[Mapping[str, str]] = {
    "update": "Changed",
    "delete": "Deleted",
    "restore": "Restored",
    "mark": "Marked by a later decision",
}
"""The kinds of entries of a decision's history, in words."""

FILTERS: Final = ("query", "outcome", "agent_id", "session_id", "trust", "since", "until")

DAYS_MAX: Final = 1_000_000
"""The daemon's own limit of an age."""


class ExperiencesPage:
    """The pages below `/experiences`."""

    def __init__(self, view: View) -> None:
        self._view = view

    def add_to(self, application: web.Application) -> None:
        """Serve the pages."""
        application.router.add_get("/experiences", self._timeline)
        application.router.add_get("/experiences/prune", self._prune)
        application.router.add_get("/experiences/quarantine", self._quarantine)
        application.router.add_get("/experiences/{id}", self._one)

    async def _timeline(self, request: web.Request) -> web.Response:
        view = self._view
        project = await view.project(request)
        asked = {name: request.query.get(name, "").strip() for name in FILTERS}
        deleted = request.query.get("deleted", "") == "1"
        limit = _choice(request, "shown", SHOWN)
        found: Mapping[str, Any] = {"experiences": [], "total": 0}
        if project.root:
            given = {name: value or None for name, value in asked.items()}
            found = await view.call(
                "ListExperiences", cwd=project.root, limit=limit, deleted=deleted or None, **given
            )
        return await view.page(
            request,
            "experiences.html",
            at="experiences",
            title="Experiences",
            project=project,
            asked=asked,
            deleted=deleted,
            days=by_day(found["experiences"]),
            total=found["total"],
            limit=limit,
            more=next((one for one in SHOWN if one > limit), None),
            outcomes=OUTCOMES,
        )

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
            deleted=found["deleted"],
            history=found["history"],
            changes=CHANGES,
            outcomes=OUTCOMES,
        )

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

    async def _quarantine(self, request: web.Request) -> web.Response:
        view = self._view
        project = await view.project(request)
        found: Mapping[str, Any] = {"lines": [], "total": 0}
        if project.root:
            found = await view.call("ListQuarantine", cwd=project.root, limit=SHOWN[0])
        return await view.page(
            request,
            "experiences_quarantine.html",
            at="experiences",
            title="Quarantine",
            project=project,
            found=found,
        )


def by_day(experiences: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[Mapping[str, Any]]]]:
    """Return experiences by the day of their time, in UTC, in the order in which they come."""
    days: list[tuple[str, list[Mapping[str, Any]]]] = []
    for one in experiences:
        day = datetime.fromisoformat(one["timestamp"]).strftime("%d %B %Y").lstrip("0")
        if not days or days[-1][0] != day:
            days.append((day, []))
        days[-1][1].append(one)
    return days


def _criteria(request: web.Request) -> dict[str, Any]:
    """Return what a pruning is asked to take, as PruneExperiences has it; nothing without a criterion."""
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


def _choice(request: web.Request, name: str, values: Sequence[int]) -> int:
    text = request.query.get(name, str(values[0]))
    if text not in map(str, values):
        raise RpcError(INVALID_PARAMS, f"{name} is one of {list(values)}, not {text!r:.40}", {"field": name})
    return int(text)
