"""The permissions of requests: who the agent is, and what it may see of a project, by the rules that hold
there now.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial

from msgspec import Struct
from msgspec.structs import replace

from ..config.linked import LinkedProject
from ..config.settings import ProjectConfig, UserConfig
from ..core.errors import FovealError, PermissionDenied
from ..core.work import Work
from ..privacy.policy import NO_TABLES, AgentTables, Policy, combined
from ..rules.records import AgentItems, Item, ItemKey
from ..search.records import OtherProject
from ..sessions.records import NOBODY, Access, Scope, Session, SessionState
from ..workspace.service import OpenProjects, Project

NAME_CHARACTERS_MAX = 1_000
"""Maximum characters of a name that are compared with globs; the rest is ignored."""


class Agent(Struct, frozen=True):
    """The agent of a request: its name and its type, each "" if unknown."""

    name: str = ""
    type: str = ""

    @classmethod
    def of(cls, name: str, type_: str) -> Agent:
        """Return an agent, with a long name or type shortened."""
        return cls(name[:NAME_CHARACTERS_MAX], type_[:NAME_CHARACTERS_MAX])

    @property
    def is_named(self) -> bool:
        """Whether the request names an agent; else it is the user's."""
        return bool(self.name or self.type)


class AgentView(Struct, frozen=True):
    """An agent's policy in a project, and the rules there, which say what other agents may see."""

    policy: Policy
    config: ProjectConfig | UserConfig

    def sees_all_of(self, owner: str) -> bool:
        """Whether the agent may see all that another one may: then nothing that it said is hidden from it.

        `owner` is the name of the agent of a session, scope or decision, "" for none.
        """
        return sees_all_of(self.policy, self.config, owner)


def policy_for(config: ProjectConfig, agent: Agent, scope: Scope | None, state: SessionState) -> Policy:
    """Return the policy for all known names of a request's agent: its own, the scope's, the session's.

    Raises `PermissionDenied` if it is refused, also if there are tables and the session can't be read: then
    its agent isn't known.
    """
    if state.problem and config.agents != NO_TABLES:
        raise PermissionDenied(
            f"{state.problem}; so it isn't known which of the rules for agents holds."
            " Ask again, or without it."
        )
    names = (agent.name, scope.agent_name if scope else "", state.session.agent_name if state.session else "")
    return _allowed(policy_of(config, names, agent.type))


def _allowed(policy: Policy) -> Policy:
    if not policy.allow:
        raise PermissionDenied(policy.refusal())
    return policy


def require_all(policy: Policy) -> None:
    """Raise `PermissionDenied` for an agent from whom anything is hidden."""
    if _allowed(policy).is_limited:
        raise PermissionDenied(
            f"this isn't for {policy.agent or 'an agent'}, from whom {policy.sources} hides"
            " something. The user can do it with foveal's commands."
        )


def sees_all_of(policy: Policy, config: ProjectConfig | UserConfig, owner: str) -> bool:
    """Whether an agent of a policy may see all that the agent `owner` may, "" for one without a name."""
    return not policy.is_limited or policy.sees_all_of(policy_of(config, (owner,), ""))


def owner_of(scope: Scope | None, session: Session | None) -> str:
    """Return the agent that a scope or session belongs to, "" if it names none."""
    return (scope.agent_name if scope else "") or (session.agent_name if session else "")


def policy_of(config: ProjectConfig | UserConfig, names: Iterable[str], kind: str) -> Policy:
    """Return the policy of the tables and `[privacy]` for an agent with some names and a type."""
    return _policy_of(
        config.agents, config.privacy.show_files, config.privacy.mask_values, tuple(names), kind
    )


@lru_cache(maxsize=1024)
def _policy_of(
    tables: AgentTables, shown: tuple[str, ...], masked: bool, names: tuple[str, ...], kind: str
) -> Policy:
    known = tuple(dict.fromkeys(filter(None, names))) or ("",)
    found = combined(tables.policy_for(name, kind, shown) for name in known)
    linked = tuple(replace(each, policy=replace(each.policy, mask_values=masked)) for each in found.linked)
    return replace(found, mask_values=masked, linked=linked)


def denies_item(policy: Policy, item: Item, root: str) -> bool:
    """Tell whether an item is denied: by its name, or because one of its files is hidden.

    An instruction file that imports a hidden file contains its text.
    """
    if policy.denies_item(item.type, item.name, item.server_name):
        return True
    below = f"{root.rstrip('/')}/"
    sources = [path[len(below) :] for path in (item.source, *item.parts) if path.startswith(below)]
    if item.source and not os.path.isabs(item.source):
        sources.append(item.source)  # as its client named it
    if item.type != "tool":
        sources.append(item.name)
    return any(policy.denies(path) or policy.is_secret(path) for path in sources)


def denied_keys(policy: Policy, items: AgentItems, root: str) -> frozenset[ItemKey]:
    """Return the keys of denied items."""
    return frozenset(key for key, item in items.by_key.items() if denies_item(policy, item, root))


def visible_items(policy: Policy, items: AgentItems, root: str) -> AgentItems:
    """Return the items that an agent may see, with secrets masked."""
    denied = denied_keys(policy, items, root)
    by_key = {key: _masked(policy, item) for key, item in items.by_key.items() if key not in denied}
    warnings = policy.sentences(items.warnings, root)
    stored = items.stored - denied
    return replace(items, items=tuple(by_key.values()), warnings=warnings, stored=stored, by_key=by_key)


def visible_session(policy: Policy, session: Session, denied: frozenset[ItemKey]) -> Session:
    """Return a session as an agent may see it: sets, notes and items without hidden ones."""
    root = session.project_root
    context = visible_sets(policy, session.context, root)
    intent, hint = (
        "" if policy.names_denied(text, root) else policy.mask(text)
        for text in (session.current_intent, session.env_hint)
    )
    return replace(
        session,
        context=context,
        current_intent=intent,
        env_hint=hint,
        items=tuple(item for item in session.items if item.key not in denied),
        removed=tuple(key for key in session.removed if key not in denied),
    )


def visible_sets(
    policy: Policy, context: Mapping[str, tuple[str, ...]], root: str
) -> dict[str, tuple[str, ...]]:
    """Return a session's sets without entries that name hidden paths."""
    return {name: visible_entries(policy, entries, root) for name, entries in context.items()}


def visible_entries(policy: Policy, entries: Iterable[str], root: str) -> tuple[str, ...]:
    """Return the entries of a set that name no hidden path, which may have spaces."""
    below = f"{root.rstrip('/')}/"
    return tuple(
        policy.mask(entry)
        for entry in entries
        if not policy.denies(entry.removeprefix(below)) and not policy.names_denied(entry, root)
    )


def _masked(policy: Policy, item: Item) -> Item:
    text, description = policy.mask(item.text), policy.mask(item.description)
    unchanged = (text, description) == (item.text, item.description)
    return item if unchanged else replace(item, text=text, description=description)


REOPENED_MAX = 8
"""Maximum number of closed projects that a question to all projects opens: each is compared with the disk."""

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
    ) -> None:
        self._projects = projects
        self._find_session = find_session
        self._user = user
        self._work = work
        self._items: dict[str, tuple[AgentItems, dict[Policy, AgentItems]]] = {}

    async def require(
        self,
        project: Project,
        agent: Agent,
        *,
        scope: Scope | None = None,
        session_id: str = "",
    ) -> Policy:
        """Return the policy of a request about a project. Raises `PermissionDenied` if it is refused.

        A changed foveal.toml is read first.
        """
        await self._projects.reload_settings(project)
        session_id = session_id or (scope.session_id if scope else "")
        state = SessionState(None)
        if session_id and project.config.agents != NO_TABLES:
            state = await self._find_session(session_id)
        policy = policy_for(project.config, agent, scope, state)
        await self._require_inside(project.root, agent)
        await self.prepare(project, policy)
        return policy

    async def prepare(self, project: Project, policy: Policy) -> None:
        """Prepare the view of a project under a policy, in a thread if that takes long."""
        if not project.index.is_ready(project.tree, policy):
            await self._work.in_builder(partial(project.index.prepare, project.tree, policy))

    async def linked(self, project: Project, agent: Agent, policy: Policy) -> list[OtherProject]:
        """Return the linked projects that an agent may see, by its policy in the one that links them."""
        found = []
        for linked, there in _allowed_links(project, policy):
            if await self._may_see_inside(linked.root, agent):
                found.append(OtherProject(linked, there, partial(self._open, linked.root, there)))
        return found

    def linked_now(
        self, project: Project, agent: Agent, policy: Policy
    ) -> Iterator[tuple[LinkedProject, Project | None]]:
        """Yield the linked projects that an agent may see, by its policy in the one that links them and the
        rules of open projects inside, each with the project if it is open."""
        for linked, _ in _allowed_links(project, policy):
            if not self._hides_inside(linked.root, agent):
                yield linked, self._projects.get(linked.root)

    async def everywhere(self, project: Project, agent: Agent) -> tuple[list[OtherProject], int]:
        """Return the other projects that an agent may see, open ones and at most `REOPENED_MAX` closed ones,
        and the number of the closed ones that are left out."""
        roots = [other.root for other in self._projects]
        closed = await self._projects.closed()
        found = []
        for root in (*roots, *closed[:REOPENED_MAX]):
            if root != project.root and (view := await self.view_or_none(root, agent)) is not None:
                linked = LinkedProject.seen_from(project.root, root)
                found.append(OtherProject(linked, view.policy, partial(self._open, root, view.policy)))
        return found, len(closed[REOPENED_MAX:])

    async def _may_see_inside(self, root: str, agent: Agent) -> bool:
        try:
            await self._require_inside(root, agent)
        except PermissionDenied:
            return False
        return True

    async def _open(self, root: str, policy: Policy) -> Project:
        project = await self._projects.open_root(root)
        await self.prepare(project, policy)
        return project

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
    ) -> AgentView:
        """Return the view of a request about a project, which need not be open.

        Raises `PermissionDenied` if it is refused, `ConfigError` if the project's settings can't be read.
        """
        config = await self._config(root)
        view = AgentView(policy_for(config, agent, scope, state), config)
        await self._require_inside(root, agent)
        return view

    async def view_or_none(self, root: str, agent: Agent, state: SessionState = NOBODY) -> AgentView | None:
        """Return the view of a request for a list of projects, None if this one is left out: the request
        is refused, or the project's settings can't be read. A closed project stays closed."""
        try:
            return await self.view(root, agent, None, state)
        except FovealError:
            return None

    def require_by_user(self, agent: Agent) -> Policy:
        """Return the policy of an agent by the user's own tables. Raises `PermissionDenied` if they refuse
        it."""
        return _allowed(policy_of(self._user, (agent.name,), agent.type))

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

    def view_now(self, root: str, agent: Agent) -> AgentView | None:
        """Return the view of an open project by the rules that were read last, None if the agent is refused
        there, or it isn't open."""
        project = self._projects.get(root)
        if project is None:
            return None
        if not project.settings.hold():
            self._work.start_background(self._projects.reload_settings(project), f"read the rules of {root}")
            return None
        view = AgentView(policy_of(project.config, (agent.name,), agent.type), project.config)
        return view if view.policy.allow and not self._hides_inside(root, agent) else None

    def _hides_inside(self, root: str, agent: Agent) -> bool:
        """Whether an open project within a folder hides something from a named agent, by its own rules as
        they were read last."""
        inside = map(self._projects.get, self._projects.inside(root)) if agent.is_named else ()
        return any(_own_rules(each.config, agent).hides_any for each in inside if each is not None)

    async def as_one_of(self, root: str, agent: Agent, names: Iterable[str]) -> Policy:
        """Return the policy of a request about something that agents of these names were given, as if they
        asked for it now. Raises `PermissionDenied` if one of them is refused, `ConfigError`."""
        policy = _allowed(policy_of(await self._config(root), (agent.name, *names), agent.type))
        await self._require_inside(root, agent)
        return policy

    async def may_see(self, access: Access, agent: Agent) -> bool:
        """Whether an agent may see all of a context. Raises `PermissionDenied` for an agent without any
        permission."""
        policy = await self.as_one_of(access.project, agent, access.agent_names)
        return policy.sees_all_of(access.policy)

    async def may_list(self, access: Access, agent: Agent) -> bool:
        """Whether an agent may see all of a context; False if the project's rules can't be read."""
        try:
            return await self.may_see(access, agent)
        except FovealError:
            return False

    async def _config(self, root: str) -> ProjectConfig:
        """Return the settings of a project, the user's if it is gone."""
        project = self._projects.get(root)
        if project is not None:
            await self._projects.reload_settings(project)
            return project.config
        return await self._projects.config_of(root)


def _allowed_links(project: Project, policy: Policy) -> Iterator[tuple[LinkedProject, Policy]]:
    """Yield the linked projects that a policy doesn't refuse; one that was linked since isn't among them."""
    policies = {each.root: each.policy for each in policy.linked}
    for linked in project.config.linked.projects:
        there = policies.get(linked.root)
        if there is not None and there.allow:
            yield linked, there


def _own_rules(config: ProjectConfig, agent: Agent) -> Policy:
    """Return the policy of an agent by a project's own tables alone."""
    return AgentTables(project=config.agents.project).policy_for(agent.name, agent.type)
