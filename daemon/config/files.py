"""Owns the two configuration files: what each may set, and how a project's narrows the user's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Generic, TypeVar

from msgspec import Struct, structs

from ..core.errors import ConfigError, InvalidRequest
from ..core.system import Stamp, System
from ..privacy.agent_tables import AgentTable, AgentTables, parse_agent_tables
from ..project.globs import compile_glob
from ..rules.selection import ItemSelection, parse_selection
from .editor_links import editor_problem
from .named_tables import is_named_table, merged, models_in, task_weights_in
from .settings import (
    FREE_TABLES,
    KEYS,
    PROJECT_FILE,
    USER_FILE,
    CompressionConfig,
    ContextConfig,
    DaemonConfig,
    DashboardConfig,
    EmbeddingConfig,
    ExperienceConfig,
    PrivacyConfig,
    ProjectConfig,
    ScanConfig,
    ScopesConfig,
    SelectionConfig,
    UserConfig,
    WeightsConfig,
)
from .source import ConfigSource, read_source
from .values import Setting, checked, quoted, type_of, wrong
from .warnings import Warnings

C = TypeVar("C")


class LoadedConfig(Struct, Generic[C], frozen=True):
    """A configuration with what a person should know about its file.

    `warnings` are whole sentences that begin with the file's path. `stamp` is that of the file that was
    read, None where there is none: a different stamp later means that it must be read again.
    """

    config: C
    warnings: tuple[str, ...] = ()
    stamp: Stamp | None = None


def load_user_config(path: str, system: System) -> LoadedConfig[UserConfig]:
    """Read the user's config.toml; a missing file gives the defaults.

    Raises `ConfigError` for a file that can't be read or parsed and for a value of a wrong type or range.
    """
    source = read_source(path, system)
    if source is None:
        return LoadedConfig(UserConfig())
    warnings = Warnings(source)
    changes: dict[str, dict[str, Any]] = {}
    for setting in _settings(source, warnings):
        changes.setdefault(setting.table, {})[setting.name] = checked(setting, source)
    config = UserConfig(
        daemon=DaemonConfig(**changes.get("daemon", {})),
        scan=ScanConfig(**changes.get("scan", {})),
        embedding=EmbeddingConfig(**changes.get("embedding", {})),
        compression=CompressionConfig(**changes.get("compression", {})),
        scopes=ScopesConfig(**changes.get("scopes", {})),
        context=_with_room(ContextConfig(**changes.get("context", {}), models=models_in(source)), warnings),
        weights=WeightsConfig(
            **changes.get("weights", {}), tasks=task_weights_in(source, warnings, trusted=True)
        ),
        experience=ExperienceConfig(**changes.get("experience", {})),
        selection=_selection(source, SelectionConfig(), trusted=True),
        privacy=_privacy(source, changes.get("privacy", {})),
        dashboard=_dashboard(source, changes.get("dashboard", {})),
        agents=AgentTables(user=_agents(source)),
    )
    return LoadedConfig(config, warnings.sentences(), source.stamp)


def load_project_config(
    root: str, user: UserConfig, system: System, path: str = ""
) -> LoadedConfig[ProjectConfig]:
    """Read foveal.toml in a project's root, or the copy of it at `path`, and narrow the user's values by it;
    without one they stay.

    The file is untrusted: a key that it may not set and a value that would widen the user's give a warning
    and change nothing. Raises `ConfigError` as `load_user_config` does.
    """
    config = ProjectConfig(
        user.scan, user.context, user.weights, user.experience, user.selection, user.privacy, user.agents
    )
    source = read_source(path or os.path.join(root, PROJECT_FILE), system, within=root)
    if source is None:
        return LoadedConfig(config)
    warnings = Warnings(source)
    changes: dict[str, dict[str, Any]] = {}
    for setting in _settings(source, warnings):
        if setting.rule.project == "no":
            warnings.add(
                setting.table,
                setting.name,
                f"{setting.full_name} belongs into the user's own {USER_FILE} and is ignored here: "
                "a repository is not trusted, so its file may only narrow what the daemon reads and shows.",
            )
            continue
        value = checked(setting, source)
        own = getattr(getattr(user, setting.table), setting.name)
        changes.setdefault(setting.table, {})[setting.name] = _narrowed(setting, value, own, warnings)
    context = changes.get("context", {})
    caps = models_in(source)
    if context.get("max_tokens", user.context.max_tokens) < user.context.max_tokens:
        caps = (*caps, ("*", context["max_tokens"]))
    tasks = task_weights_in(source, warnings, trusted=False)
    config = ProjectConfig(
        replace(config.scan, **changes.get("scan", {})),
        _with_room(replace(config.context, **context, model_caps=caps), warnings),
        replace(config.weights, **changes.get("weights", {}), tasks=merged(user.weights.tasks, tasks)),
        replace(config.experience, **changes.get("experience", {})),
        _selection(source, user.selection, trusted=False),
        user.privacy,
        structs.replace(user.agents, project=_agents(source)),
    )
    return LoadedConfig(config, warnings.sentences(), source.stamp)


def _settings(source: ConfigSource, warnings: Warnings) -> Iterator[Setting]:
    """Yield the known keys that a file sets; name the others in a warning."""
    for table, content in source.tables.items():
        if table in FREE_TABLES:
            continue
        keys = KEYS.get(table)
        if keys is None:
            warnings.add_unknown("", table, content)
        elif not isinstance(content, dict):
            raise wrong(source, table, "a table", type_of(content))
        else:
            for name, value in content.items():
                if is_named_table(table, name, value):
                    continue
                if name in keys:
                    yield Setting(table, name, keys[name], value)
                else:
                    warnings.add_unknown(table, name, value)


def _selection(source: ConfigSource, below: SelectionConfig, *, trusted: bool) -> SelectionConfig:
    """Return the settings of `[selection]` and `[selection.agents]` on top of the user's."""
    table = source.tables.get("selection")
    if table is None:
        return below
    try:
        if not isinstance(table, dict):
            raise InvalidRequest("selection must be a table")
        agents = table.get("agents", {})
        if not isinstance(agents, dict):
            raise InvalidRequest("selection.agents must be a table with an agent's name for each table in it")
        own = parse_selection(table)
        by_agent: dict[str, ItemSelection] = {
            name: parse_selection(one, f"selection.agents.{name}") for name, one in agents.items()
        }
    except InvalidRequest as error:
        raise ConfigError(f"{source.place('selection')}: {error}. Mend it or take it away.") from error
    if trusted:
        return replace(below, user=own, user_agents=by_agent)
    return replace(below, project=own, project_agents=by_agent)


def _agents(source: ConfigSource) -> tuple[AgentTable, ...]:
    """Return the tables of `[agents]`. One that can't be used is an error and not a warning: what it was to
    close would be open."""
    tables = source.tables.get("agents")
    if tables is None:
        return ()
    try:
        return parse_agent_tables(tables)
    except InvalidRequest as error:
        place = source.place(error.field or "agents")
        raise ConfigError(f"{place}: {error}. Mend it or take it away.") from error


def _privacy(source: ConfigSource, changes: dict[str, Any]) -> PrivacyConfig:
    config = PrivacyConfig(**changes)
    for pattern in config.show_files:
        try:
            compile_glob(pattern)
        except ValueError as error:
            place = source.place("privacy.show_files")
            raise ConfigError(f"{place}: privacy.show_files can't be used: {error}") from error
    return config


def _dashboard(source: ConfigSource, changes: dict[str, Any]) -> DashboardConfig:
    config = DashboardConfig(**changes)
    if problem := editor_problem(config.editor):
        raise ConfigError(f"{source.place('dashboard.editor')}: dashboard.editor {problem}.")
    return config


def _narrowed(setting: Setting, value: object, own: object, warnings: Warnings) -> object:
    """Return what a project's value makes of the user's own one."""
    if isinstance(value, tuple) and isinstance(own, tuple):
        return tuple(dict.fromkeys(own + _narrowing(setting, value, warnings)))
    if setting.rule.project == "smaller" and isinstance(value, int) and isinstance(own, int) and value > own:
        warnings.add(
            setting.table,
            setting.name,
            f"{setting.full_name} is {value}, more than the {own} of the user's configuration, "
            "which stays in force; a project's file may only lower it.",
        )
        return own
    return value


def _narrowing(setting: Setting, values: tuple[str, ...], warnings: Warnings) -> tuple[str, ...]:
    """Return the patterns that leave files out, without those that would bring files back."""
    widening = [value for value in values if value.lstrip().startswith("!") and not setting.rule.folder_names]
    if widening:
        warnings.add(
            setting.table,
            setting.name,
            f"{setting.full_name}: {quoted(widening[0])} would bring files back and is ignored; "
            "a project's file may only leave files out.",
        )
    return tuple(value for value in values if value not in widening)


def _with_room(context: ContextConfig, warnings: Warnings) -> ContextConfig:
    """Lower a reserve that would leave no token for the context to a quarter, the defaults' proportion."""
    if context.reserve_tokens < context.max_tokens:
        return context
    reserve = context.max_tokens // 4
    warnings.add(
        "context",
        "max_tokens",
        f"context.reserve_tokens ({context.reserve_tokens}) is not below context.max_tokens "
        f"({context.max_tokens}); {reserve} is used.",
    )
    return replace(context, reserve_tokens=reserve)
