"""Owns the page that documents the configuration, and each key as it is shown there; reads no file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .config import KEYS, TABLES, TYPE_NAMES, KeyRule, ProjectRule, rule_of


class KeyDescription(NamedTuple):
    """One key as the documentation shows it; `default` is in TOML's syntax, `range` may be empty."""

    table: str
    key: str
    type: str
    default: str
    description: str
    where: str
    """`user`, or `user, project` followed by what the project's file may do."""
    unit: str
    range: str


def describe() -> list[KeyDescription]:
    """List every key in the order of its definition."""
    return [
        KeyDescription(
            table,
            key.name,
            TYPE_NAMES[str(key.type)],
            _toml(key.default),
            rule.description,
            _WHERE[rule.project],
            rule.unit,
            _range_of(rule),
        )
        for table, keys in KEYS.items()
        for key, rule in ((key, rule_of(key)) for key in keys.values())
    ]


def render_page() -> str:
    """Render docs/configuration.md; a test holds the file equal to it."""
    lines = [_PAGE_HEAD]
    for table, owner in TABLES.items():
        lines += [
            f"## {str(owner.__doc__).strip()}",
            "",
            "| key | type | default | unit | allowed | in foveal.toml | meaning |",
            "|---|---|---|---|---|---|---|",
            *(
                f"| `{key.key}` | {key.type} | `{key.default}` | {key.unit} | {key.range} "
                f"| {key.where.partition('project: ')[2] or 'no'} | {key.description} |"
                for key in describe()
                if key.table == table
            ),
            "",
        ]
    return "\n".join([*lines, _PAGE_FOOT])


_WHERE: Mapping[ProjectRule, str] = {
    "no": "user",
    "set": "user, project: any value",
    "smaller": "user, project: only smaller",
    "add": "user, project: adds to the user's",
}


def _range_of(rule: KeyRule) -> str:
    if rule.choices:
        return ", ".join(f"`{choice}`" for choice in rule.choices)
    if rule.folder_names:
        return "names without `/`"
    if rule.minimum is None:
        return ""
    return f"{rule.minimum} to {rule.maximum}"


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    return "[]" if value == () else str(value)


_PAGE_HEAD = """\
# Configuration

Every key is optional, and without any file foveal runs with the defaults below.
This page is made from `daemon/config.py`, and a test holds both equal.

There are two files, both in [TOML](https://toml.io):

| file | where | who writes it |
|---|---|---|
| `config.toml` | the user's config folder: `~/.config/foveal/` on Linux (or `$XDG_CONFIG_HOME/foveal/`), \
`~/Library/Application Support/foveal/` on macOS | you, for all your projects |
| `foveal.toml` | a project's root | the project |

A project's file comes with a repository that you may not have read, so it can't make the \
daemon read, run or send more.
It may only narrow: leave out more files, ask for smaller limits, weigh the parts of a context differently, \
but never your rules and constraints.
A key that it may not set is ignored with a warning, and a value above yours is \
lowered to yours with a warning.

An unknown key or table gives a warning with the nearest known one.
A wrong type, a value out of range, invalid TOML, text that is not UTF-8 and a file above 1 MiB are errors \
that name the file, the line, the key and what was expected.

```toml
# ~/.config/foveal/config.toml
[daemon]
idle_shutdown_minutes = 0

[scan]
exclude = ["*.min.js", "fixtures/"]

[context]
max_tokens = 16000
reserve_tokens = 4000

[weights]
agent_history = 0.8
```
"""

_PAGE_FOOT = """\
## `[[items]]`: rules and references that an agent can be given.

Each table is an item: `type` (`rule` or `reference`), `name`, `text`, and optional `include` (`always`, the \
default, `manual`, `agent`, `glob`), `description`, `globs`, `priority_level` (100 to 999, lowest first).
Both files may have them; one of the user goes before one of the project with its name.

```toml
[[items]]
type = "rule"
name = "migrations"
include = "agent"
description = "How to change the schema of the database."
text = "Write a migration for each change of a table."
```

## `[selection]`: which items of mode `agent` a message gets.

Both files may have it, the project's going before the user's.
`[selection.agents.NAME]` holds for agents of a name and goes before both, and what a session says before all.

| key | meaning |
|---|---|
| `preset` | `aggressive` (the fewest items), `normal` (the default), `conservative` (the most) or `off` |
| `top_k` | so many parts of texts, the best ones, are looked at |
| `include_score` | what scores so much or more is taken |
| `top_n` | others fill up to so many |
| `floor` | what scores less is never taken |
| `rules`, `tools` | a preset, `off`, or a table with the keys above, for rules and references, or for tools |

```toml
[selection]
preset = "normal"
tools = "off"

[selection.agents.reviewer]
rules = { preset = "aggressive", top_n = 2 }
```
"""
