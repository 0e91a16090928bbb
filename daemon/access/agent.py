"""The agent of a request, and its policy, with those of the agents that its scope and session name."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from ..config.settings import ProjectConfig, UserConfig
from ..core.errors import PermissionDenied
from ..privacy.policy import NO_TABLES, AgentTables, Policy, combined
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
