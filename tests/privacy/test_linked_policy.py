"""The policy of an agent reaches into linked projects: each project's rules decide over the paths that lead
there."""

from __future__ import annotations

import pytest
from foveal.daemon.privacy.policy import (
    NO_POLICY,
    AgentTables,
    LinkedTables,
    combined,
    parse_agent_tables,
)

THERE = {"reader": {"deny_paths": ["secret/**"]}, "stranger": {"allow": False}}
TABLES = AgentTables(
    project=parse_agent_tables({"intern": {"deny_paths": ["own/**"]}}),
    linked=(LinkedTables("../api", "/src/api", AgentTables(project=parse_agent_tables(THERE))),),
)


@pytest.mark.parametrize(
    ("agent", "path", "denied"),
    [
        ("reader", "../api/secret/key.py", True),
        ("reader", "/src/api/secret/key.py", True),
        ("reader", "lib/../../api/secret/key.py#Key", True),
        ("reader", "../api/open.py", False),
        ("reader", "secret/key.py", False),
        ("reader", "../apis/secret/key.py", False),
        ("stranger", "../api/open.py", True),
        ("stranger", "../api", True),
        ("stranger", "own/a.py", False),
        ("intern", "own/a.py", True),
        ("intern", "../api/own/a.py", False),
        ("", "../api/secret/key.py", False),
    ],
)
def test_a_path_is_denied_by_the_rules_of_its_project(agent: str, path: str, denied: bool) -> None:
    policy = TABLES.policy_for(agent)
    assert policy.denies(path) == denied
    assert policy.names_denied(f"see `{path}`, please.", "/src/shop") == denied
    assert bool(policy.why_hidden(path)) == denied


def test_who_is_limited_in_a_linked_project_is_limited_here() -> None:
    limited = {
        agent: TABLES.policy_for(agent).is_limited for agent in ("reader", "stranger", "intern", "lead")
    }
    assert limited == {"reader": True, "stranger": True, "intern": True, "lead": False}
    assert TABLES.policy_for("stranger").allow, "it may ask in this project"


def test_a_secret_file_of_a_linked_project_is_hidden_as_its_own_root_sees_it() -> None:
    policy = TABLES.policy_for("lead", "", ("config/.env",))
    assert not policy.hides("../api/config/.env")
    assert policy.hides("../api/.env")


def test_policies_compare_in_all_projects() -> None:
    reader, stranger, lead = (TABLES.policy_for(agent) for agent in ("reader", "stranger", "lead"))
    assert lead.sees_all_of(reader)
    assert reader.sees_all_of(stranger)
    assert not reader.sees_all_of(lead)
    assert not stranger.sees_all_of(reader)
    assert not stranger.sees_all_of(NO_POLICY)
    assert lead.sees_all_of(NO_POLICY)
    assert NO_POLICY.sees_all_of(stranger)


def test_reasons_name_the_rules_but_no_project_that_the_agent_may_not_know() -> None:
    reader, stranger = (TABLES.policy_for(agent) for agent in ("reader", "stranger"))
    assert reader.sources == "[agents.reader] in foveal.toml of ../api"
    assert stranger.sources == "the rules of another project"
    assert TABLES.policy_for("lead").sources == ""
    assert TABLES.policy_for("intern").sources == "[agents.intern] in foveal.toml"
    hidden = "hidden from this agent by"
    assert reader.why_hidden("../api/secret/a.py") == f"{hidden} deny_paths of [agents.reader] in foveal.toml"
    assert stranger.why_hidden("../api/open.py") == f"{hidden} the rules of another project"


def test_restrictions_of_several_names_add_up_in_linked_projects() -> None:
    both = combined(TABLES.policy_for(agent) for agent in ("reader", "lead"))
    assert both.denies("../api/secret/key.py")
    assert not both.denies("../api/open.py")
    assert combined([both, TABLES.policy_for("stranger")]).denies("../api/open.py")
