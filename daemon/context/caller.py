"""The caller of a request for a context: its agent, session and policy, and the job that its request is."""

from __future__ import annotations

import json

from msgspec import Struct, field
from msgspec.structs import replace

from ..core.errors import InvalidRequest
from ..privacy.permissions import Agent, policy_for
from ..privacy.policy import NO_POLICY, Policy
from ..project.project import Project
from ..rules.item_plans import selection_of
from ..rules.selection import ItemSelection
from ..sessions.service import SessionState
from ..sessions.session import Session
from .requests import ContextRequest, Freshness
from .scopes import Scope
from .sent_content import Resident

TALKS_MAX = 200
"""Maximum number of cached sessions: each is held whole."""


class Caller(Struct, frozen=True):
    """The session that a request is of, as it was when it came.

    `key` says what a context depends on of it, `selection` how it chooses items, and `problem`, in words, why
    the session or its choice can't be used. `policy` holds for whoever asks. `resident` is what the
    conversation holds of what it was sent, None where all is to be sent.
    """

    session: Session | None = None
    key: str = ""
    selection: ItemSelection = field(default_factory=ItemSelection)
    problem: str = ""
    policy: Policy = NO_POLICY
    resident: Resident | None = None


NO_CALLER = Caller()
"""The caller of a job until its session was looked up."""


class ContextJob(Struct, frozen=True):
    """A request for a context on its way: of which project and scope, what is asked, how fresh, by whom."""

    project: Project
    scope: Scope
    request: ContextRequest
    fresh: Freshness
    caller: Caller
    started: float
    """When it was asked for, a time of `perf_counter`: the event loop's clock has milliseconds."""

    @property
    def agent_name(self) -> str:
        """What the agent is called: by the request, its scope or its session."""
        session = self.caller.session
        return self.request.agent_name or self.scope.agent_name or (session.agent_name if session else "")


class Callers:
    """The callers of sessions, made once for each state of one. On the event loop only."""

    def __init__(self) -> None:
        self._callers: dict[str, Caller] = {}

    def of(self, project: Project, scope: Scope, request: ContextRequest, met: SessionState) -> Caller:
        """Return the session of a request, and the policy that holds for it.

        Raises `InvalidRequest` for a session of another project, `PermissionDenied` for an agent that may not
        ask.
        """
        session = met.session
        policy = policy_for(project.config, Agent(request.agent_name, request.agent_type), scope, met)
        if session is None:
            return Caller(problem=met.problem, policy=policy)
        if session.project_root != project.root:
            raise InvalidRequest(
                f"the session {session.id} is of {session.project_root}, not of {project.root}: make one for"
                " this project, or ask without session_id",
                "session_id",
            )
        caller = self._callers.get(session.id)
        if caller is None or caller.session is not session:
            if len(self._callers) >= TALKS_MAX:
                self._callers.clear()
            selection, problem = selection_of(session)
            caller = self._callers[session.id] = Caller(session, _key_of(session), selection, problem)
        return caller if caller.policy == policy else replace(caller, policy=policy)


def capped(request: ContextRequest, most: int) -> ContextRequest:
    """Return a request with `most` tokens, which its policy grants; the reserve is then a quarter at most."""
    return replace(request, max_tokens=most, reserve_tokens=min(request.reserve_tokens, most // 4))


def _key_of(session: Session) -> str:
    """Return what a context depends on of a session: not when it was last used, nor what it is called."""
    parts = (
        [[item.key.type, item.key.name, item.key.server_name, item.include] for item in session.items],
        [[key.type, key.name, key.server_name] for key in session.removed],
        session.context.get("files", ()),
        session.selection,
    )
    return json.dumps(parts, sort_keys=True)
