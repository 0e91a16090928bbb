"""Owns the tables whose keys are names of the user's choice: `[context.models]` and `[weights.TASK_TYPE]`."""

from __future__ import annotations

from collections.abc import Mapping

from .settings import KEYS, rule_of
from .source import ConfigSource
from .values import Setting, checked, quoted, type_of, wrong
from .warnings import Warnings

NAMES_MAX = 100
"""Models or types of tasks in a file; a hostile one may have thousands."""

NAME_CHARACTERS_MAX = 100

Tasks = tuple[tuple[str, tuple[tuple[str, float], ...]], ...]


def is_named_table(table: str, name: str, value: object) -> bool:
    """Whether a key of a table is one of the tables that this file reads."""
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
    tables = {name: one for name, one in _table(source, "weights").items() if isinstance(one, dict)}
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
    """Return the weights of both, key by key those of `above` where it has any."""
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
