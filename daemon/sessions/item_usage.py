"""The usage of items: which items replies referred to, and what that suggests.

A reply refers to an item if it names it, or uses words that only the item has:

- Names. A name that looks like one (it has `_`, `-`, `.`, `/`, a digit or a hump: `get_issue`,
  `docs/style.md`) counts where it stands as a word of its own, and the last part of a path if no other item
  of the request ends so. A plain word (`search`) counts only as code: in backticks, called, or behind its
  server's name.
- Words. A word in the item's text that looks like a name counts if it is neither in the other items nor in
  the message, the history or the rest of the context.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from ..core.storage import Database
from ..rules.records import IncludeMode, ItemKey
from .delivery_tables import count_items, data_of, text_of
from .request_log import find_request, read_record, read_sent
from .request_record import ItemPart, Sent

MAX_CHARACTERS = 200_000
"""Maximum characters searched of a reply, a message or the context; a reply has about 4,000."""

MIN_WORD_CHARACTERS = 4
"""Minimum length of a name; shorter ones (`id_`, `v2`) are in too many texts."""

MIN_REPORTED = 20
"""Minimum number of replies to requests with an item before a suggestion: of an item that every tenth reply
refers to, 20 replies have none in one case of eight."""

DEMOTE_SHARE = 0.1
"""Minimum share of replies that refer to an item for it to be in every request."""

Suggested = Literal["remove", "demote"]


class Reported(Struct, frozen=True):
    """The items of the request that a reply referred to, and the items that a client named and that were not
    in the request."""

    referred: tuple[ItemKey, ...]
    unknown: tuple[ItemKey, ...]


class UsageSuggestion(Struct, frozen=True):
    """A suggestion: `remove` an item, or `demote` it to the mode `agent`; `text` says why."""

    key: ItemKey
    action: Suggested
    text: str


class ItemCounts(Struct, frozen=True):
    """The number of requests with an item, of those with a reported reply, and of those whose reply referred
    to it. `last_day` is the day of the latest request."""

    key: ItemKey
    requests: int
    reported: int
    referred: int
    last_day: str


class UsageShare(Struct, frozen=True):
    """The usage of items chosen by a search on one day, counted once for each request."""

    day: str
    selected: int
    reported: int
    referred: int

    @property
    def share(self) -> float | None:
        """The share of selected items that a reply referred to; None while no reply was reported."""
        return self.referred / self.reported if self.reported else None


class ItemUsage(Struct, frozen=True):
    """The usage of a project's items: those in most requests first, suggestions, and shares by day."""

    items: tuple[ItemCounts, ...]
    suggestions: tuple[UsageSuggestion, ...]
    shares: tuple[UsageShare, ...]


def report(
    database: Database, session_id: str, request_id: str, reply: str, used: Sequence[ItemKey]
) -> Reported:
    """Record which items a reply referred to: those that the client names, and those found in its text.

    Earlier reports of the same request stay. Needs a transaction. Raises `NotFound`.
    """
    row = find_request(database, session_id, request_id)
    record = read_record(database, row)
    if record is None:
        return Reported((), tuple(dict.fromkeys(used)))
    keys = [item.key for item in record.items]
    sent = read_sent(database, row.content)
    positions = {n for n, key in enumerate(keys) if key in used}
    positions.update(referred(keys, None if sent is None else sent[0], reply))
    before = set(row.referred or ())
    database.execute(
        "UPDATE requests SET referred = ? WHERE number = ?",
        (json.dumps(sorted(before | positions)), row.number),
    )
    if row.referred is None:
        count_items(database, record, record.items, "reported")
    new = [record.items[n] for n in sorted(positions - before)]
    count_items(database, record, new, "referred")
    return Reported(
        tuple(keys[n] for n in sorted(positions)),
        tuple(key for key in dict.fromkeys(used) if key not in keys),
    )


def item_usage(
    database: Database, project_root: str, modes: Mapping[ItemKey, IncludeMode], since: str = ""
) -> ItemUsage:
    """Return the usage of a project's items since a day (`2026-01-31`); `modes` are of the current items."""
    where = "FROM items JOIN item_days ON item = id WHERE project = ? AND day >= ?"
    values = data_of(project_root), since
    rows = database.execute(
        "SELECT type, name, server_name, SUM(requests), SUM(reported), SUM(referred), MAX(day)"
        f" {where} GROUP BY id ORDER BY SUM(requests) DESC, type, name, server_name",
        values,
    )
    items = tuple(
        ItemCounts(ItemKey(kind, text_of(name), text_of(server)), *counts)
        for kind, name, server, *counts in rows
    )
    days = database.execute(
        f"SELECT day, SUM(requests), SUM(reported), SUM(referred) {where} AND include = 'agent'"
        " GROUP BY day ORDER BY day",
        values,
    )
    suggested = (suggestion_for(counts, modes[counts.key]) for counts in items if counts.key in modes)
    return ItemUsage(items, tuple(filter(None, suggested)), tuple(UsageShare(*row) for row in days))


def suggestion_for(counts: ItemCounts, mode: IncludeMode) -> UsageSuggestion | None:
    """Return the suggestion for an item of this mode.

    An item of mode `always` or `manual` should be demoted if fewer than `DEMOTE_SHARE` of the replies
    referred to it. A searched item should be removed if none did; but not a rule, which a reply can follow
    without mentioning it.
    """
    if counts.reported < MIN_REPORTED:
        return None
    share = counts.referred / counts.reported
    said = f"{counts.referred:,} of {counts.reported:,} replies referred to the {counts.key}"
    if mode in {"always", "manual"} and share < DEMOTE_SHARE:
        return UsageSuggestion(counts.key, "demote", f"{said}: let it be searched for, with the mode agent.")
    if mode in {"agent", "glob"} and not counts.referred and counts.key.type != "rule":
        return UsageSuggestion(counts.key, "remove", f"{said}: remove it, or describe better what it is for.")
    return None


def referred(keys: Sequence[ItemKey], sent: Sent | None, reply: str) -> tuple[int, ...]:
    """Return the positions of those items that a reply refers to.

    Without what was `sent`, only names count. Case counts. Takes time linear in the texts.
    """
    text = reply[:MAX_CHARACTERS]
    words = frozenset(_WORD.findall(text))
    own = _own_words(sent) if sent is not None else {}
    endings = Counter(_ending(key.name) for key in keys)
    found = []
    for position, key in enumerate(keys):
        names = {key.name}
        if endings[_ending(key.name)] == 1:
            names.add(_ending(key.name))
        if (
            any(_is_named(name, key.server_name, text, words) for name in names)
            or own.get(key, _NONE) & words
        ):
            found.append(position)
    return tuple(found)


_NONE: frozenset[str] = frozenset()
_WORD = re.compile(r"\w+(?:(?:[./-]|::)\w+)*")
"""A word with the joints of names. Each character belongs to one word at most, so matching is linear."""

_NAME_LIKE = re.compile(r"[_\d./-]|::|[a-z][A-Z]")
_WORD_NAME_LIKE = re.compile(r"[^\W\d]_+[^\W_]|[a-z][A-Z]|\w::\w")
"""A word in a text that looks like a name; without hyphens, dots and digits, which prose has too."""


def _ending(name: str) -> str:
    return name.rpartition("/")[2] or name


def _is_named(name: str, server: str, text: str, words: frozenset[str]) -> bool:
    if name not in text:  # the usual case, a hundred times faster than the following
        return False
    if _NAME_LIKE.search(name) and len(name) >= MIN_WORD_CHARACTERS:
        # As a whole word, or behind `server__`.
        whole = rf"(?:(?<![\w/-])|(?<=__)){re.escape(name)}(?![\w/-])"
        return name in words or re.search(whole, text) is not None
    code = rf"`{re.escape(name)}(?:\(\))?`|(?<!\w){re.escape(name)}\("
    behind = rf"|(?<!\w){re.escape(server)}(?:[./:]|::|__|\s){re.escape(name)}(?!\w)" if server else ""
    return re.search(code + behind, text) is not None


def _own_words(sent: Sent) -> dict[ItemKey, frozenset[str]]:
    """Return the name-like words that only one item has."""
    items = (*sent.references, *sent.rules, *sent.tools)
    named = {item.key: _name_like(item.text[:MAX_CHARACTERS]) for item in items}
    shared = Counter(word for words in named.values() for word in words)
    elsewhere = _elsewhere(sent, items)
    return {
        key: frozenset(word for word in words if shared[word] == 1 and word not in elsewhere)
        for key, words in named.items()
    }


def _elsewhere(sent: Sent, items: Iterable[ItemPart]) -> frozenset[str]:
    """Return the words of everything sent, without the items, which the context may include."""
    context = sent.context[:MAX_CHARACTERS]
    for item in items:
        body = item.text.partition("\n\n")[2].strip()
        if len(body) >= MIN_WORD_CHARACTERS:
            context = context.replace(body, "\n")
    texts = (context, sent.user_prompt, *(message.content for message in sent.history[-_HISTORY:]))
    return frozenset(word for text in texts for word in _WORD.findall(text[:MAX_CHARACTERS]))


_HISTORY = 20
"""Maximum number of earlier messages that are searched."""


def _name_like(text: str) -> frozenset[str]:
    return frozenset(
        word
        for word in _WORD.findall(text)
        if len(word) >= MIN_WORD_CHARACTERS and _WORD_NAME_LIKE.search(word)
    )
