"""The agent of a request, its policy, with those of the agents that its scope and session name, and the parts
of a project that it sees.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from ..config.settings import ProjectConfig, UserConfig
from ..core.errors import PermissionDenied
from ..privacy.policy import NO_TABLES, AgentTables, Policy, combined
from ..rules.agent_items import AgentItems
from ..rules.items import Item, ItemKey
from ..sessions.scope import Scope
from ..sessions.session import Session, SessionState

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


class View(Struct, frozen=True):
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
    privacy = config.privacy
    policy = _policy_of(config.agents, privacy.show_files, privacy.mask_values, names, agent.type)
    if not policy.allow:
        raise PermissionDenied(policy.refusal())
    return policy


def require_all(policy: Policy) -> None:
    """Raise `PermissionDenied` for an agent from whom anything is hidden."""
    if not policy.allow:
        raise PermissionDenied(policy.refusal())
    if policy.is_limited:
        raise PermissionDenied(
            f"this isn't for {policy.agent or 'an agent'}, from whom {' and '.join(policy.rules)} hides"
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
    return replace(found, mask_values=masked)


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
