"""Scopes (what one agent sees of a project), the table of them with eviction, and their database."""

from __future__ import annotations

import json
import secrets
from collections import OrderedDict
from collections.abc import Iterable

import msgspec
from msgspec import to_builtins
from msgspec.structs import replace

from ..core.errors import NotFound
from ..core.quarantine import MARK
from ..core.storage import Database, close_database, compact, open_database, transaction
from ..core.system import System
from ..sessions.records import Scope

SCOPE_SCHEMA_VERSION = 1

ANCESTORS_MAX = 64
"""Maximum number of ancestors followed; agents that start agents make shorter chains."""


class ScopeTable:
    """All scopes by id and by identity, the least recently used first. On the event loop only.

    Above `max_bytes` or `max_count` the least recently used scopes are evicted. `take_changes` returns the
    changes that `ScopeStore` has to write.
    """

    def __init__(self, max_bytes: int, max_count: int) -> None:
        self._max_bytes = max_bytes
        self._max_count = max_count
        self._scopes: OrderedDict[str, Scope] = OrderedDict()
        self._by_identity: dict[str, str] = {}
        self._children: dict[str, set[str]] = {}
        """Ids of scopes by the id of their parent, which may have been removed."""
        self._total = 0
        self._changed: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._scopes)

    def __contains__(self, scope_id: str) -> bool:
        return scope_id in self._scopes

    @property
    def memory_bytes(self) -> int:
        """The estimated size of all scopes."""
        return self._total

    def load(self, scopes: Iterable[Scope]) -> None:
        """Add scopes read from the database, the least recently used first."""
        for scope in scopes:
            self._insert(scope)
        self._changed.clear()

    def get(self, scope_id: str) -> Scope:
        """Return a scope and mark it as used. Raises `NotFound` with a hint."""
        scope = self._scopes.get(scope_id)
        if scope is None:
            raise NotFound(
                f"no scope {scope_id!r:.80}: it was released, evicted as least recently used, or never"
                " existed.",
                "Call GetContext with cwd (and focus_paths or session_id) to make a new one.",
            )
        self._scopes.move_to_end(scope_id)
        return scope

    def find(self, identity: str) -> Scope | None:
        """Return the scope of an identity and mark it as used, or None."""
        scope_id = self._by_identity.get(identity)
        if scope_id is None:
            return None
        self._scopes.move_to_end(scope_id)
        return self._scopes[scope_id]

    def add(self, scope: Scope) -> Scope:
        """Add a scope under a new id and return it."""
        scope = replace(scope, id=f"s_{secrets.token_hex(8)}")
        self._insert(scope)
        self._changed[scope.id] = None
        return scope

    def update(self, scope: Scope) -> Scope:
        """Replace a scope by a changed one and return that with the next revision number."""
        former = self.get(scope.id)
        scope = replace(scope, revision=former.revision + 1)
        self._insert(scope)
        self._changed[scope.id] = None
        return scope

    def remove(self, scope_id: str) -> Scope:
        """Remove a scope; its children keep the constraints inherited through it. Raises `NotFound`."""
        scope = self.get(scope_id)
        for child in [self._scopes[child_id] for child_id in self._children.get(scope_id, ())]:
            inherited = self.constraints_above(child)
            if inherited != child.inherited:
                self._insert(replace(child, inherited=inherited), used=False)
                self._changed[child.id] = None
        del self._scopes[scope_id]
        self._forget_links(scope)
        self._total -= scope.memory_bytes
        self._changed[scope_id] = None
        return scope

    def evict(self, keep: str = "") -> list[Scope]:
        """Remove the least recently used scopes until the limits hold, but not `keep`; return them."""
        evicted: list[Scope] = []
        while self._total > self._max_bytes or len(self._scopes) > self._max_count:
            # No copy of the table: this runs twice a request, and usually nothing is evicted.
            oldest = next((scope_id for scope_id in self._scopes if scope_id != keep), None)
            if oldest is None:
                break
            evicted.append(self.remove(oldest))
        return evicted

    def of_project(self, root: str | None) -> list[Scope]:
        """Return the scopes of a project, or all, the most recently used first."""
        return [scope for scope in reversed(self._scopes.values()) if root in {None, scope.root}]

    def constraints_above(self, scope: Scope) -> tuple[str, ...]:
        """Return the constraints of all ancestors, the farthest first, each once."""
        return tuple(self.origins_above(scope))

    def origins_above(self, scope: Scope) -> dict[str, Scope | None]:
        """Return the constraints of all ancestors, the farthest first, each with the ancestor that gave it.

        A removed ancestor counts with the constraints that its children inherited when it was removed; these
        come from None.
        """
        chain: list[tuple[str, Scope | None]] = []
        seen = {scope.id}
        current = scope
        for _ in range(ANCESTORS_MAX):
            parent = self._scopes.get(current.parent_id)
            if parent is None or parent.id in seen:
                break
            chain[:0] = [(text, parent) for text in parent.constraints]
            seen.add(parent.id)
            current = parent
        chain[:0] = [(text, None) for text in current.inherited]
        origins: dict[str, Scope | None] = {}
        for text, origin in chain:
            origins.setdefault(text, origin)
        return origins

    @property
    def changed(self) -> bool:
        """Whether changes wait to be written."""
        return bool(self._changed)

    def take_changes(self) -> dict[str, Scope | None]:
        """Return the scopes added or changed since the last call, and None for removed ones."""
        changes = {scope_id: self._scopes.get(scope_id) for scope_id in self._changed}
        self._changed.clear()
        return changes

    def mark_changed(self, scope_ids: Iterable[str]) -> None:
        """Mark scopes as changed again because writing them failed; `take_changes` will return them again."""
        self._changed.update(dict.fromkeys(scope_ids))

    def _insert(self, scope: Scope, *, used: bool = True) -> None:
        former = self._scopes.get(scope.id)
        if former is not None:
            self._forget_links(former)
            self._total -= former.memory_bytes
        self._scopes[scope.id] = scope
        if used:
            self._scopes.move_to_end(scope.id)
        self._by_identity[scope.identity] = scope.id
        if scope.parent_id:
            self._children.setdefault(scope.parent_id, set()).add(scope.id)
        self._total += scope.memory_bytes

    def _forget_links(self, scope: Scope) -> None:
        """Remove a scope from the tables of identities and of children."""
        if self._by_identity.get(scope.identity) == scope.id:
            del self._by_identity[scope.identity]
        siblings = self._children.get(scope.parent_id, set())
        siblings.discard(scope.id)
        if not siblings:
            self._children.pop(scope.parent_id, None)


class ScopeStore:
    """The database of scopes. Used by one thread at a time, never by the event loop's.

    A finished write survives the process being killed (SQLite's WAL, synchronous = NORMAL).
    """

    def __init__(self, path: str, system: System) -> None:
        """Open the database, anew if it is damaged."""
        opened = open_database(path, SCOPE_SCHEMA, SCOPE_SCHEMA_VERSION, system, probe=_rows)
        self._path = path
        self._system = system
        self.kept = ""
        self._db: Database = opened.database
        self.replaced = opened.replaced
        self.unreadable = 0

    def load(self) -> list[Scope]:
        """Return all scopes, the least recently written first.

        Damaged rows are counted in `unreadable` and deleted, after the file was copied to `kept`."""
        scopes, unreadable = scopes_in(self._db)
        if unreadable:
            self.kept = f"{self._path}{MARK}{self._system.time_ns()}"
            self._db.execute("VACUUM INTO ?", (self.kept,))
            with transaction(self._db):
                self._db.executemany("DELETE FROM scopes WHERE rowid = ?", unreadable)
        self.unreadable = len(unreadable)
        return scopes

    def write(self, changes: dict[str, Scope | None]) -> None:
        """Write changed scopes and delete those that are None, in one transaction."""
        with transaction(self._db):
            for scope_id, scope in changes.items():
                if scope is None:
                    self._db.execute("DELETE FROM scopes WHERE id = ?", (scope_id,))
                else:
                    self._db.execute(
                        "INSERT OR REPLACE INTO scopes VALUES"
                        " (?, (SELECT COALESCE(MAX(written), 0) + 1 FROM scopes), ?)",
                        (scope_id, json.dumps(to_builtins(scope))),
                    )

    def compact(self) -> None:
        """Rewrite the file, so that nothing deleted stays in it or in its log."""
        compact(self._db)

    def close(self) -> None:
        """Close the file."""
        close_database(self._db)


SCOPE_SCHEMA = """
CREATE TABLE scopes (id TEXT PRIMARY KEY, written INTEGER NOT NULL, record TEXT NOT NULL);
CREATE INDEX scopes_by_written ON scopes (written);
"""


def scopes_in(database: Database) -> tuple[list[Scope], list[tuple[int]]]:
    """Return the scopes of a database, the least recently written first, and the ids of damaged rows."""
    scopes, unreadable = [], []
    for scope_id, record, row in _rows(database):
        try:
            scope = msgspec.json.decode(record, type=Scope)
            if scope.id.encode() != scope_id:
                raise ValueError("the record has another id")
            scopes.append(scope)
        except Exception:  # noqa: BLE001 - any exception means a damaged row
            unreadable.append((row,))
    return scopes, unreadable


def _rows(database: Database) -> list[tuple[bytes, bytes, int]]:
    # As bytes: SQLite doesn't check text, and one invalid UTF-8 text would fail the whole query.
    return database.execute(
        "SELECT CAST(id AS BLOB), CAST(record AS BLOB), rowid FROM scopes ORDER BY written"
    ).fetchall()
