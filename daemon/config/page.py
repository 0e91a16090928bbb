"""The page that documents the configuration, made from the settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .settings import KEYS, TABLES, TYPE_NAMES, KeyRule, ProjectRule, rule_of


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
This page is made from `daemon/config/settings.py`, and a test holds both equal.

There are two files, both in [TOML](https://toml.io):

| file | where | who writes it |
|---|---|---|
| `config.toml` | the user's config folder: `~/.config/foveal/` on Linux (or `$XDG_CONFIG_HOME/foveal/`), \
`~/Library/Application Support/foveal/` on macOS | you, for all your projects |
| `foveal.toml` | a project's root | the project |

`config.toml` is read when the daemon starts: after a change `foveal restart` puts it in force, and \
`foveal status` says so until then; its `[[items]]` and a `foveal.toml` hold from the next request on.

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
## `[context.models]`: the size of a context by the model that a request names.

Each key is a model's name or a glob of it (`*`, `?`, `[…]`), quoted, whatever its case, and each value \
`max_tokens` for such models.
The first one that matches holds, and without any `context.max_tokens` does.
A project's file can only lower them.

```toml
[context.models]
"claude-*" = 24000
"gpt-4o-mini" = 12000
```

## `[weights.TASK_TYPE]`: weights for a type of task.

A table for each type that a request may name as its `task_type`, with any of the keys of `[weights]`; what \
it doesn't name stays as it is there.
A project's file may set the weights that it may set for all.

```toml
[weights.review]
agent_history = 0.9
skeleton = 0.2
```

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
| `top_n` | the maximum number of items |
| `floor` | the lowest score that is taken; set here it decides alone, without the share of the best |
| `include_score` | a score from which on items are taken in spite of `top_n`; by default there is none |
| `top_k` | the number of parts of texts, the best ones, whose items are looked at |
| `rules`, `tools` | a preset, `off`, or a table with the keys above, for rules and references, or for tools |

```toml
[selection]
preset = "normal"
tools = "off"

[selection.agents.reviewer]
rules = { preset = "aggressive", top_n = 1 }
```

The score of an item is its similarity to the message in meaning, up to 1, and up to 0.4 for the words that \
they share; `foveal items search` shows it.
An item is taken if it scores at least `floor` and at least a share of what the best one scores, and is \
among the best `top_n`:

| preset | `top_n` | `floor` for rules | share of the best | `floor` for tools | share of the best | `top_k` |
|---|---|---|---|---|---|---|
| `aggressive` | 3 | 0.4 | 0.9 | 0.36 | 0.9 | 10 |
| `normal` | 5 | 0.3 | 0.7 | 0.32 | 0.7 | 20 |
| `conservative` | 8 | 0.22 | 0.6 | 0.26 | 0.7 | 40 |

## `[agents.NAME]`: what an agent may not see.

Both files may have such tables, and what they take away adds up: a project's file can't lift what yours says.
NAME is an agent's name, its type, or a glob of either (quoted: `[agents."review-*"]`); `[agents."*"]` also \
holds for one that doesn't say its name.
Of each file the most specific table applies: the name, then the type, then the glob with the most letters.
An agent's name is the one that its request gives and the one that its scope and its session keep; where \
these differ, all of their tables hold.

| key | meaning |
|---|---|
| `allow` | `false`: every request for content is answered with `permission_denied` |
| `deny_paths` | globs of files and folders that appear nowhere: in no map, hit, snippet, import or rule. \
Upper and lower case count as the same |
| `deny_items` | items that the agent doesn't get: `rule`, `reference` or `tool`, or one of these with a \
glob of names, as in `tool:db/*` |
| `max_tokens` | the most that `max_tokens` of a request may be |

An unknown key or a wrong value is an error: the project can't be opened, and one that is open keeps the \
tables from before, so that a slip opens nothing.
This is policy and not authentication: an agent says itself who it is, and one that can read the disk needs \
no daemon for it. Counts of a whole project (Status, ListProjects) and events are the same for everyone.

```toml
[agents.stranger]
allow = false

[agents.intern]
deny_paths = ["secret/**", "*.pem"]
deny_items = ["tool", "rule:deploy"]
max_tokens = 4000
```
"""
