"""All names that are known of an agent count, and where one of them isn't known nothing is answered."""

from __future__ import annotations

import pytest
from foveal.daemon.access.permissions import NAME_CHARACTERS_MAX, Agent, policy_for, policy_of
from foveal.daemon.config.settings import PrivacyConfig, ProjectConfig
from foveal.daemon.core.errors import PermissionDenied
from foveal.daemon.privacy.policy import NO_POLICY, AgentTables, parse_agent_tables
from foveal.daemon.sessions.records import NOBODY, Scope, Session, SessionState

TABLES = parse_agent_tables(
    {
        "intern": {"deny_paths": ["a/**"]},
        "guest": {"deny_paths": ["b/**"], "max_tokens": 10},
        "stranger": {"allow": False},
        "kind": {"deny_paths": ["c/**"]},
    }
)
CONFIG = ProjectConfig(agents=AgentTables(project=TABLES))


def scope(name: str) -> Scope:
    return Scope("s", "/p", "i", agent_name=name)


def session(name: str) -> SessionState:
    return SessionState(Session("id", "/p", "t", agent_name=name))


@pytest.mark.parametrize(
    ("name", "kind", "of_scope", "of_session", "denied"),
    [
        ("intern", "", "", "", {"a/**"}),
        ("", "", "intern", "", {"a/**"}),
        ("", "", "", "intern", {"a/**"}),
        ("lead", "", "intern", "guest", {"a/**", "b/**"}),
        ("guest", "", "intern", "", {"a/**", "b/**"}),
        ("lead", "kind", "", "", {"c/**"}),
        ("lead", "kind", "intern", "", {"a/**", "c/**"}),
        ("", "", "", "", set()),
        ("lead", "", "lead", "lead", set()),
    ],
)
def test_what_the_tables_of_all_names_take_away_adds_up(
    name: str, kind: str, of_scope: str, of_session: str, denied: set[str]
) -> None:
    found = policy_for(CONFIG, Agent(name, kind), scope(of_scope), session(of_session))
    assert set(found.deny_paths) == denied


def test_no_name_lifts_a_refusal() -> None:
    for names in (("stranger", "", ""), ("lead", "stranger", ""), ("lead", "", "stranger")):
        name, of_scope, of_session = names
        with pytest.raises(PermissionDenied, match=r"\[agents.stranger\] in foveal.toml"):
            policy_for(CONFIG, Agent(name), scope(of_scope), session(of_session))


def test_a_session_that_cant_be_read_leaves_open_who_asks() -> None:
    unread = SessionState(None, "the session x can't be read: damaged")
    with pytest.raises(PermissionDenied, match="can't be read"):
        policy_for(CONFIG, Agent("lead"), None, unread)
    assert policy_for(ProjectConfig(), Agent("lead"), None, unread) == NO_POLICY
    assert policy_for(CONFIG, Agent("lead"), None, NOBODY) == NO_POLICY


def test_what_the_user_lets_through_is_part_of_it() -> None:
    shown = policy_of(ProjectConfig(privacy=PrivacyConfig((".env",), mask_values=False)), (), "")
    assert not shown.hides(".env")
    assert shown.hides("a/.env.local")
    assert not shown.mask_values


def test_agent_names_are_cut() -> None:
    assert Agent.of("a" * 5_000, "") == Agent("a" * NAME_CHARACTERS_MAX, "")
