"""The list of recent contexts with their agents and scopes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from aiohttp import web

from ..drawings.sandwich import layers_bar
from ..view import PROJECT, ProjectChoice, View, href, page_number

CONTEXTS: Final = 50
"""Contexts on one page."""

ASKED: Final = 100
"""Number of contexts that the daemon gives in one reply."""

KEPT_MAX: Final = 1_000
"""The daemon keeps fewer: after so many no more are asked for."""

SCOPES: Final = 25
"""Scopes on one page."""


class ContextsPage:
    """The page at `/contexts`."""

    def __init__(self, view: View) -> None:
        self._view = view

    def add_to(self, application: web.Application) -> None:
        """Serve the page."""
        application.router.add_get("/contexts", self._serve)

    async def _serve(self, request: web.Request) -> web.Response:
        view, query = self._view, request.query
        root = query.get(PROJECT) or None
        project = ProjectChoice.at(await view.call("ListProjects"), root or "")
        contexts, made = await asyncio.gather(
            self._given(root),
            view.call("ListScopes", cwd=root),
        )
        agent, session = query.get("agent", ""), query.get("session", "")
        chosen = [
            one for one in contexts if _is_of(one, "agent_name", agent) and _is_of(one, "session_id", session)
        ]
        shown, more = after(chosen, query.get("before", ""), CONTEXTS)
        scopes = [
            one
            for one in made["scopes"]
            if _is_of(one, "agent_name", agent) and _is_of(one, "session_id", session)
        ]
        last = max(-(-len(scopes) // SCOPES), 1)
        page = min(page_number(request, "scopes"), last)
        return await view.page(
            request,
            "contexts.html",
            at="contexts",
            title="Contexts",
            project=project,
            root=root or "",
            contexts=shown,
            total=len(chosen),
            more=_address(query, before=more) if more else "",
            first=_address(query) if "before" in query else "",
            agents=names(contexts, "agent_name"),
            sessions=names(contexts, "session_id"),
            agent=agent,
            session=session,
            scopes=scopes[(page - 1) * SCOPES : page * SCOPES],
            scope_count=len(scopes),
            latest=latest_of(contexts),
            page=page,
            last=last,
            scopes_address=lambda number: f"{_address(query, scopes=number)}#scopes",
            layers_bar=layers_bar,
        )

    async def _given(self, root: str | None) -> list[Mapping[str, Any]]:
        """Return all contexts that the daemon keeps, the latest first: by agents it can't choose itself."""
        found: list[Mapping[str, Any]] = []
        while len(found) < KEPT_MAX:
            before = found[-1]["context_id"] if found else None
            reply = await self._view.call("ListContexts", cwd=root, limit=ASKED, before=before)
            found += reply["contexts"]
            if len(reply["contexts"]) < ASKED:
                break
        return found


def after(
    contexts: Sequence[Mapping[str, Any]], before: str, count: int
) -> tuple[Sequence[Mapping[str, Any]], str]:
    """Return the contexts that were given before the one of an id, the latest first, and the id to go on
    with, "" at the end. Without an id, or with one that isn't kept any more, it begins with the latest."""
    start = next((at + 1 for at, one in enumerate(contexts) if one["context_id"] == before), 0)
    shown = contexts[start : start + count]
    return shown, shown[-1]["context_id"] if shown and start + count < len(contexts) else ""


def names(contexts: Iterable[Mapping[str, Any]], field: str) -> list[str]:
    """Return what contexts have in a field, each once, the latest first."""
    return [name for name in dict.fromkeys(one[field] for one in contexts) if name]


def latest_of(contexts: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the context that each scope was given last, by the scope's id."""
    found: dict[str, Mapping[str, Any]] = {}
    for one in contexts:
        found.setdefault(one["scope_id"], one)
    return found


def _is_of(one: Mapping[str, Any], field: str, wanted: str) -> bool:
    return not wanted or one.get(field, "") == wanted


def _address(query: Mapping[str, str], **changed: Any) -> str:
    kept = {name: query.get(name) for name in (PROJECT, "agent", "session")}
    return href("/contexts", **{**kept, **changed})
