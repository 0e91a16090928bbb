"""Owns the record of a request: what one message was answered with and how that came about; knows no file."""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, TypeVar, get_args

from msgspec import Struct, field, to_builtins

from ..rules.item_keys import ItemKey
from ..rules.items import IncludeMode, ItemType

LeftOut = Literal["floor", "near_best", "top_n", "removed", "denied", "budget"]
"""Why an item that was considered was not taken; `item_choice.py` says what each means."""

MAX_CONSIDERED = 100
"""Of the items that were considered and left the best are recorded: a search looks at 40 chunks."""

T = TypeVar("T")


class DamagedRecord(Exception):  # the ledger catches it; it never reaches a person as such
    """A map that no record can be read from. The text says what is wrong with it."""


class UsedItem(Struct, frozen=True):
    """An item that was in a request, how it came in, and its score where a search chose it."""

    key: ItemKey
    include: IncludeMode
    score: float | None = None


class ConsideredItem(Struct, frozen=True):
    """An item that a search looked at and that was not taken, with its best score and the reason."""

    key: ItemKey
    score: float
    reason: LeftOut


class RecordedSlice(Struct, frozen=True):
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


class DroppedSlice(Struct, frozen=True):
    """A slice that was considered and not shown, and why: `budget` or `duplicate`."""

    id: str
    type: str
    weight: float
    reason: str


class RequestRecord(Struct, frozen=True):
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
        plain["dropped"] = [to_builtins(one) for one in record.dropped]
    if record.masked:
        plain["masked"] = record.masked
    return plain


def record_in(plain: object) -> RequestRecord:
    """Return the record in a map; fields that this version doesn't know are ignored.

    Raises `DamagedRecord`.
    """
    try:
        assert isinstance(plain, Mapping)
        return _made(
            RequestRecord,
            plain,
            steps_ms={name: _checked(value, "float") for name, value in plain.get("steps_ms", {}).items()},
            degraded=tuple(_checked(one, "str") for one in plain["degraded"]),
            items=tuple(
                _made(
                    UsedItem,
                    one,
                    key=_made(ItemKey, one),
                    include=one["include_mode"],
                    score=one.get("similarity_score"),
                )
                for one in plain["items"]
            ),
            considered=tuple(
                _made(ConsideredItem, one, key=_made(ItemKey, one), score=one["similarity_score"])
                for one in plain["considered"]
            ),
            slices=tuple(_made(RecordedSlice, one) for one in plain["slices"]),
            dropped=tuple(_made(DroppedSlice, one) for one in plain.get("dropped", ())),
        )
    except Exception as error:
        raise DamagedRecord(f"can't be read: {error}") from error


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


_KINDS: Mapping[object, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "float | None": (int, float, type(None)),
    "bool": (bool,),
}
"""What a field may hold, by its type. An int stays one where a float is meant, so that a record that is read
and written again has the same bytes."""

_CHOICES: Mapping[object, tuple[str, ...]] = {
    "IncludeMode": get_args(IncludeMode),
    "LeftOut": get_args(LeftOut),
    "ItemType": get_args(ItemType),
}


def _made(kind: Callable[..., T], plain: Mapping[str, object], **given: object) -> T:
    """Return a value of a class with the fields that are given, and others from a map."""
    for name, wanted in _fields(kind):
        if name in given or name in plain:
            given[name] = _checked(given[name] if name in given else plain[name], wanted)
    return kind(**given)


@cache
def _fields(kind: Any) -> tuple[tuple[str, object], ...]:
    return tuple(kind.__annotations__.items())


def _checked(value: object, kind: object) -> object:
    """Return a value if it is of a kind, as far as that is known; raises `DamagedRecord` if not."""
    fits = value in _CHOICES[kind] if kind in _CHOICES else isinstance(value, _KINDS.get(kind, (object,)))
    if not fits or isinstance(value, bool) is not (kind == "bool") or not _finite(value):
        raise DamagedRecord(f"{value!r:.60} is no {kind}")
    return value


def _finite(value: object) -> bool:
    return not isinstance(value, float) or math.isfinite(value)
