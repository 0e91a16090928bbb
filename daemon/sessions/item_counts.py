"""Owns the counts of items in the ledger: by day in how many requests each was, and what replies referred to.

Counts outlive the requests they were made of, so that a share over time isn't a share of what was kept.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from ..core.storage import Database
from ..rules.item_keys import ItemKey
from .request_record import RequestRecord, UsedItem
from .request_table import data_of, text_of

SCHEMA = """
CREATE TABLE items (
    id INTEGER PRIMARY KEY, project BLOB NOT NULL, type TEXT NOT NULL, name BLOB NOT NULL,
    server_name BLOB NOT NULL, UNIQUE (project, type, name, server_name));
CREATE TABLE item_days (
    item INTEGER NOT NULL, include TEXT NOT NULL, day TEXT NOT NULL, requests INTEGER NOT NULL,
    reported INTEGER NOT NULL, referred INTEGER NOT NULL, PRIMARY KEY (item, include, day)) WITHOUT ROWID;
CREATE INDEX item_days_by_day ON item_days (day);
"""


class ItemCounts(Struct, frozen=True):
    """In how many requests an item was, of how many of these a reply was reported, and in how many of those
    it was referred to. `last_day` is the last day it was in one."""

    key: ItemKey
    requests: int
    reported: int
    referred: int
    last_day: str


class DayShare(Struct, frozen=True):
    """What became of the items that a search chose on one day, counted once for each request they were in."""

    day: str
    selected: int
    reported: int
    referred: int

    @property
    def share(self) -> float | None:
        """The share of selected items that a reply referred to; None while no reply was reported."""
        return self.referred / self.reported if self.reported else None


def count(database: Database, record: RequestRecord) -> None:
    """Count the items of a new request. Needs a transaction."""
    _add(database, record, record.items, "requests")


def count_reply(database: Database, record: RequestRecord, referred: Collection[int], *, first: bool) -> None:
    """Count what a reply referred to, items by their position. Needs a transaction.

    `first` tells that no reply to this request was counted before.
    """
    if first:
        _add(database, record, record.items, "reported")
    _add(database, record, [record.items[one] for one in sorted(set(referred))], "referred")


def totals(database: Database, project_root: str, since: str) -> list[ItemCounts]:
    """Return the counts of a project's items since a day, those in most requests first."""
    rows = database.execute(
        "SELECT type, name, server_name, SUM(requests), SUM(reported), SUM(referred), MAX(day)"
        " FROM items JOIN item_days ON item = id WHERE project = ? AND day >= ?"
        " GROUP BY id ORDER BY SUM(requests) DESC, type, name, server_name",
        (data_of(project_root), since),
    )
    return [
        ItemCounts(ItemKey(kind, text_of(name), text_of(server)), *counts)
        for kind, name, server, *counts in rows
    ]


def shares(database: Database, project_root: str, since: str) -> list[DayShare]:
    """Return what became of selected items day by day, the first day first."""
    rows = database.execute(
        "SELECT day, SUM(requests), SUM(reported), SUM(referred)"
        " FROM items JOIN item_days ON item = id WHERE project = ? AND day >= ? AND include = 'agent'"
        " GROUP BY day ORDER BY day",
        (data_of(project_root), since),
    )
    return [DayShare(*row) for row in rows]


def remove_before(database: Database, day: str) -> None:
    """Forget the counts before a day, and items that have no other. Needs a transaction."""
    if database.execute("DELETE FROM item_days WHERE day < ?", (day,)).rowcount:
        database.execute("DELETE FROM items WHERE id NOT IN (SELECT item FROM item_days)")


def _add(database: Database, record: RequestRecord, used: Collection[UsedItem], column: str) -> None:
    """Add one to a count of each item."""
    values = [int(name == column) for name in ("requests", "reported", "referred")]
    project = data_of(record.project_root)
    for key, include in dict.fromkeys((one.key, one.include) for one in used):
        fields = (project, key.type, data_of(key.name), data_of(key.server_name))
        database.execute("INSERT OR IGNORE INTO items VALUES (NULL, ?, ?, ?, ?)", fields)
        database.execute(
            "INSERT INTO item_days SELECT id, ?, ?, ?, ?, ? FROM items"
            " WHERE project = ? AND type = ? AND name = ? AND server_name = ? ON CONFLICT DO UPDATE SET"
            " requests = requests + excluded.requests, reported = reported + excluded.reported,"
            " referred = referred + excluded.referred",
            (include, record.at[:10], *values, *fields),
        )
