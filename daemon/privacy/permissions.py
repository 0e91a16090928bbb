"""The policy of a request: that of the agent that it names, and of those that its scope
and session keep. The one place that decides it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache, partial

from msgspec import Struct
from msgspec.structs import replace

from ..config.files import load_project_config
from ..config.settings import ProjectConfig, UserConfig
from ..context.scopes import Scope
from ..core.errors import FovealError, PermissionDenied
from ..core.system import System
from ..core.work import Work
from ..project.open_projects import OpenProjects
from ..project.project import Project
from ..rules.agent_items import AgentItems
from ..rules.items import ItemKey
from ..sessions.service import NOBODY, Sessions, SessionState
from ..sessions.session import Session
from .policy import NO_TABLES, AgentTables, Policy, combined
from .visible import visible_items

ITEM_VIEWS_MAX = 16
"""A project's items are kept in the form that so many policies leave of them."""

NAME_CHARACTERS_MAX = 1_000
"""Of a longer name the beginning is looked up: globs are held against it."""


class Agent(Struct, frozen=True):
    """Who asks, as far as a request says it: a name and a type, each "" where it doesn't."""

    name: str = ""
    type: str = ""

    @classmethod
    def of(cls, name: str, type_: str) -> Agent:
        """Return an agent with so much of its name and type as globs are held against."""
        return cls(name[:NAME_CHARACTERS_MAX], type_[:NAME_CHARACTERS_MAX])


class Permissions:
    """The policies of requests. On the event loop only.

    An agent can't shed a rule by leaving out or changing its name where its scope or its session keeps one:
    all names that are known of it count, and what their tables take away adds up.
    """

    def __init__(
        self, projects: OpenProjects, sessions: Sessions, user: UserConfig, work: Work, system: System
    ) -> None:
        self._projects = projects
        self._sessions = sessions
        self._user = user
        self._work = work
        self._system = system
        self._items: dict[str, tuple[AgentItems, dict[Policy, AgentItems]]] = {}

    async def require(
        self,
        project: Project,
        agent: Agent,
        *,
        scope: Scope | None = None,
        session: Session | None = None,
        session_id: str = "",
    ) -> Policy:
        """Return what holds for a request about a project. Raises `PermissionDenied` where it may not ask.

        A changed foveal.toml holds from now on. The session may be given, or its id.
        """
        await self._projects.reload_settings(project)
        session_id = session_id or (scope.session_id if scope else "")
        met = SessionState(session)
        if session is None and session_id and project.config.agents != NO_TABLES:
            met = await self._sessions.find(session_id)
        policy = policy_for(project.config, agent, scope, met)
        await self.prepare(project, policy)
        return policy

    async def prepare(self, project: Project, policy: Policy) -> None:
        """Have a project seen as an agent may see it: in a thread, where that takes a while."""
        if not project.index.is_ready(project.tree, policy):
            await self._work.in_builder(partial(project.index.prepare, project.tree, policy))

    async def items(self, project: Project, policy: Policy) -> AgentItems:
        """Return a project's items as an agent gets them, see `visible_items`; kept while they stay."""
        items, views = self._items.get(project.root, (None, {}))
        if items is not project.instructions.items:
            items, views = self._items[project.root] = project.instructions.items, {}
        if policy not in views:
            if len(views) >= ITEM_VIEWS_MAX:
                views.clear()
            views[policy] = await self._work.in_builder(partial(visible_items, policy, items, project.root))
        return views[policy]

    async def denied_items(self, root: str, policy: Policy) -> frozenset[ItemKey]:
        """Return the items of a project that an agent doesn't get; none where it isn't open."""
        project = self._projects.get(root)
        if project is None:
            return frozenset()
        items = project.instructions.items
        visible = await self.items(project, policy)
        return frozenset(items.by_key.keys() - visible.by_key.keys())

    async def at_root(self, root: str, agent: Agent, scope: Scope | None, met: SessionState) -> Policy:
        """Return what holds for a request about a project, which may not be open.

        Raises `PermissionDenied` where it may not ask, `ConfigError` where its rules can't be read.
        """
        return policy_for(await self._config(root), agent, scope, met)

    async def of_root(self, root: str, agent: Agent, met: SessionState = NOBODY) -> Policy | None:
        """Return what holds for a request in a list over projects, None where it gets nothing of this one:
        it may not ask, or the project's rules can't be read. A project that isn't open stays so."""
        try:
            return policy_for(await self._config(root), agent, None, met)
        except FovealError:
            return None

    async def as_one_of(self, root: str, agent: Agent, names: Iterable[str]) -> Policy:
        """Return what holds for who asks about something that agents of these names were given, as if they
        asked for it now. Raises `PermissionDenied` where one of them may not ask, `ConfigError`."""
        policy = policy_of(await self._config(root), (agent.name, *names), agent.type)
        if not policy.allow:
            raise PermissionDenied(policy.refusal())
        return policy

    async def _config(self, root: str) -> ProjectConfig:
        """Return the settings of a project; of one that is gone the user's."""
        project = self._projects.get(root)
        if project is not None:
            await self._projects.reload_settings(project)
            return project.config
        read = partial(load_project_config, root, self._user, self._system)
        return (await self._work.in_builder(read)).config


def policy_for(config: ProjectConfig, agent: Agent, scope: Scope | None, met: SessionState) -> Policy:
    """Return what holds for a request with all names that are known of its agent: its own, the scope's, the
    session's. Raises `PermissionDenied` where it may not ask.

    Where a session can't be read its agent isn't known: if there are tables at all, nothing is answered.
    """
    if met.problem and config.agents != NO_TABLES:
        raise PermissionDenied(
            f"{met.problem}; so it isn't known which of the rules for agents holds. Ask again, or without it."
        )
    names = (agent.name, scope.agent_name if scope else "", met.session.agent_name if met.session else "")
    privacy = config.privacy
    policy = _policy_of(config.agents, privacy.show_files, privacy.mask_values, names, agent.type)
    if not policy.allow:
        raise PermissionDenied(policy.refusal())
    return policy


def policy_of(config: ProjectConfig, names: Iterable[str], kind: str) -> Policy:
    """Return what the tables and `[privacy]` say of an agent with some names and a type."""
    return _policy_of(
        config.agents, config.privacy.show_files, config.privacy.mask_values, tuple(names), kind
    )


@lru_cache(maxsize=1024)
def _policy_of(
    tables: AgentTables, shown: tuple[str, ...], masked: bool, names: tuple[str, ...], kind: str
) -> Policy:
    known = tuple(dict.fromkeys(filter(None, names))) or ("",)
    found = combined(tables.policy_for(name, kind, shown) for name in known)
    return replace(found, mask_values=masked)
