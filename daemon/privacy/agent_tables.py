"""The `[agents.NAME]` tables of the configuration: how they are read, and which apply to an agent.

A project's tables come with a repository: they can only restrict more than the user's own tables.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from ..core.errors import InvalidRequest
from ..project.globs import compile_glob
from .policy import Policy, folded_path

ITEM_TYPES = ("rule", "reference", "tool")
PATTERNS_MAX = 1_000
"""Maximum number of patterns in a table; each shown path is compared with all of them."""


class AgentTable(Struct, frozen=True):
    """One table: for agents whose name or type is `pattern` or matches it as a glob."""

    pattern: str
    allow: bool = True
    deny_paths: tuple[str, ...] = ()
    deny_items: tuple[str, ...] = ()
    max_tokens: int | None = None


class AgentTables(Struct, frozen=True):
    """The tables of both files."""

    user: tuple[AgentTable, ...] = ()
    project: tuple[AgentTable, ...] = ()

    def policy_for(self, name: str, kind: str = "", shown_secrets: tuple[str, ...] = ()) -> Policy:
        """Return the policy for an agent of a name and a type, each empty if unknown.

        Of each file the most specific table applies: that of the name, then that of the type, then the glob
        with the most literal characters, of equal ones the first. The restrictions of both files add up.
        """
        found = [
            (table, where)
            for tables, where in ((self.user, "config.toml"), (self.project, "foveal.toml"))
            if (table := _most_specific(tables, name, kind)) is not None
        ]
        limits = [table.max_tokens for table, _ in found if table.max_tokens is not None]
        return Policy(
            name or kind if found else "",
            tuple(f"[agents.{_key(table.pattern)}] in {where}" for table, where in found),
            all(table.allow for table, _ in found),
            tuple(dict.fromkeys(path for table, _ in found for path in table.deny_paths)),
            tuple(dict.fromkeys(item for table, _ in found for item in table.deny_items)),
            min(limits) if limits else None,
            shown_secrets,
        )


NO_TABLES = AgentTables()


def parse_agent_tables(tables: object) -> tuple[AgentTable, ...]:
    """Read the content of `[agents]`. Raises `InvalidRequest` with the unusable field."""
    if not isinstance(tables, Mapping):
        raise InvalidRequest("agents must be a table with an agent's name for each table in it", "agents")
    return tuple(_parse(str(name), table) for name, table in tables.items())


def _parse(name: str, table: object) -> AgentTable:
    field = f"agents.{_key(name)}"
    if not isinstance(table, Mapping):
        raise InvalidRequest(f"{field} must be a table", field)
    known = {"allow", "deny_paths", "deny_items", "max_tokens"}
    if unknown := sorted(map(str, set(table) - known)):
        # A misspelt key would leave open what somebody wanted to deny.
        raise InvalidRequest(
            f"{field} has the unknown key {unknown[0]}; known are {', '.join(sorted(known))}", field
        )
    _check_glob(name, field)
    return AgentTable(
        name,
        _flag(table.get("allow", True), f"{field}.allow"),
        _paths(table.get("deny_paths", ()), f"{field}.deny_paths"),
        _items(table.get("deny_items", ()), f"{field}.deny_items"),
        _tokens(table.get("max_tokens"), f"{field}.max_tokens"),
    )


def _flag(value: object, field: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidRequest(f"{field} must be true or false", field)
    return value


def _paths(value: object, field: str) -> tuple[str, ...]:
    patterns = _strings(value, field)
    for pattern in patterns:
        _check_glob(pattern, field)
        _check_glob(folded_path(pattern), field)  # names are compared with this form too
    return patterns


def _items(value: object, field: str) -> tuple[str, ...]:
    patterns = _strings(value, field)
    for pattern in patterns:
        kind, colon, names = pattern.partition(":")
        if kind not in ITEM_TYPES:
            raise InvalidRequest(f"{field}: {pattern!r:.60} must begin with rule, reference or tool", field)
        if colon:
            _check_glob(names, field)
    return patterns


def _tokens(value: object, field: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidRequest(f"{field} must be a whole number of tokens, 0 or more", field)
    return value


def _strings(value: object, field: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
        raise InvalidRequest(f"{field} must be a list of strings", field)
    if len(value) > PATTERNS_MAX:
        raise InvalidRequest(f"{field} has {len(value):,} patterns; at most {PATTERNS_MAX:,}", field)
    return tuple(value)


def _check_glob(pattern: str, field: str) -> None:
    try:
        compile_glob(pattern)
    except ValueError as error:
        raise InvalidRequest(f"{field}: {error}", field) from error


def _most_specific(tables: tuple[AgentTable, ...], name: str, kind: str) -> AgentTable | None:
    best: tuple[int, int, AgentTable] | None = None
    for table in tables:
        rank = _rank(table.pattern, name, kind)
        if rank is not None and (best is None or rank > best[:2]):
            best = (*rank, table)
    return best[2] if best else None


def _rank(pattern: str, name: str, kind: str) -> tuple[int, int] | None:
    """Return how closely a pattern matches, higher for closer, None if it doesn't."""
    if pattern == name:
        return 3, 0
    if kind and pattern == kind:
        return 2, 0
    glob = compile_glob(pattern)
    if glob.matches(name) or (kind and glob.matches(kind)) or pattern == "*":
        return 1, sum(character not in "*?[]{}!" for character in pattern)
    return None


def _key(name: str) -> str:
    """Return a name as a key of TOML."""
    return name if name.replace("-", "").replace("_", "").isalnum() and name.isascii() else f'"{name}"'
