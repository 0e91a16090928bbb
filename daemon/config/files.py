"""The two configuration files: what each may set, how a project narrows the user's, and valid copies."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Generic, TypeVar

from msgspec import Struct, structs

from ..core.errors import ConfigError, InvalidRequest
from ..core.globs import compile_glob
from ..core.system import Stamp, System
from ..privacy.policy import AgentTable, AgentTables, parse_agent_tables
from ..privacy.trust import PROJECT_FILE
from .addresses import applet_problem, editor_problem
from .item_selection import ItemSelection, parse_selection
from .linked import LinkedConfig, ProjectLinks, parse_links, parse_user_links
from .settings import (
    FORMER_KEYS,
    FREE_TABLES,
    KEYS,
    TABLES,
    USER_FILE,
    ContextConfig,
    EmbeddingConfig,
    PrivacyConfig,
    ProjectConfig,
    SelectionConfig,
    UserConfig,
)
from .source import (
    MAX_CONFIG_BYTES,
    ConfigSource,
    Setting,
    checked,
    quoted,
    read_source,
    rule_of,
    type_of,
    wrong,
)

C = TypeVar("C")


class LoadedConfig(Struct, Generic[C], frozen=True):
    """A configuration with warnings about its file.

    `warnings` are whole sentences that begin with the file's path. `stamp` is that of the file that was
    read, None if there is none: a different stamp later means that it must be read again.
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
    tables: dict[str, Any] = {name: owner(**changes.get(name, {})) for name, owner in TABLES.items()}
    config = UserConfig(
        **tables,
        selection=_selection(source, SelectionConfig(), trusted=True),
        agents=AgentTables(user=_agents(source)),
        linked=_parsed(source, "linked", parse_user_links, LinkedConfig()),
    )
    context = _with_room(replace(config.context, models=models_in(source)), warnings)
    weights = replace(config.weights, tasks=task_weights_in(source, warnings, trusted=True))
    _check_embedding(source, config.embedding)
    _check_privacy(source, config.privacy)
    _check_address(source, "dashboard.editor", editor_problem(config.dashboard.editor))
    _check_address(source, "applet.url", applet_problem(config.applet.url))
    return LoadedConfig(replace(config, context=context, weights=weights), warnings.sentences(), source.stamp)


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
        ProjectLinks(_parsed(source, "linked", parse_links, ())),
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
                if is_named_table(table, name, value) or (table, name) in FORMER_KEYS:
                    continue
                if name in keys:
                    yield Setting(table, name, keys[name], value)
                else:
                    warnings.add_unknown(table, name, value)


def _selection(source: ConfigSource, below: SelectionConfig, *, trusted: bool) -> SelectionConfig:
    """Return the settings of `[selection]` and `[selection.agents]` over the user's."""
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
            name: parse_selection(value, f"selection.agents.{name}") for name, value in agents.items()
        }
    except InvalidRequest as error:
        raise ConfigError(f"{source.place('selection')}: {error}. Mend it or take it away.") from error
    if trusted:
        return replace(below, user=own, user_agents=by_agent)
    return replace(below, project=own, project_agents=by_agent)


def _agents(source: ConfigSource) -> tuple[AgentTable, ...]:
    """Return the tables of `[agents]`. An invalid table is an error and not a warning: without it the agent
    would see what the table was to hide."""
    return _parsed(source, "agents", parse_agent_tables, ())


def _parsed(source: ConfigSource, name: str, parse: Callable[[object], C], without: C) -> C:
    """Return what a table without fixed keys says, `without` if there is none. Raises `ConfigError`."""
    content = source.tables.get(name)
    if content is None:
        return without
    try:
        return parse(content)
    except InvalidRequest as error:
        place = source.place(error.field or name)
        raise ConfigError(f"{place}: {error}. Mend it or take it away.") from error


def _check_privacy(source: ConfigSource, config: PrivacyConfig) -> None:
    for pattern in config.show_files:
        try:
            compile_glob(pattern)
        except ValueError as error:
            place = source.place("privacy.show_files")
            raise ConfigError(f"{place}: privacy.show_files can't be used: {error}") from error


def _check_address(source: ConfigSource, name: str, problem: str) -> None:
    if problem:
        raise ConfigError(f"{source.place(name)}: {name} {problem}.")


def _check_embedding(source: ConfigSource, config: EmbeddingConfig) -> None:
    # No message quotes these values: they may hold a password.
    if config.shared and not _STORE_URL.fullmatch(config.shared):
        raise ConfigError(
            f"{source.place('embedding.shared')}: embedding.shared must be the URL of a Redis server, such "
            "as rediss://cache.example.com:6380/0."
        )
    if config.endpoint:
        from ..core.model_endpoint import problem_of_url  # imports asyncio, which commands do without

        problem = problem_of_url("embedding.endpoint", config.endpoint, "", "embedding.endpoint_key")
        if not config.model:
            problem = problem or "embedding.endpoint needs embedding.model, the name of the model there"
        if problem:
            raise ConfigError(f"{source.place('embedding.endpoint')}: {problem}.")
    for name in ("shared_password", "shared_secret", "endpoint_key"):
        if not _CREDENTIAL.fullmatch(getattr(config, name)):
            raise ConfigError(
                f"{source.place('embedding.' + name)}: embedding.{name} must say where it is: env:NAME for "
                "an environment variable of the daemon, file:PATH for an absolute path, never itself."
            )


_STORE_URL = re.compile(r"rediss?://[^\s/?#]+(/\d*)?(\?\S*)?", re.ASCII)
_CREDENTIAL = re.compile(r"|env:[A-Za-z_][A-Za-z0-9_]*|file:[~/].*", re.ASCII)


def _narrowed(setting: Setting, value: object, own: object, warnings: Warnings) -> object:
    """Return a project's value narrowed by the user's."""
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
    """Return the patterns that exclude files, without those that would include files again."""
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


NAMES_MAX = 100
"""Maximum number of models or types of tasks in a file; a hostile file may have thousands."""

NAME_CHARACTERS_MAX = 100

Tasks = tuple[tuple[str, tuple[tuple[str, float], ...]], ...]


def is_named_table(table: str, name: str, value: object) -> bool:
    """Whether a key is one of the tables of models and types of tasks."""
    return (table == "context" and name == "models") or (table == "weights" and isinstance(value, dict))


def models_in(source: ConfigSource) -> tuple[tuple[str, int], ...]:
    """Return the globs of `[context.models]` with their `max_tokens`, in order. Raises `ConfigError`."""
    content = _table(source, "context").get("models")
    if content is None:
        return ()
    if not isinstance(content, dict):
        raise wrong(source, "context.models", "a table of models' names", type_of(content))
    _check_names(source, "context.models", content)
    key = KEYS["context"]["max_tokens"]
    for name, value in content.items():
        checked(Setting("context", f"models.{name}", key, value), source)
    return tuple(content.items())


def task_weights_in(source: ConfigSource, warnings: Warnings, *, trusted: bool) -> Tasks:
    """Return the weights of `[weights.TASK_TYPE]`, sorted by type and key. Raises `ConfigError`.

    A file that isn't `trusted` can set no weight that it can't set for all tasks.
    """
    tables = {name: value for name, value in _table(source, "weights").items() if isinstance(value, dict)}
    _check_names(source, "weights", tables)
    found: dict[str, tuple[tuple[str, float], ...]] = {}
    for task, content in sorted(tables.items()):
        own: dict[str, float] = {}
        for name, value in content.items():
            key = KEYS["weights"].get(name)
            if key is None:
                warnings.add_unknown(f"weights.{task}", name, value)
            elif not trusted and rule_of(key).project == "no":
                warnings.add(
                    f"weights.{task}",
                    name,
                    f"weights.{task}.{name} belongs into the user's own file and is ignored here: a "
                    "repository is not trusted, so its file can't weigh what the user asks for.",
                )
            else:
                weight = checked(Setting("weights", f"{task}.{name}", key, value), source)
                assert isinstance(weight, float)
                own[name] = weight
        found[task] = tuple(sorted(own.items()))
    return tuple(found.items())


def merged(below: Tasks, above: Tasks) -> Tasks:
    """Return the weights merged key by key; those of `above` win."""
    tasks = {task: dict(weights) for task, weights in below}
    for task, weights in above:
        tasks[task] = {**tasks.get(task, {}), **dict(weights)}
    return tuple((task, tuple(sorted(weights.items()))) for task, weights in sorted(tasks.items()))


def _table(source: ConfigSource, name: str) -> Mapping[str, object]:
    content = source.tables.get(name)
    return content if isinstance(content, dict) else {}


def _check_names(source: ConfigSource, table: str, content: Mapping[str, object]) -> None:
    if len(content) > NAMES_MAX:
        raise wrong(source, table, f"a table of at most {NAMES_MAX} names", f"one of {len(content)}")
    for name in content:
        if not 0 < len(name) <= NAME_CHARACTERS_MAX or not name.isprintable():
            expected = f"a table of printable names of 1 to {NAME_CHARACTERS_MAX} characters"
            raise wrong(source, table, expected, f"one with {quoted(name)}")


_MAX_WARNINGS = 20
_MAX_COMPARED = 60


class Warnings:
    """Collects the warnings about one file; a hostile one can't make more than `_MAX_WARNINGS` of them."""

    def __init__(self, source: ConfigSource) -> None:
        self._source = source
        self._sentences: list[str] = []
        self._more = 0

    def add(self, table: str, name: str, text: str) -> None:
        """Add a sentence about a key of a table, or about one outside any if `table` is empty."""
        if len(self._sentences) < _MAX_WARNINGS:
            place = self._source.place(f"{table}.{name}" if table else name)
            self._sentences.append(f"{place}: {text}")
        else:
            self._more += 1

    def add_unknown(self, table: str, name: str, value: object) -> None:
        """Add that a key or a table is unknown, with the nearest known one."""
        if len(self._sentences) >= _MAX_WARNINGS:
            self._more += 1  # so that no nearest key is searched for each of a hostile file's 100,000 keys
            return
        is_table = not table and isinstance(value, dict)
        nearest = _nearest_table(name) if is_table else _nearest_key(table, name)
        what = f"unknown {'table' if is_table else 'key'} {quoted(f'{table}.{name}' if table else name)}"
        hint = f"did you mean {nearest}?" if nearest else "docs/settings.md lists the known ones."
        self.add(table, name, f"{what} is ignored; {hint}")

    def sentences(self) -> tuple[str, ...]:
        """Return the warnings."""
        rest = (f"{self._source.path}: {self._more} more warnings.",) if self._more else ()
        return (*self._sentences, *rest)


def _nearest_table(name: str) -> str:
    return next((f"[{near}]" for near in difflib.get_close_matches(name[:_MAX_COMPARED], KEYS, 1)), "")


def _nearest_key(table: str, name: str) -> str:
    """Return the known key that was most likely meant, of the same table where one is near, or nothing."""
    name = name[:_MAX_COMPARED]
    if near := difflib.get_close_matches(name, KEYS.get(table, ()), 1):
        return f"{table}.{near[0]}"
    owners = {key: owner for owner, keys in KEYS.items() for key in keys}
    return next((f"{owners[key]}.{key}" for key in difflib.get_close_matches(name, owners, 1)), "")


IN_FORCE = "The settings from before are in force."


def load_or_last(
    load: Callable[[str], LoadedConfig[C]], path: str, last: str, system: System
) -> tuple[LoadedConfig[C], str]:
    """Return a configuration, and why the copy at `last` is used, or "".

    `load` reads the file at a path. Each valid file is copied, an absent one as an empty copy. Raises
    `ConfigError` if neither can be used.
    """
    try:
        loaded = load(path)
    except ConfigError as error:
        try:
            kept = load(last)
        except ConfigError:
            raise error from None
        if kept.stamp is None:
            raise
        # The stamp is that of another file: this one is read again when it changes.
        return structs.replace(kept, warnings=(), stamp=None), f"{error} {IN_FORCE}"
    _keep(path, last, system)
    return loaded, ""


def _keep(path: str, last: str, system: System) -> None:
    """Copy a file unless it was copied before. A failed copy is retried the next time."""
    data, former = _content(path, system), _content(last, system)
    if data is not None and data != former:
        try:
            system.write_atomic(last, data)
        except OSError:
            return


def _content(path: str, system: System) -> bytes | None:
    """Return the content of a file, empty if there is none; None if it can't be read."""
    try:
        return system.read(path, MAX_CONFIG_BYTES)[0]
    except FileNotFoundError:
        return b""
    except OSError:
        return None


def config_problems(path: str, in_force: UserConfig, system: System) -> tuple[str, ...]:
    """Return what is wrong with config.toml now, in words, and whether the daemon runs with other
    settings. Reads the file."""
    try:
        loaded = load_user_config(path, system)
    except ConfigError as error:
        return (f"{error} {IN_FORCE}",)
    if loaded.config == in_force:
        return loaded.warnings
    changed = f"{path} was changed after the daemon started. {IN_FORCE} To change over: foveal restart"
    return (*loaded.warnings, changed)
