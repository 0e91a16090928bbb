"""Writes the tables of settings in docs/settings.md from the settings themselves.

Run it as `python -m docs.configuration_tables`; a test compares the page with what it would write.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from foveal.daemon.config.settings import KEYS, TABLES
from foveal.daemon.config.source import TYPE_NAMES, KeyRule, ProjectRule, rule_of

PAGE = Path(__file__).parent / "settings.md"
SECTIONS = re.compile(r"^## `\[daemon\]`.*", re.DOTALL | re.MULTILINE)
"""The generated part of the page: a section for each table of settings."""


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


def sections() -> str:
    """Return the sections of all tables."""
    lines: list[str] = []
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
    return "\n".join([*lines, ""])


def page(text: str) -> str:
    """Return the page with the sections as they should be."""
    return SECTIONS.sub(lambda _: sections(), text, count=1)


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


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
