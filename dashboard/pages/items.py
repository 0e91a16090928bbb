"""Items as several pages show them: rules, references and tools, their modes and their order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

ItemKey = tuple[str, str, str]
"""Type, name and server of an item, as a key: the server is empty for all but tools."""


@dataclass(frozen=True, slots=True)
class Mode:
    """An include mode: its title, the kind of its badge, and its meaning."""

    title: str
    kind: str
    means: str


MODES: Final[Mapping[str, Mode]] = {
    "always": Mode("Always", "accent", "In every conversation, from its first message on."),
    "manual": Mode("Manual", "", "Only where somebody adds it to a session, or a request names it."),
    "agent": Mode("Agent", "horizon", "For a message that a search finds to be about it."),
    "glob": Mode("Glob", "anchor", "For a message about a file that matches its patterns."),
}
"""The include modes; an unknown mode is shown by its own name."""

COLUMNS: Final[Sequence[tuple[str, str]]] = (
    ("rule", "Rules"),
    ("reference", "References"),
    ("tool", "Tools"),
)
"""The types of items, and the titles of their columns."""

KINDS: Final = tuple(kind for kind, _ in COLUMNS)

LAST_LEVEL: Final = 1_000
"""The sort key of items that are gone, after the levels 1 to 999."""


def key_of(item: Mapping[str, Any]) -> ItemKey:
    """Return the key of an item."""
    return item["type"], item["name"], item.get("server_name") or ""


def key_fields(item: Mapping[str, Any]) -> dict[str, str]:
    """Return the parameters that name an item to the daemon."""
    kind, name, server = key_of(item)
    return {"type": kind, "name": name, **({"server_name": server} if server else {})}


def mode_of(name: str) -> Mode:
    """Return a mode by its name on the wire."""
    return MODES.get(name) or Mode(name, "warn", "A way that this version of the dashboard doesn't know.")


def rows_of(items: Iterable[Mapping[str, Any]], known: Mapping[ItemKey, Any]) -> list[dict[str, Any]]:
    """Return items that a session or request names, with what is known of them today.

    `known` are the items of ListItems by key. `priority_level` is the recorded one, else today's, else None;
    `description`, `source`, `line` are today's, and an item that no longer exists is `gone`.
    """
    rows = []
    for item in items:
        today = known.get(key_of(item))
        about = today or {}
        rows.append(
            {
                "server_name": "",
                "similarity_score": None,
                **item,
                "description": about.get("description", ""),
                "priority_level": item.get("priority_level") or about.get("priority_level"),
                "source": about.get("source", ""),
                "line": about.get("line", 1),
                "gone": today is None,
            }
        )
    return sorted(rows, key=order_of)


def order_of(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the sort key of a row: column, priority, name, and for tools of one name the server."""
    level = row["priority_level"] or LAST_LEVEL
    name, server = row["name"], row.get("server_name") or ""
    return KINDS.index(row["type"]), level, name.casefold(), name, server


def columns_of(rows: Iterable[Mapping[str, Any]]) -> list[tuple[str, str, list[Mapping[str, Any]]]]:
    """Return the three columns: type, title, and their rows in the order that they are given in."""
    found: dict[str, list[Mapping[str, Any]]] = {kind: [] for kind, _ in COLUMNS}
    for row in rows:
        found[row["type"]].append(row)
    return [(kind, title, found[kind]) for kind, title in COLUMNS]


def matches(words: Sequence[str], *texts: str) -> bool:
    """Whether the texts contain every word, ignoring case."""
    if not words:
        return True
    whole = "\n".join(texts).casefold()
    return all(word in whole for word in words)
