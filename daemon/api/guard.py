"""Owns how each method is held to the policy of the agent that asks: by itself, by what is taken out of its
reply, or not at all, since it tells nothing of what is in a project.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Any, Literal

from msgspec.structs import replace

from ..context.scopes import Scope, ScopeTable
from ..core.errors import FovealError, InvalidRequest, NotFound, PermissionDenied
from ..core.parameters import Parameters
from ..privacy.permissions import Permissions
from ..privacy.policy import Policy
from ..privacy.secret_values import may_hold_secrets
from ..project.open_projects import OpenProjects
from ..rules.item_keys import ItemKey
from ..sessions.service import NOBODY, Sessions, SessionState
from .method_parts import Answer, Method
from .visible_reply import SENT_FIELDS, Sight, texts_in, visible_reply, without_texts

Way = Literal["itself", "cwd", "scope", "session", "session or cwd", "listed", "open"]
"""`itself`: the method asks for the policy and sees no more than it grants. `cwd`, `scope`, `session`: what
the request is about, of which the reply is told as far as the policy grants. `listed`: a list over projects,
each entry under its own project's policy. `open`: states, counts and settings, the same for everyone."""

WAYS: Mapping[str, Way] = {
    "Ping": "open",
    "Status": "open",
    "Subscribe": "open",
    "Shutdown": "open",
    "OpenProject": "open",
    "CloseProject": "open",
    "ListProjects": "open",
    "ReindexProject": "open",
    "NotifyFile": "open",
    "SetEmbedding": "open",
    "GetMetrics": "open",
    "OpenDashboard": "open",
    "CheckDashboard": "open",
    "RevokeDashboard": "open",
    "GetTrust": "open",
    "Trust": "open",
    "RevokeTrust": "open",
    "ApproveToolServers": "open",
    "RevokeToolServers": "open",
    "GetContext": "itself",
    "PrepareContext": "itself",
    "ListContexts": "itself",
    "GetBuiltContext": "itself",
    "ExplainPath": "itself",
    "HookEvent": "itself",
    "Query": "itself",
    "FindSymbols": "itself",
    "FindFiles": "itself",
    "GetNode": "itself",
    "ExpandFocus": "scope",
    "ContractFocus": "scope",
    "ReleaseScope": "open",
    "GetScope": "scope",
    "ListScopes": "listed",
    "GraftExperience": "cwd",
    "ListExperiences": "cwd",
    "GetExperience": "cwd",
    "UpdateExperience": "cwd",
    "DeleteExperience": "cwd",
    "RestoreExperience": "cwd",
    "PruneExperiences": "cwd",
    "ListQuarantine": "cwd",
    "GetFeedback": "cwd",
    "ClearFeedback": "cwd",
    "ListItems": "cwd",
    "PutItem": "cwd",
    "DeleteItem": "cwd",
    "SetToolMode": "cwd",
    "SearchItems": "cwd",
    "GetItemUsage": "cwd",
    "ListToolServers": "cwd",
    "CreateSession": "cwd",
    "GetSession": "session",
    "ListSessions": "listed",
    "UpdateSession": "session",
    "ResumeSession": "session",
    "EndSession": "session",
    "AddSessionItem": "session",
    "RemoveSessionItem": "session",
    "SetRelevantContext": "session",
    "GetRelevantContext": "session",
    "ListRequests": "session",
    "GetRequest": "session",
    "ExportRequests": "session or cwd",
    "ReportReply": "session",
}
"""What was decided for each method. A method that isn't here is held by what its request is about."""


class PolicyGuard:
    """Holds methods to policies. On the event loop only."""

    def __init__(
        self, permissions: Permissions, projects: OpenProjects, scopes: ScopeTable, sessions: Sessions
    ) -> None:
        self._permissions = permissions
        self._projects = projects
        self._scopes = scopes
        self._sessions = sessions

    def answer(self, name: str, method: Method, parameters: Parameters) -> Answer:
        """Answer a request as far as its agent may know the answer."""
        way = WAYS.get(name) or _way_of(parameters)
        if way in {"itself", "open"}:
            return method(parameters)
        if way == "listed":
            return self._listed(method, parameters)
        return self._guarded(way, method, parameters)

    async def _guarded(self, way: Way, method: Method, parameters: Parameters) -> dict[str, Any]:
        """Answer a request about one project. Raises `PermissionDenied` before anything is done for an agent
        that may not ask."""
        root, scope, met = await self._about(way, parameters)
        if not root:  # a session that nobody made: each request of it says which project it is of
            return await self._listed(method, parameters, met)
        policy = await self._permissions.at_root(root, parameters, scope, met)
        sight = Sight(policy, root)
        try:
            reply = await _awaited(method(parameters))
        except FovealError as error:
            raise _without_hidden(error, sight) from None
        denied = await self._permissions.denied_items(root, policy)
        sight = replace(sight, denied_items=_as_fields(denied))
        shown = await asyncio.to_thread(_shown, sight, reply)  # texts of megabytes are looked through
        if any(isinstance(value, dict) and name not in shown for name, value in reply.items()):
            raise PermissionDenied(
                f"what this is about is hidden from this agent by {' and '.join(policy.rules)}"
            )
        return shown

    async def _listed(
        self, method: Method, parameters: Parameters, met: SessionState = NOBODY
    ) -> dict[str, Any]:
        """Answer a request for a list over projects, or for one thing that says which project it is of."""
        reply = await _awaited(method(parameters))
        lists = [value for value in reply.values() if isinstance(value, list)]
        roots = {_root_of(one) for one in (reply, *(one for value in lists for one in value))} - {None}
        policies = {root: await self._permissions.of_root(root, parameters, met) for root in roots if root}
        shown = await asyncio.to_thread(_visible_list, reply, policies)  # of thousands of entries
        if shown is None:
            raise NotFound("there is nothing of that kind that this agent may see")
        return shown

    async def _about(self, way: Way, parameters: Parameters) -> tuple[str, Scope | None, SessionState]:
        """Return the root of the project that a request is about, with its scope and session if any."""
        if way == "scope":
            scope = self._scopes.get(parameters.text("scope_id"))
            met = await self._sessions.find(scope.session_id) if scope.session_id else NOBODY
            return scope.root, scope, met
        if way == "session" or (way == "session or cwd" and parameters.has("session_id")):
            met = await self._sessions.find(parameters.text("session_id", empty=False))
            return met.session.project_root if met.session else "", None, met
        return await self._projects.root_of(parameters.text("cwd")), None, NOBODY


def _way_of(parameters: Parameters) -> Way:
    """Return how a method is held of which nothing was decided."""
    ways: tuple[tuple[str, Way], ...] = (("scope_id", "scope"), ("session_id", "session"), ("cwd", "cwd"))
    return next((way for name, way in ways if parameters.has(name)), "listed")


async def _awaited(answer: Answer) -> dict[str, Any]:
    return await answer if isinstance(answer, Awaitable) else answer


def _visible_list(reply: dict[str, Any], policies: Mapping[str, Policy | None]) -> dict[str, Any] | None:
    """Return what is left of a list, each entry under the policy of its project; None for nothing."""
    masks = may_hold_secrets(texts_in(reply))
    sights = {
        root: None if policy is None else Sight(policy, root, masks=masks)
        for root, policy in policies.items()
    }

    def left(entry: Any) -> Any:
        root = _root_of(entry)
        if root is None:
            return entry
        sight = sights[root]
        return None if sight is None else _shown(sight, entry)

    shown: dict[str, Any] | None = left(reply)
    if shown is None:
        return None
    for name, value in shown.items():
        if isinstance(value, list):
            shown[name] = [one for entry in value if (one := left(entry)) is not None]
    return shown


def _root_of(entry: Any) -> str | None:
    """Return the project that an entry names, None where it names none."""
    root = entry.get("project") if isinstance(entry, dict) else None
    return root if isinstance(root, str) else None


def _shown(sight: Sight, reply: dict[str, Any]) -> dict[str, Any]:
    policy = sight.policy
    if any(name in reply for name in SENT_FIELDS) and "request_id" in reply:
        if policy.deny_paths or policy.deny_items:
            reply = without_texts(reply)
        sight = replace(sight, masks=False)  # what was sent was masked then, and comes back as it was
    elif isinstance(requests := reply.get("requests"), list):
        reply = {**reply, "requests": [_shown(sight, one) for one in requests]}
        sight = replace(sight, masks=False)
    return visible_reply(sight, reply)


def _as_fields(denied: frozenset[ItemKey]) -> frozenset[tuple[str, str, str]]:
    return frozenset((key.type, key.name, key.server_name) for key in denied)


def _without_hidden(error: FovealError, sight: Sight) -> FovealError:
    """Return an error whose message names nothing that is hidden; it is of the same kind."""
    message = str(error)
    shown = sight.of_text(message)
    if shown == message:
        return error
    shown = shown or "this can't be answered for this agent: it would name what is hidden from it"
    if isinstance(error, InvalidRequest):
        return InvalidRequest(shown, error.field)
    return type(error)(shown)
