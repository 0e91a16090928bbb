"""The keys of the configuration: each has its rule, and those that a project may set were chosen."""

from __future__ import annotations

from dataclasses import fields

from foveal.daemon.config.settings import FREE_TABLES, KEYS, Environment, ProjectConfig
from foveal.daemon.config.source import rule_of


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
        "context.tool_help",
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
