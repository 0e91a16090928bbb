"""Owns the usage of items: what replies referred to, what that suggests, and what it says of like queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from ..context.items import IncludeMode
from ..core.lazy_dataclass import dataclass
from ..core.storage import Database
from ..item.item_keys import ItemKey
from . import item_counts, queries, request_table
from .item_counts import DayShare, ItemCounts
from .ledger import Ledger
from .ledger_file import LedgerFile
from .queries import sketch_of
from .referrals import referred
from .request_table import data_of

MIN_REPORTED = 20
"""Replies to requests with an item before anything is suggested: of one that every tenth reply refers to, 20
have none in one case of eight."""

DEMOTE_SHARE = 0.1
"""An item that fewer replies refer to needn't be in every request."""

Suggested = Literal["remove", "demote"]


@dataclass(frozen=True, slots=True)
class Reported:
    """What became of a reply: the items of the request that it referred to, and those that a client named
    and that were not in the request."""

    referred: tuple[ItemKey, ...]
    unknown: tuple[ItemKey, ...]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What to do about an item: `remove` it, or `demote` it to the mode `agent`; `text` says why."""

    key: ItemKey
    action: Suggested
    text: str


class Usage:
    """What the ledger says of items. Thread-safe; each method blocks for the disk or raises `StateError`."""

    def __init__(self, ledger: Ledger, file: LedgerFile) -> None:
        self._ledger = ledger
        self._file = file

    def report(
        self, session_id: str, request_id: str, *, reply: str = "", used: Sequence[ItemKey] = ()
    ) -> Reported:
        """Note which items a reply referred to: those that the client names, and those found in its text.

        What was noted for the same request before stays. Raises `NotFound`.
        """
        self._ledger.write()
        request = self._ledger.get(session_id, request_id)
        keys = [one.key for one in request.record.items]
        positions = {n for n, key in enumerate(keys) if key in used}
        positions.update(referred(keys, request.sent, reply))
        with self._file.writing() as database:
            self._note(database, session_id, request_id, positions)
        return Reported(
            tuple(keys[n] for n in sorted(positions)),
            tuple(key for key in dict.fromkeys(used) if key not in keys),
        )

    def items(self, project_root: str, since: str = "") -> tuple[ItemCounts, ...]:
        """Return the counts of a project's items since a day (`2026-01-31`), those in most requests first."""
        with self._file.reading() as database:
            return tuple(item_counts.totals(database, project_root, since))

    def shares(self, project_root: str, since: str = "") -> tuple[DayShare, ...]:
        """Return day by day what share of the items that a search chose were referred to."""
        with self._file.reading() as database:
            return tuple(item_counts.shares(database, project_root, since))

    def suggestions(
        self, project_root: str, modes: Mapping[ItemKey, IncludeMode], since: str = ""
    ) -> tuple[Suggestion, ...]:
        """Return what to do about items that replies hardly refer to; `modes` are those of today's items."""
        found = []
        for one in self.items(project_root, since):
            mode = modes.get(one.key)
            if mode is not None and (suggestion := suggestion_for(one, mode)):
                found.append(suggestion)
        return tuple(found)

    def evidence(self, project_root: str, message: str) -> dict[ItemKey, float]:
        """Return how well items served nearly equal earlier queries of a project, from above 0 to 1.

        Only requests whose reply was reported count: a selection that nothing came of shows nothing. An
        item's weight is the share of them with it that referred to it, each counted by its similarity, times
        the highest similarity: 1 if it was referred to each time, by the same words. At most `MAX_NEAR`
        queries are weighed, and 832 compared.
        """
        sketch = sketch_of(message)
        weights: dict[ItemKey, list[tuple[float, bool]]] = {}
        with self._file.reading() as database:
            for number, similarity in queries.near(database, data_of(project_root), sketch):
                row = request_table.at_number(database, number)
                record = request_table.read_record(database, number)
                if row is None or row.referred is None or record is None:
                    continue
                for position, one in enumerate(record.items):
                    weights.setdefault(one.key, []).append((similarity, position in row.referred))
        evidence = {key: _weight(some) for key, some in weights.items()}
        return {key: weight for key, weight in evidence.items() if weight > 0}

    def _note(self, database: Database, session_id: str, request_id: str, positions: set[int]) -> None:
        """Write what a reply referred to, and count what wasn't counted before."""
        row = request_table.find(database, session_id, request_id)
        if row is None:
            return  # it was forgotten just now
        record = request_table.read_record(database, row.number)
        if record is None:
            return
        before = set(row.referred or ())
        request_table.set_referred(database, row.number, before | positions)
        item_counts.count_reply(database, record, positions - before, first=row.referred is None)
        queries.add(database, row.number)


def suggestion_for(counts: ItemCounts, mode: IncludeMode) -> Suggestion | None:
    """Return what the counts of an item of this mode suggest.

    One that is in by itself or by hand is to be demoted if fewer than `DEMOTE_SHARE` of the replies referred
    to it. One that is searched for is to be removed if none did; not a rule, since a reply can follow a rule
    without a word of it.
    """
    if counts.reported < MIN_REPORTED:
        return None
    share = counts.referred / counts.reported
    said = f"{counts.referred:,} of {counts.reported:,} replies referred to the {counts.key}"
    if mode in {"always", "manual"} and share < DEMOTE_SHARE:
        return Suggestion(counts.key, "demote", f"{said}: let it be searched for, with the mode agent.")
    if mode in {"agent", "glob"} and not counts.referred and counts.key.type != "rule":
        return Suggestion(counts.key, "remove", f"{said}: remove it, or describe better what it is for.")
    return None


def _weight(some: Sequence[tuple[float, bool]]) -> float:
    served = sum(similarity for similarity, was_referred in some if was_referred)
    total = sum(similarity for similarity, _ in some)
    return round(max(similarity for similarity, _ in some) * served / total, 4)
