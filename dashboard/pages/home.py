"""The first page: what is wrong, the latest sessions, tokens today, connected hosts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from aiohttp import web

from ..formats import count
from ..hosts import ConnectedHost, connected_hosts
from ..view import Page, ProjectChoice, get, href
from .project import STATES, progress
from .sessions import CONTEXTS, session_row, usage_by, used_share

SESSIONS: Final = 10
"""Maximum sessions on the page, the latest ones."""

WITHOUT: Final = 3
"""Maximum turns without a session on the page, the latest ones."""

PROJECTS: Final = 8
"""Maximum open projects named, and maximum closed ones."""

LATELY_S: Final = 3_600
"""Seconds in which a context that wasn't whole is a fault; one while a project is first read is soon past."""


class HomePage(Page):
    """The page at `/`."""

    @get("/")
    async def _serve(self, request: web.Request) -> web.Response:
        view = self._view
        midnight = datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
        since = midnight.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        status, known, listed, given, today, usage, heard, metrics = await asyncio.gather(
            view.call("Status"),
            view.call("ListProjects"),
            view.call("ListSessions"),
            view.call("ListContexts", limit=CONTEXTS),
            view.call("GetUsage", by="day", since=since),
            usage_by(view, "session"),
            view.call("ListHosts"),
            view.call("GetMetrics"),
        )
        hosts = await asyncio.to_thread(connected_hosts, heard["hosts"])
        contexts = given["contexts"]
        spent = today["total"]
        sessions = latest_sessions(listed["sessions"], contexts, usage)
        projects = sorted(status["projects"], key=lambda one: one["state"] == "ready")
        return await view.page(
            request,
            "home.html",
            title="Home",
            daemon=status,
            project=ProjectChoice("", known),
            picked="/project",
            projects=projects[:PROJECTS],
            closed=known["closed"][:PROJECTS],
            closed_total=len(known["closed"]),
            setup=first_steps(known, hosts, sessions, contexts),
            wrong=[
                *faults_of(status, hosts, listed["warnings"]),
                *answer_faults(contexts, metrics["contexts"]),
                *page_faults(view.failed_pages()),
            ],
            spent={**spent, "used": used_share(spent)},
            sessions=sessions,
            without=[one for one in contexts if not one["session_id"]][:WITHOUT],
            hosts=hosts,
            running=running,
            states=STATES,
        )


def first_steps(
    known: Mapping[str, Any],
    hosts: Sequence[ConnectedHost],
    sessions: Sequence[Mapping[str, Any]],
    contexts: Sequence[Mapping[str, Any]],
) -> tuple[bool, bool] | None:
    """Return which of the first steps are done until there is a turn: a project that is known and a host that
    is connected, and an agent that was heard."""
    if contexts:
        return None
    is_known = bool(known["projects"] or known["closed"])
    return is_known and bool(hosts), bool(sessions) or any(host.last_event for host in hosts)


def latest_sessions(
    listed: Sequence[Mapping[str, Any]],
    contexts: Sequence[Mapping[str, Any]],
    usage: Mapping[str, Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """Return the sessions with the latest turns, then others, each with its latest turn or None.

    One that was named and never created has turns but no page: its `link` is empty.
    """
    turns: dict[str, list[Mapping[str, Any]]] = {}
    for one in contexts:
        if one["session_id"]:
            turns.setdefault(one["session_id"], []).append(one)
    known = {one["session_id"] for one in listed}
    rows = [
        session_row(one, usage)
        for at, one in enumerate(listed)
        if at < SESSIONS or one["session_id"] in turns
    ]
    rows += [_unknown(found[0], usage) for name, found in turns.items() if name not in known]
    for row in rows:
        found = turns.get(row["session_id"], [])
        row["latest"] = next((one for one in found if one["prompt"]), None)
    return sorted(rows, key=lambda row: str(row["last_heard"]), reverse=True)[:SESSIONS]


def _unknown(given: Mapping[str, Any], usage: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the row of a session that has only contexts."""
    absent = dict.fromkeys(("name", "current_intent", "ended", "last_observed", "last_idle"), "")
    fields = {name: given[name] for name in ("session_id", "project", "agent_name")}
    return {**session_row({**absent, **fields, "created": given["at"]}, usage), "link": ""}


def faults_of(
    status: Mapping[str, Any], hosts: Sequence[ConnectedHost], warnings: Sequence[str]
) -> list[dict[str, str]]:
    """Return what is wrong: with what, the text, how to mend it, and the page that says more."""
    faults = [_fault("Daemon", text, "/diagnostics") for text in status["degraded"]]
    for project in status["projects"]:
        name = project["root"].rstrip("/").rpartition("/")[2]
        link = href("/project", project=project["root"])
        faults += [
            _fault(name, text, link)
            for text in project["degraded"]
            if project["state"] == "degraded" or not running(project)
        ]
    for host in hosts:
        faults += [_fault(host.title, problem.text, fix=problem.fix) for problem in host.problems]
    return faults + [_fault("Sessions", text, "/sessions") for text in warnings]


def answer_faults(contexts: Sequence[Mapping[str, Any]], totals: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return what was wrong with answers lately, in a line: contexts that weren't whole or came too late."""
    since = (datetime.now(UTC) - timedelta(seconds=LATELY_S)).isoformat()
    lately = [one for one in contexts if str(one["at"]) >= since]
    partial = sum(bool(one["partial"] or one["degraded"]) for one in lately)
    said = []
    if partial:
        of = f"the latest {CONTEXTS:,} answers" if len(lately) >= CONTEXTS else count(len(lately), "answer")
        said.append(f"{partial:,} of {of} in the last hour {'was' if partial == 1 else 'were'} partial")
    if late := totals.get("late_hour", 0):
        said.append(f"{count(late, 'prompt')} without a context in time in the last hour")
    return [_fault("Answers", ", ".join(said), "/diagnostics#answers")] if said else []


def page_faults(failed: Sequence[str]) -> list[dict[str, str]]:
    """Return in a line which pages failed lately; `failed` are their paths, the latest last."""
    if not failed:
        return []
    text = f"{count(len(failed), 'page')} of this dashboard failed in the last hour, the last {failed[-1]}"
    return [_fault("Pages", text, failed[-1], "foveal logs")]


def _fault(what: str, text: str, link: str = "", fix: str = "") -> dict[str, str]:
    return {"what": what, "text": text, "link": link, "fix": fix}


def running(project: Mapping[str, Any]) -> list[tuple[str, int, int, str]]:
    """Return a project's work that goes on: what, how much is done, of how much, and a remark."""
    return [row for row in progress(project) if row[3] not in ("", "off", "failed")]
