"""The most specific table holds for an agent, a project only takes away, and what can't be read is refused."""

from __future__ import annotations

from typing import Any

import pytest
from foveal.daemon.core.errors import InvalidRequest
from foveal.daemon.privacy.policy import NO_POLICY, AgentTables, Policy, parse_agent_tables


def policy(
    name: str, project: dict[str, Any], user: dict[str, Any] | None = None, *, kind: str = ""
) -> Policy:
    return AgentTables(parse_agent_tables(user or {}), parse_agent_tables(project)).policy_for(name, kind)


TABLES = {
    "stranger": {"allow": False},
    "intern": {"deny_paths": ["secret/**"], "deny_items": ["tool"], "max_tokens": 4000},
    "intern-*": {"deny_paths": ["private"], "max_tokens": 3000},
    "intern-front-*": {"deny_items": ["rule:deploy*", "tool:db/*"]},
    "reviewer": {"max_tokens": 2000},
    "*": {"deny_paths": ["payroll/"]},
}


@pytest.mark.parametrize(
    ("name", "kind", "rule"),
    [
        ("stranger", "", "stranger"),
        ("intern", "", "intern"),
        ("intern-7", "", '"intern-*"'),
        ("intern-front-7", "", '"intern-front-*"'),
        ("sam", "reviewer", "reviewer"),
        ("intern", "reviewer", "intern"),
        ("someone", "", '"*"'),
        ("", "", '"*"'),
        ("any/one", "", '"*"'),
    ],
)
def test_the_most_specific_table_applies(name: str, kind: str, rule: str) -> None:
    assert policy(name, TABLES, kind=kind).rules == (f"[agents.{rule}] in foveal.toml",)


@pytest.mark.parametrize(
    "name",
    [
        "Intern",
        "INTERN",
        "intern ",
        " \tintern\n",
        "in\u200btern",
        "\ufeffintern",
        "in\u00adtern\u2060",
        "\uff29\uff4e\uff54\uff45\uff52\uff4e",  # full-width
        "intern\u3164",
        "intern\u00a0",
        "in\x00tern",
        "intern\ud800",
        "\U0001d4be\U0001d4c3\U0001d4c9\U0001d452\U0001d4c7\U0001d4c3",  # script letters
    ],
)
def test_a_name_that_looks_the_same_is_the_same(name: str) -> None:
    assert policy(name, TABLES).deny_paths == ("secret/**",)
    assert policy("sam", {"intern": TABLES["intern"]}, kind=name).deny_paths == ("secret/**",)
    assert policy("intern", {name: TABLES["intern"]}).deny_paths == ("secret/**",)
    assert not policy(f"{name.strip()}-7", {"InTern-*": {"allow": False}}).allow


def test_a_name_in_another_case_comes_before_a_glob() -> None:
    tables = {"intern*": {"max_tokens": 1}, "a-long-name*": {"max_tokens": 2}, "intern": {"max_tokens": 3}}
    assert policy("INTERN", tables).max_tokens == 3
    assert policy("a-long-name-of-sam", tables, kind="INTERN").max_tokens == 3


def test_tables_whose_names_are_the_same_add_up() -> None:
    tables = {
        "Intern": {"deny_paths": ["a"], "max_tokens": 900},
        "intern": {"deny_paths": ["b"], "max_tokens": 500},
        "*": {"deny_paths": ["c"]},
    }
    for name in ("intern", "Intern", "INTERN "):
        both = policy(name, tables)
        assert (both.deny_paths, both.max_tokens) == (("a", "b"), 500)
        assert both.rules == ("[agents.Intern] in foveal.toml", "[agents.intern] in foveal.toml")
    globs = {"Intern-*": {"deny_paths": ["a"]}, "intern-*": {"deny_paths": ["b"]}, "inter*": {"allow": False}}
    assert policy("intern-7", globs).deny_paths == ("a", "b")
    assert not policy("Bot", {"[!a-z]*": {"allow": False}}).allow, "letters in a set count as they are, too"


def test_a_denied_agent_is_told_by_which_rule() -> None:
    assert "[agents.stranger] in foveal.toml" in policy("stranger", TABLES).refusal()
    assert policy("intern", TABLES).refusal() == ""


def test_paths_are_hidden_with_all_below_them() -> None:
    intern, front = policy("intern", TABLES), policy("intern-7", TABLES)
    for path in ("secret/a.py", "secret/deep/b.py"):
        assert intern.hides(path)
        assert intern.denies(path)
    for path in ("secrets.py", "src/secret/a.py", "src/a.py"):
        assert not intern.hides(path)
    for path in ("private", "private/a.py", "src/private/deep/a.py"):
        assert front.hides(path)
    assert not front.hides("privateer/a.py")
    assert policy("x", TABLES).hides("payroll/2026.csv")
    assert "deny_paths of [agents.intern]" in intern.why_hidden("secret/a.py")


def test_files_of_secrets_are_hidden_from_everyone_but_where_the_user_lets_them_through() -> None:
    assert NO_POLICY.hides("deploy/.env")
    assert not NO_POLICY.denies("deploy/.env")
    assert "secrets" in NO_POLICY.why_hidden("id_rsa")
    allowed = AgentTables().policy_for("sam", "", ("certs/*.pem",))
    assert not allowed.hides("certs/public.pem")
    assert allowed.hides("certs/.env")


def test_items_are_denied_by_type_name_and_server() -> None:
    intern, front = policy("intern", TABLES), policy("intern-front-1", TABLES)
    assert intern.denies_item("tool", "query", "db")
    assert not intern.denies_item("rule", "query")
    assert front.denies_item("rule", "deploy-prod")
    assert not front.denies_item("rule", "style")
    assert front.denies_item("tool", "query", "db")
    assert not front.denies_item("tool", "query", "web")


def test_both_files_take_away_and_neither_gives_back() -> None:
    user = {"bot": {"deny_paths": ["a"], "max_tokens": 500}, "gone": {"allow": False}}
    project = {"bot": {"deny_paths": ["b"], "max_tokens": 900}, "gone": {"allow": True}}
    both = policy("bot", project, user)
    assert both.deny_paths == ("a", "b")
    assert both.max_tokens == 500
    assert both.rules == ("[agents.bot] in config.toml", "[agents.bot] in foveal.toml")
    assert not policy("gone", project, user).allow


@pytest.mark.parametrize(
    ("tables", "field"),
    [
        ([], "agents"),
        ({"a": 1}, "agents.a"),
        ({"a": {"deny": ["x"]}}, "agents.a"),
        ({"a": {"allow": "no"}}, "agents.a.allow"),
        ({"a": {"deny_paths": "x"}}, "agents.a.deny_paths"),
        ({"a": {"deny_paths": ["../x"]}}, "agents.a.deny_paths"),
        ({"a": {"deny_items": ["file"]}}, "agents.a.deny_items"),
        ({"a": {"deny_items": ["tool:"]}}, "agents.a.deny_items"),
        ({"a": {"max_tokens": -1}}, "agents.a.max_tokens"),
        ({"a": {"max_tokens": True}}, "agents.a.max_tokens"),
        ({"a": {"deny_paths": ["x"] * 1001}}, "agents.a.deny_paths"),
        ({"!a": {}}, 'agents."!a"'),
        ({"a/\u2025/b": {}}, 'agents."a/\u2025/b"'),  # two dots, as one character
    ],
)
def test_what_cannot_be_read_is_refused_with_its_field(tables: Any, field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_agent_tables(tables)
    assert caught.value.field == field
