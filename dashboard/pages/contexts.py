"""The list of recent contexts with their agents and scopes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from aiohttp import web

from ..drawings.sandwich import layers_bar
from ..view import PROJECT, ProjectChoice, View, href, page_number

CONTEXTS: Final = 50
"""Maximum contexts on one page."""

ASKED: Final = 100
"""Maximum contexts in one reply of the daemon."""

KEPT_MAX: Final = 1_000
"""Maximum contexts to ask for; the daemon keeps fewer."""

SCOPES: Final = 25
"""Maximum scopes on one page."""


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
            context
            for context in contexts
            if _is_of(context, "agent_name", agent) and _is_of(context, "session_id", session)
        ]
        shown, more = after(chosen, query.get("before", ""), CONTEXTS)
        scopes = [
            scope
            for scope in made["scopes"]
            if _is_of(scope, "agent_name", agent) and _is_of(scope, "session_id", session)
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
        """Return all contexts that the daemon keeps, the latest first; it can't filter by agent."""
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
    """Return the contexts older than the one with this id, the latest first, and the id of the next page,
    "" at the end. Without an id, or with an unknown one, begin with the latest."""
    start = next((at + 1 for at, context in enumerate(contexts) if context["context_id"] == before), 0)
    shown = contexts[start : start + count]
    return shown, shown[-1]["context_id"] if shown and start + count < len(contexts) else ""


def names(contexts: Iterable[Mapping[str, Any]], field: str) -> list[str]:
    """Return the distinct values of a field, the latest first."""
    return [name for name in dict.fromkeys(context[field] for context in contexts) if name]


def latest_of(contexts: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the latest context of each scope, by the scope's id."""
    found: dict[str, Mapping[str, Any]] = {}
    for context in contexts:
        found.setdefault(context["scope_id"], context)
    return found


def _is_of(context: Mapping[str, Any], field: str, wanted: str) -> bool:
    return not wanted or context.get(field, "") == wanted


def _address(query: Mapping[str, str], **changed: Any) -> str:
    kept = {name: query.get(name) for name in (PROJECT, "agent", "session")}
    return href("/contexts", **{**kept, **changed})
