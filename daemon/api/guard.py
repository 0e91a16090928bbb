"""Applies the policies of agents to methods: which agents may call them, and which parts of a reply they see.

A method says at its declaration which agents may call it, and its reply's type marks what each field shows.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from ..access.records import Agent, AgentView
from ..access.service import Permissions, owner_of, require_all
from ..context.service import ScopeTable
from ..core.errors import FovealError, InvalidRequest, NotFound, PermissionDenied
from ..privacy.policy import NO_POLICY
from ..privacy.secret_values import may_hold_secrets
from ..project.service import resolved
from ..sessions.records import NOBODY, Scope, SessionState
from ..sessions.service import Sessions
from ..workspace.service import OpenProjects
from . import method as methods
from .marks import RecordOf
from .method import (
    FOR_USERS,
    AgentRequest,
    DaemonRequest,
    Declaration,
    FolderRequest,
    MethodRequest,
    ProjectRequest,
    ScopeRequest,
    SessionOrProjectRequest,
    SessionRequest,
    WireMap,
)
from .reply_filter import ReplyFilter, roots_in, texts_masked

Ask = Callable[[], methods.Answer]
"""Calls the method."""


class Subject(Struct, frozen=True):
    """What a request is about: the root of a project, "" for none, with a scope and a session if any."""

    root: str
    scope: Scope | None = None
    session: SessionState = NOBODY

    @property
    def owner(self) -> str | None:
        """The agent of the scope or the session, "" if it has no name, None without either."""
        session = self.session.session
        if self.scope is None and session is None:
            return None
        return owner_of(self.scope, session)


class PolicyGuard:
    """Enforces policies on methods. On the event loop only."""

    def __init__(
        self, permissions: Permissions, projects: OpenProjects, scopes: ScopeTable, sessions: Sessions
    ) -> None:
        self._permissions = permissions
        self._projects = projects
        self._scopes = scopes
        self._sessions = sessions

    def answer(self, declared: Declaration, request: MethodRequest, ask: Ask) -> methods.Answer:
        """Answer a request within its agent's policy; `ask` calls the method."""
        if declared.policy in {"own", "open"}:
            return ask()
        assert isinstance(request, AgentRequest)
        if declared.policy in FOR_USERS and not request.agent.is_named:
            return ask()
        if isinstance(request, DaemonRequest) and declared.policy == "daemon":
            return self._of_daemon(declared, request, ask)
        if declared.policy == "list":
            return self._listed(declared, request.agent, ask)
        return self._guarded(declared, request, ask)

    async def _guarded(self, declared: Declaration, request: AgentRequest, ask: Ask) -> WireMap:
        """Answer a request about one project. Raises `PermissionDenied` before the method runs if the
        agent may not ask."""
        subject = await self._about(request)
        root = subject.root
        if not root and declared.access == "own" and request.agent.is_named:
            await self._permissions.require_everywhere(request.agent)  # nothing says whose it is
        if not root:  # a session without a record: each of its requests names its project
            return await self._listed(declared, request.agent, ask, subject.session)
        view = await self._permissions.view(root, request.agent, subject.scope, subject.session)
        owner = subject.owner
        shows = ReplyFilter(
            view.policy,
            root,
            sees_all_of=view.sees_all_of,
            own=owner is not None and view.sees_all_of(owner),
        )
        self._check(declared, shows, request.agent, owned=owner is not None)
        try:
            reply = await _map_of(ask())
        except FovealError as error:
            raise shows.error(error) from None
        denied = await self._permissions.denied_items(root, view.policy)
        shows = replace(
            shows, denied_items=frozenset((key.type, key.name, key.server_name) for key in denied)
        )
        shown = await asyncio.to_thread(shows.reply, declared.shape, reply)  # texts may have megabytes
        if shown is None:
            raise PermissionDenied(f"what this is about is hidden from this agent by {view.policy.sources}")
        return shown

    def _check(self, declared: Declaration, shows: ReplyFilter, agent: Agent, *, owned: bool) -> None:
        """Raise `PermissionDenied` if the agent may not call the method about its subject, `owned` if that is
        an agent's. What else may be an agent's own is checked by the method."""
        if not shows.is_limited:
            return
        if declared.access == "person" and agent.is_named:
            require_all(shows.policy)
        if declared.access == "own" and owned and not shows.own:
            raise PermissionDenied(
                "this belongs to an agent that may see what is hidden from this one by"
                f" {shows.policy.sources}; it may change only what is its own"
            )

    async def _of_daemon(self, declared: Declaration, request: DaemonRequest, ask: Ask) -> WireMap:
        """Answer a named agent's request about the daemon as a whole."""
        agent = request.agent
        if declared.access == "person":
            await self._permissions.require_everywhere(agent)
        else:
            self._permissions.require_by_user(agent)
        if request.cwd is not None:
            await self._permissions.view(await self._projects.root_of(request.cwd), agent)
        return await self._listed(declared, agent, ask)

    async def _listed(
        self, declared: Declaration, agent: Agent, ask: Ask, session: SessionState = NOBODY
    ) -> WireMap:
        """Answer a request for a list over projects, or for a subject that names its project."""
        reply = await _map_of(ask())
        views = {
            root: await self._permissions.view_or_none(root, agent, session)
            for root in dict.fromkeys(roots_in(declared.shape, reply))
        }
        shown = await asyncio.to_thread(
            _visible_list, declared.shape, reply, views
        )  # of thousands of entries
        if shown is None:
            raise NotFound("there is nothing of that kind that this agent may see")
        return shown

    async def _about(self, request: AgentRequest) -> Subject:
        """Return what a request is about."""
        match request:
            case ScopeRequest(scope_id=scope_id):
                scope = self._scopes.get(scope_id)
                session = await self._sessions.find(scope.session_id) if scope.session_id else NOBODY
                return Subject(scope.root, scope, session)
            case (
                SessionRequest(session_id=str(session_id))
                | SessionOrProjectRequest(session_id=str(session_id))
            ):
                session = await self._sessions.find(session_id)
                return Subject(session.session.project_root if session.session else "", None, session)
            case FolderRequest(inside=None, path=str(path)):
                return Subject(await self._root_of_named(path, request.agent))
            case (
                ProjectRequest(cwd=str(cwd))
                | SessionOrProjectRequest(cwd=str(cwd))
                | FolderRequest(inside=str(cwd))
            ):
                return Subject(await self._projects.root_of(cwd))
            case FolderRequest():
                raise InvalidRequest("path is missing; it must be a string", "path")
        raise InvalidRequest("cwd is missing; it must be a string", "cwd")

    async def _root_of_named(self, path: str, agent: Agent) -> str:
        """Return the root that a path names.

        Raises `PermissionDenied` for a folder that isn't yet a project, in one from whose agent something is
        hidden: as a project of its own it would have other rules.
        """
        if "\0" in path:
            raise InvalidRequest("path has a NUL character in it, which no path can have", "path")
        if not os.path.isabs(path):  # the method says what is wrong with it, or finds it among the open ones
            return await asyncio.to_thread(os.path.realpath, path)
        root, _ = await asyncio.to_thread(resolved, path)
        around = await self._projects.known_root(path)
        if around != root:
            policy = (await self._permissions.view(around, agent)).policy
            if policy.is_limited:
                raise PermissionDenied(
                    f"{path:.200} lies in {around}, where {policy.sources} hides something from"
                    " this agent: ask about that project"
                )
        return root


async def _map_of(answer: methods.Answer) -> WireMap:
    return methods.wire_map(await answer if isinstance(answer, Awaitable) else answer)


def _visible_list(shape: RecordOf, reply: WireMap, views: Mapping[str, AgentView | None]) -> WireMap | None:
    """Return a list without hidden entries, each under the policy of its project; None if all are hidden."""
    masks = may_hold_secrets(dict.fromkeys(texts_masked(shape, reply)))
    filters = {
        root: None
        if view is None
        else ReplyFilter(view.policy, root, sees_all_of=view.sees_all_of, masks=masks)
        for root, view in views.items()
    }
    return ReplyFilter(NO_POLICY, "", own=True, masks=masks, projects=filters).reply(shape, reply)
