"""The keys of the configuration: each has its rule, and those that a project may set were chosen."""

from __future__ import annotations

from dataclasses import fields

from foveal.daemon.config.settings import FREE_TABLES, KEYS, TABLES, Environment, ProjectConfig, UserConfig
from foveal.daemon.config.source import TYPE_NAMES, rule_of

NAMED = ("models", "model_caps", "tasks")
"""Tables with names of the user's choice as keys; test_config_named.py has their tests."""


def test_every_field_is_a_key_with_a_rule() -> None:
    config = UserConfig()
    expected = {
        table.name: [key.name for key in fields(getattr(config, table.name)) if key.name not in NAMED]
        for table in fields(config)
        if table.name not in FREE_TABLES
    }
    assert {table: list(keys) for table, keys in KEYS.items()} == expected
    assert {table: type(getattr(config, table)) for table in KEYS} == TABLES
    for keys in KEYS.values():
        for key in keys.values():
            rule = rule_of(key)
            assert rule.description.endswith(".")
            assert str(key.type) in TYPE_NAMES
            is_number = isinstance(key.default, int | float) and not isinstance(key.default, bool)
            assert (rule.minimum is not None) == is_number
            assert not rule.choices or isinstance(key.default, str)


def test_a_default_keeps_its_own_rule() -> None:
    for keys in KEYS.values():
        for key in keys.values():
            rule = rule_of(key)
            if isinstance(key.default, bool):
                assert rule.minimum is None
            elif isinstance(key.default, int | float):
                assert rule.minimum is not None
                assert rule.maximum is not None
                assert rule.minimum <= key.default <= rule.maximum
            elif isinstance(key.default, str):
                assert not rule.choices or key.default in rule.choices


def test_only_known_keys_may_be_set_by_a_project() -> None:
    """A list on purpose: whoever lets a project's file set one more key must think about it here."""
    allowed = [
        f"{table}.{name}"
        for table, keys in KEYS.items()
        for name, key in keys.items()
        if rule_of(key).project != "no"
    ]
    assert allowed == [
        "scan.max_file_bytes",
        "scan.exclude",
        "scan.skip_folders_extra",
        "context.max_tokens",
        "context.reserve_tokens",
        "context.hook_tokens",
        "context.max_bytes",
        "context.deadline_ms",
        "context.dependencies_max",
        "context.hits_max",
        "context.experiences_max",
        "weights.project_meta",
        "weights.focus",
        "weights.document",
        "weights.compressed_segment",
        "weights.session_set",
        "weights.dependency",
        "weights.agent_history",
        "weights.hot",
        "weights.skeleton",
        "experience.path",
    ]
    tables = {table.name for table in fields(ProjectConfig())}
    # What a project may not set, and yet holds for each one, is the user's `[privacy]`.
    assert {name.partition(".")[0] for name in allowed} == tables.difference({*FREE_TABLES, "privacy"})


def test_the_environment_knows_the_users_file() -> None:
    environment = Environment("/home/u", "/home/u/state", "/home/u/.config/foveal", 1000)
    assert environment.config_path == "/home/u/.config/foveal/config.toml"
