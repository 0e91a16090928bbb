"""Owns the record of a request: what one message was answered with and how that came about; knows no file."""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, field
from typing import Any, Literal, TypeVar, cast, get_args

from ..context.items import IncludeMode, ItemType
from ..core.lazy_dataclass import dataclass
from ..item.item_keys import ItemKey

LeftOut = Literal["floor", "near_best", "top_n", "removed", "denied", "budget"]
"""Why an item that was considered was not taken; `item_choice.py` says what each means."""

MAX_CONSIDERED = 100
"""Of the items that were considered and left the best are recorded: a search looks at 40 chunks."""

T = TypeVar("T")


class DamagedRecord(Exception):  # the ledger catches it; it never reaches a person as such
    """A map that no record can be read from. The text says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class UsedItem:
    """An item that was in a request, how it came in, and its score where a search chose it."""

    key: ItemKey
    include: IncludeMode
    score: float | None = None


@dataclass(frozen=True, slots=True)
class ConsideredItem:
    """An item that a search looked at and that was not taken, with its best score and the reason."""

    key: ItemKey
    score: float
    reason: LeftOut


@dataclass(frozen=True, slots=True)
class RecordedSlice:
    """A slice as it was shown: `compressed` tells that something of it was left out, of `tokens_before`.

    The lines are those of its file, from 1, both inclusive, and 0 for the whole file.
    """

    id: str
    type: str
    layer: str
    weight: float
    tokens: int
    compressed: bool = False
    path: str = ""
    source: str = ""
    score: float | None = None
    tokens_before: int = 0
    start_line: int = 0
    end_line: int = 0


@dataclass(frozen=True, slots=True)
class DroppedSlice:
    """A slice that was considered and not shown, and why: `budget` or `duplicate`."""

    id: str
    type: str
    weight: float
    reason: str


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """What was used for one message of a session; what exactly was sent is kept beside it, by the ledger.

    `at` is ISO 8601 UTC with milliseconds and `Z`. `message_hash` stands for the message, see there.
    `elapsed_ms` is the whole time, `steps_ms` that of named parts of it. `degraded` says in words what was
    missing. `considered` holds the best first.
    """

    id: str
    session_id: str
    project_root: str
    at: str
    message_hash: str
    agent_name: str = ""
    format: str = "markdown"
    items: tuple[UsedItem, ...] = ()
    considered: tuple[ConsideredItem, ...] = ()
    slices: tuple[RecordedSlice, ...] = ()
    tokens: int = 0
    bytes: int = 0
    elapsed_ms: float = 0.0
    steps_ms: Mapping[str, float] = field(default_factory=dict)
    degraded: tuple[str, ...] = ()
    dropped: tuple[DroppedSlice, ...] = ()
    masked: int = 0
    """Values that looked like secrets in what the caller said, and that were masked before it was kept."""


def new_request_id() -> str:
    """Return an id that no request has: 64 random bits. It says nothing about the request."""
    return f"req_{secrets.token_hex(8)}"


def message_hash(message: str) -> str:
    """Return what stands for a message in a record: BLAKE2b-128 of its UTF-8, in hexadecimal."""
    return hashlib.blake2b(message.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def record_map(record: RequestRecord) -> dict[str, Any]:
    """Return a record as a map of plain values. What is empty or not known is left out of its lists."""
    plain: dict[str, Any] = {name: getattr(record, name) for name in (*_TEXTS, *_NUMBERS)}
    plain["steps_ms"] = dict(record.steps_ms)
    plain["degraded"] = list(record.degraded)
    plain["items"] = [
        {**key_map(one.key), "include_mode": one.include, **_score_map("similarity_score", one.score)}
        for one in record.items
    ]
    plain["considered"] = [
        {**key_map(one.key), "similarity_score": one.score, "reason": one.reason}
        for one in record.considered[:MAX_CONSIDERED]
    ]
    plain["slices"] = [_slice_map(one) for one in record.slices]
    if record.dropped:
        plain["dropped"] = [asdict(one) for one in record.dropped]
    if record.masked:
        plain["masked"] = record.masked
    return plain


def record_in(plain: object) -> RequestRecord:
    """Return the record in a map; fields that this version doesn't know are ignored.

    Raises `DamagedRecord`.
    """
    if not isinstance(plain, dict):
        raise DamagedRecord("is no map")
    steps = _value(plain, "steps_ms", dict, {})
    return RequestRecord(
        **{name: _value(plain, name, str) for name in _TEXTS},
        tokens=_value(plain, "tokens", int),
        bytes=_value(plain, "bytes", int),
        elapsed_ms=_number(plain, "elapsed_ms"),
        steps_ms={name: _number(steps, name) for name in steps},
        degraded=tuple(_value({"degraded": one}, "degraded", str) for one in _value(plain, "degraded", list)),
        items=tuple(_used_in(one) for one in _maps(plain, "items")),
        considered=tuple(_considered_in(one) for one in _maps(plain, "considered")),
        slices=tuple(_slice_in(one) for one in _maps(plain, "slices")),
        dropped=tuple(_dropped_in(one) for one in _maps(plain, "dropped")) if "dropped" in plain else (),
        masked=_value(plain, "masked", int, 0),
    )


def key_map(key: ItemKey) -> dict[str, str]:
    """Return a key as a map, as on the wire."""
    of_server = {"server_name": key.server_name} if key.server_name else {}
    return {"type": key.type, "name": key.name, **of_server}


_TEXTS = ("id", "session_id", "project_root", "at", "message_hash", "agent_name", "format")
_SLICE_FIELDS = ("id", "type", "layer", "weight", "tokens", "compressed", "source")
_OPTIONAL_NUMBERS = ("tokens_before", "start_line", "end_line")
_NUMBERS = ("tokens", "bytes", "elapsed_ms")


def _score_map(name: str, score: float | None) -> dict[str, float]:
    return {} if score is None else {name: score}


def _slice_map(one: RecordedSlice) -> dict[str, Any]:
    """Return a slice with the fields that a reply lists it with."""
    plain: dict[str, Any] = {name: getattr(one, name) for name in _SLICE_FIELDS}
    plain |= {name: value for name in _OPTIONAL_NUMBERS if (value := getattr(one, name))}
    if one.path:
        plain["path"] = one.path
    return {**plain, **_score_map("score", one.score)}


def _used_in(plain: Mapping[str, object]) -> UsedItem:
    include = _value(plain, "include_mode", str)
    if include not in get_args(IncludeMode):
        raise DamagedRecord(f"has an item with include_mode {include!r:.60}")
    score = None if plain.get("similarity_score") is None else _number(plain, "similarity_score")
    return UsedItem(_key_in(plain), cast("IncludeMode", include), score)


def _considered_in(plain: Mapping[str, object]) -> ConsideredItem:
    reason = _value(plain, "reason", str)
    if reason not in get_args(LeftOut):
        raise DamagedRecord(f"has an item that was left out for {reason!r:.60}")
    return ConsideredItem(_key_in(plain), _number(plain, "similarity_score"), cast("LeftOut", reason))


def _slice_in(plain: Mapping[str, object]) -> RecordedSlice:
    return RecordedSlice(
        _value(plain, "id", str),
        _value(plain, "type", str),
        _value(plain, "layer", str),
        _number(plain, "weight"),
        _value(plain, "tokens", int),
        plain.get("compressed") is True,
        _value(plain, "path", str, ""),
        _value(plain, "source", str, ""),
        None if plain.get("score") is None else _number(plain, "score"),
        *(_value(plain, name, int, 0) for name in _OPTIONAL_NUMBERS),
    )


def _dropped_in(plain: Mapping[str, object]) -> DroppedSlice:
    texts = {name: _value(plain, name, str) for name in ("id", "type", "reason")}
    return DroppedSlice(weight=_number(plain, "weight"), **texts)


def _key_in(plain: Mapping[str, object]) -> ItemKey:
    kind = _value(plain, "type", str)
    if kind not in get_args(ItemType):
        raise DamagedRecord(f"has an item of type {kind!r:.60}")
    return ItemKey(cast("ItemType", kind), _value(plain, "name", str), _value(plain, "server_name", str, ""))


def _maps(plain: Mapping[str, object], name: str) -> Sequence[Mapping[str, object]]:
    maps = _value(plain, name, list)
    if not all(isinstance(one, dict) for one in maps):
        raise DamagedRecord(f"has {name} that are no maps")
    return maps


def _number(plain: Mapping[str, object], name: str) -> float:
    value = plain.get(name)
    # An int stays one, so that a record that is read and written again has the same bytes.
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise DamagedRecord(f"has no number for {name}")
    return value


def _value(plain: Mapping[str, object], name: str, kind: type[T], default: T | None = None) -> T:
    value = plain.get(name, default)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise DamagedRecord(f"lacks {name}" if value is None else f"has {name} of a wrong type")
    return value
