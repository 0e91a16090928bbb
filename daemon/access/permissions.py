"""The permissions of requests: what an agent may see of a project, by the rules that hold there now."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from functools import partial

from ..config.files import load_project_config
from ..config.settings import ProjectConfig, UserConfig
from ..core.errors import FovealError, PermissionDenied
from ..core.system import System
from ..core.work import Work
from ..privacy.policy import NO_TABLES, AgentTables, Policy
from ..rules.agent_items import AgentItems
from ..rules.items import ItemKey
from ..sessions.scope import Scope
from ..sessions.session import NOBODY, Session, SessionState
from ..workspace.open_projects import OpenProjects
from ..workspace.project import Project
from .agent import Agent, View, policy_for, policy_of, require_all, visible_items

ITEM_VIEWS_MAX = 16
"""Maximum number of policies for which a project's visible items are cached."""


class Permissions:
    """The policies of requests. On the event loop only.

    An agent can't escape a rule by leaving out or changing its name if its scope or its session has one: all
    its known names count, and the restrictions of their tables add up.
    """

    def __init__(
        self,
        projects: OpenProjects,
        find_session: Callable[[str], Awaitable[SessionState]],
        user: UserConfig,
        work: Work,
        system: System,
    ) -> None:
        self._projects = projects
        self._find_session = find_session
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
        """Return the policy of a request about a project. Raises `PermissionDenied` if it is refused.

        A changed foveal.toml is read first. The session may be given, or its id.
        """
        await self._projects.reload_settings(project)
        session_id = session_id or (scope.session_id if scope else "")
        state = SessionState(session)
        if session is None and session_id and project.config.agents != NO_TABLES:
            state = await self._find_session(session_id)
        policy = policy_for(project.config, agent, scope, state)
        await self._require_inside(project.root, agent)
        await self.prepare(project, policy)
        return policy

    async def prepare(self, project: Project, policy: Policy) -> None:
        """Prepare the view of a project under a policy, in a thread if that takes long."""
        if not project.index.is_ready(project.tree, policy):
            await self._work.in_builder(partial(project.index.prepare, project.tree, policy))

    async def items(self, project: Project, policy: Policy) -> AgentItems:
        """Return the items that a policy shows of a project, cached until they change."""
        items, views = self._items.get(project.root, (None, {}))
        if items is not project.instructions.items:
            items, views = self._items[project.root] = project.instructions.items, {}
        if policy not in views:
            if len(views) >= ITEM_VIEWS_MAX:
                views.clear()
            views[policy] = await self._work.in_builder(partial(visible_items, policy, items, project.root))
        return views[policy]

    async def denied_items(self, root: str, policy: Policy) -> frozenset[ItemKey]:
        """Return the items of a project that a policy hides; none if the project isn't open."""
        project = self._projects.get(root)
        if project is None:
            return frozenset()
        items = project.instructions.items
        visible = await self.items(project, policy)
        return frozenset(items.by_key.keys() - visible.by_key.keys())

    async def view(
        self, root: str, agent: Agent, scope: Scope | None = None, state: SessionState = NOBODY
    ) -> View:
        """Return the view of a request about a project, which need not be open.

        Raises `PermissionDenied` if it is refused, `ConfigError` if the project's settings can't be read.
        """
        config = await self._config(root)
        view = View(policy_for(config, agent, scope, state), config)
        await self._require_inside(root, agent)
        return view

    async def view_or_none(self, root: str, agent: Agent, state: SessionState = NOBODY) -> View | None:
        """Return the view of a request for a list of projects, None if this one is left out: the request
        is refused, or the project's settings can't be read. A closed project stays closed."""
        try:
            return await self.view(root, agent, None, state)
        except FovealError:
            return None

    def require_by_user(self, agent: Agent) -> Policy:
        """Return the policy of an agent by the user's own tables. Raises `PermissionDenied` if they refuse
        it."""
        policy = policy_of(self._user, (agent.name,), agent.type)
        if not policy.allow:
            raise PermissionDenied(policy.refusal())
        return policy

    async def require_everywhere(self, agent: Agent) -> None:
        """Raise `PermissionDenied` for an agent from whom anything is hidden, by the user's own tables or in
        an open project."""
        configs: list[ProjectConfig | UserConfig] = [self._user]
        configs += [await self._config(project.root) for project in self._projects]
        for config in configs:
            require_all(policy_of(config, (agent.name,), agent.type))

    async def _require_inside(self, root: str, agent: Agent) -> None:
        """Raise `PermissionDenied` for a named agent in a folder around another project whose own rules hide
        something from it: as files of the outer one they would be shown."""
        if not agent.is_named:
            return
        for other in self._projects.inside(root):
            config = await self._config(other)
            policy = _own_rules(config, agent)
            if policy.hides_any:
                raise PermissionDenied(
                    f"{other:.200} lies in this folder, and {' and '.join(policy.rules)} there hides"
                    " something from this agent: ask about a project that doesn't contain it"
                )

    def view_now(self, root: str, agent: Agent) -> View | None:
        """Return the view of an open project by the rules that were read last, None if the agent is refused
        there, or it isn't open."""
        project = self._projects.get(root)
        if project is None:
            return None
        if not project.settings.hold():
            self._work.start_unheard(self._projects.reload_settings(project), f"read the rules of {root}")
            return None
        view = View(policy_of(project.config, (agent.name,), agent.type), project.config)
        inside = (
            [self._projects.get(other) for other in self._projects.inside(root)] if agent.is_named else []
        )
        hides = any(_own_rules(each.config, agent).hides_any for each in inside if each is not None)
        return view if view.policy.allow and not hides else None

    async def as_one_of(self, root: str, agent: Agent, names: Iterable[str]) -> Policy:
        """Return the policy of a request about something that agents of these names were given, as if they
        asked for it now. Raises `PermissionDenied` if one of them is refused, `ConfigError`."""
        policy = policy_of(await self._config(root), (agent.name, *names), agent.type)
        if not policy.allow:
            raise PermissionDenied(policy.refusal())
        await self._require_inside(root, agent)
        return policy

    async def _config(self, root: str) -> ProjectConfig:
        """Return the settings of a project, the user's if it is gone."""
        project = self._projects.get(root)
        if project is not None:
            await self._projects.reload_settings(project)
            return project.config
        read = partial(load_project_config, root, self._user, self._system)
        return (await self._work.in_builder(read)).config


def _own_rules(config: ProjectConfig, agent: Agent) -> Policy:
    """Return the policy of an agent by a project's own tables alone."""
    return AgentTables(project=config.agents.project).policy_for(agent.name, agent.type)
