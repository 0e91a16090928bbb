"""The caller of GetContext (agent, session, policy), and the job that holds a request while it is served."""

from __future__ import annotations

from msgspec import Struct, field
from msgspec.structs import replace

from ..access.records import Agent
from ..access.service import owner_of, policy_for, sees_all_of
from ..config.item_selection import ItemSelection
from ..config.settings import ProjectConfig
from ..core.errors import InvalidRequest, PermissionDenied
from ..privacy.policy import NO_POLICY, Policy
from ..sessions.records import Scope, Session, SessionState
from ..workspace.service import Project
from .item_plans import selection_of
from .requests import ContextRequest, Freshness
from .sent_content import ConversationContent


class Caller(Struct, frozen=True):
    """Who asks for a context: the session as it was when the request came, and the agent's policy.

    `key` covers the parts of the session that a context depends on. `selection` says how the session chooses
    items, `problem` why the session or its selection can't be used. `resident` is the content that the
    conversation already holds, None if everything has to be sent.
    """

    session: Session | None = None
    key: tuple[object, ...] = ()
    selection: ItemSelection = field(default_factory=ItemSelection)
    problem: str = ""
    policy: Policy = NO_POLICY
    resident: ConversationContent | None = None


NO_CALLER = Caller()
"""The caller of a job whose session hasn't been looked up yet."""


class ContextJob(Struct, frozen=True):
    """A request for a context in progress: its project, scope, parameters, freshness and caller."""

    project: Project
    scope: Scope
    request: ContextRequest
    fresh: Freshness
    caller: Caller
    started: float
    """The time of the request by `perf_counter`, which is finer than the event loop's clock."""
    silent: bool = False
    """Whether nobody is told of the context, because it is only looked at: pages look again at each event."""

    @property
    def agent_name(self) -> str:
        """The agent's name from the request, else from its scope, else from its session."""
        session = self.caller.session
        return self.request.agent_name or self.scope.agent_name or (session.agent_name if session else "")

    @property
    def agent(self) -> Agent:
        """The agent that asks, as far as its name and type are known."""
        return Agent.of(self.agent_name, self.request.agent_type)

    @property
    def is_foreign(self) -> bool:
        """Whether the scope belongs to an agent, or to the user, that may see more than this agent."""
        owner = owner_of(self.scope, self.caller.session)
        return not sees_all_of(self.caller.policy, self.project.config, owner)


def caller_of(project: Project, scope: Scope, request: ContextRequest, state: SessionState) -> Caller:
    """Return the caller of a request with its session and policy.

    Raises `InvalidRequest` for a session of another project, and `PermissionDenied` for an agent without
    access.
    """
    session = state.session
    policy = policy_for(project.config, Agent(request.agent_name, request.agent_type), scope, state)
    if session is None:
        return Caller(problem=state.problem, policy=policy)
    if session.project_root != project.root:
        raise InvalidRequest(
            f"the session {session.id} belongs to {session.project_root}, not to {project.root}: create"
            " one for this project, or leave out session_id",
            "session_id",
        )
    check_owner(policy, project.config, session, scope.agent_id)
    selection, problem = selection_of(session)
    key = (session.items, session.removed, session.context.get("files", ()), selection)
    return Caller(session, key, selection, problem, policy)


def check_owner(policy: Policy, config: ProjectConfig, session: Session | None, agent_id: str) -> None:
    """Raise `PermissionDenied` for a session of an agent that may see more than one of this policy, unless
    that is a subagent, which works in its parent's session."""
    if session is None or agent_id or not session.agent_name:
        return
    if not sees_all_of(policy, config, session.agent_name):
        raise PermissionDenied(
            f"the session {session.id} belongs to an agent that may see what {policy.sources}"
            " hides from this one: begin one of its own"
        )


def capped(request: ContextRequest, most: int) -> ContextRequest:
    """Return the request limited to `most` tokens, with at most a quarter of them in reserve."""
    return replace(request, max_tokens=most, reserve_tokens=min(request.reserve_tokens, most // 4))
