"""A session: its record, its id, its summary for lists, and the changes of it."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Mapping

from msgspec import Struct, convert, field
from msgspec.structs import asdict, replace

from ..config.item_selection import parse_selection
from ..core.errors import InvalidRequest, NotFound, TooLarge
from ..rules.records import IncludeMode, ItemKey
from ..rules.service import one_line, some_lines

MAX_ITEMS = 5_000
"""Maximum number of items in a session; hosts stop at some hundred tools."""
MAX_NAME_CHARACTERS = 200
MAX_NOTE_CHARACTERS = 4_000
"""Maximum length of the intent and the environment hint, which an agent reads whenever it resumes."""
MAX_SELECTION_BYTES = 16_384


class IncludedItem(ItemKey, frozen=True, kw_only=True):
    """An item in a session. `include` says how it came in: `always` by its mode, `manual` by hand.

    The current mode counts for items that came in by their mode, whatever it was then.
    """

    include: IncludeMode

    @classmethod
    def of(cls, key: ItemKey, include: IncludeMode) -> IncludedItem:
        """Return the item of a key."""
        return cls(key.type, key.name, key.server_name, include=include)

    @property
    def key(self) -> ItemKey:
        """The item's key."""
        return ItemKey(self.type, self.name, self.server_name)


class Session(Struct, frozen=True):
    """A conversation: its items and its context sets. Immutable: the store replaces it.

    Times are ISO 8601 UTC with milliseconds and `Z`, empty for never. `items` are in the order of their
    addition; `removed` are items removed by hand, which don't come back by themselves. `context` has no empty
    set.
    """

    id: str
    project_root: str
    created: str
    name: str = ""
    agent_name: str = ""
    last_observed: str = ""
    last_idle: str = ""
    ended: str = ""
    current_intent: str = ""
    env_hint: str = ""
    context: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    items: tuple[IncludedItem, ...] = ()
    removed: tuple[ItemKey, ...] = ()
    selection: Mapping[str, object] = field(default_factory=dict)
    revision: int = 0


class SessionState(Struct, frozen=True):
    """The state of an id: a session or none; `problem` says why an existing one can't be read."""

    session: Session | None = None
    problem: str = ""


NOBODY = SessionState()
"""The state of an id without a session."""


class ItemOutcome(Struct, frozen=True):
    """The result of adding or removing an item; `text` says it in a sentence."""

    changed: bool
    text: str


def new_session(
    session_id: str,
    project_root: str,
    at: str,
    always: Iterable[ItemKey],
    *,
    name: str = "",
    agent_name: str = "",
    selection: Mapping[str, object] | str | None = None,
) -> Session:
    """Return a session with the current `always` items. `at` is the time.

    Raises `InvalidRequest` for an unusable field, `TooLarge` for too many items.
    """
    session = Session(
        session_id,
        project_root,
        at,
        name=one_line("name", name, MAX_NAME_CHARACTERS),
        agent_name=one_line("agent_name", agent_name, MAX_NAME_CHARACTERS),
        last_observed=at,
        selection=_checked_selection(selection or {}),
    )
    return with_always(session, always)


def with_always(session: Session, always: Iterable[ItemKey]) -> Session:
    """Add the `always` items that the session lacks, unless they were removed by hand."""
    there = {item.key for item in session.items}.union(session.removed)
    missing = tuple(IncludedItem.of(key, "always") for key in dict.fromkeys(always) if key not in there)
    return _checked_count(replace(session, items=session.items + missing)) if missing else session


def unknown_item(key: ItemKey) -> NotFound:
    """Return the error for an item that doesn't exist, or that an agent may not see."""
    return NotFound(f"there is no {key}.", "ListItems names those that there are; PutItem makes one.")


def item_is_not_there(key: ItemKey) -> ItemOutcome:
    """Return the outcome of the removal of an item that a session lacks, or that an agent may not see."""
    return ItemOutcome(False, f"The {key} is not in the session; nothing was changed.")


def with_item(session: Session, key: ItemKey, mode: IncludeMode | None) -> tuple[Session, ItemOutcome]:
    """Add an item by hand, whatever its mode; then it is `manual`.

    `mode` is the item's current mode, None if it doesn't exist. Raises `NotFound` if the session lacks it
    too, `TooLarge` if the session is full.
    """
    there = next((item for item in session.items if item.key == key), None)
    if there is not None and (there.include == "manual" or mode in {"always", None}):
        return session, ItemOutcome(False, f"The {key} is in the session already; nothing was changed.")
    if mode is None:
        raise unknown_item(key)
    changed = replace(
        session,
        items=(*(item for item in session.items if item.key != key), IncludedItem.of(key, "manual")),
        removed=tuple(removed for removed in session.removed if removed != key),
    )
    return _checked_count(changed), ItemOutcome(True, f"Added the {key}.")


def without_item(session: Session, key: ItemKey, mode: IncludeMode | None) -> tuple[Session, ItemOutcome]:
    """Remove an item by hand, whatever its mode, even one that doesn't exist any more.

    It doesn't come back by itself until it is added again: neither as an `always` item nor by its patterns
    nor by search. So an item that is not in the session, but could come into its requests, can be removed
    too. `mode` is the item's current mode, None if it doesn't exist.
    """
    rest = tuple(item for item in session.items if item.key != key)
    comes_by_itself = mode in {"always", "glob", "agent"} and key not in session.removed
    if len(rest) == len(session.items) and not comes_by_itself:
        return session, item_is_not_there(key)
    removed = (*(removed for removed in session.removed if removed != key), key)[-MAX_ITEMS:]
    return replace(session, items=rest, removed=removed), ItemOutcome(True, f"Removed the {key}.")


def with_fields(
    session: Session,
    *,
    name: str | None = None,
    current_intent: str | None = None,
    env_hint: str | None = None,
    selection: Mapping[str, object] | str | None = None,
) -> Session:
    """Return a session with the given fields; an empty text clears a field.

    `selection` is read by `parse_selection`. Raises `InvalidRequest` for an unusable field.
    """
    if name is not None:
        session = replace(session, name=one_line("name", name, MAX_NAME_CHARACTERS))
    if current_intent is not None:
        intent = some_lines("current_intent", current_intent, MAX_NOTE_CHARACTERS)
        session = replace(session, current_intent=intent)
    if env_hint is not None:
        session = replace(session, env_hint=some_lines("env_hint", env_hint, MAX_NOTE_CHARACTERS))
    if selection is not None:
        session = replace(session, selection=_checked_selection(selection))
    return session


def observed(session: Session, at: str) -> Session:
    """Return a session with a use noted, which makes an ended one active again."""
    return replace(session, last_observed=at, ended="")


def idle(session: Session, at: str) -> Session:
    """Return a session whose turn ended."""
    return replace(session, last_idle=at)


def ended(session: Session, at: str) -> Session:
    """Return an ended session; one that ended before keeps its time."""
    return session if session.ended else replace(session, ended=at)


def _checked_count(session: Session) -> Session:
    if len(session.items) > MAX_ITEMS:
        raise TooLarge(
            f"the session would have {len(session.items):,} items, and at most {MAX_ITEMS:,} are kept."
            " Nothing was changed.",
            "Give some of them another mode than always (PutItem, SetToolMode), or remove some.",
        )
    return session


def _checked_selection(selection: Mapping[str, object] | str) -> Mapping[str, object]:
    """Return a copy as it will be read back from JSON; a word means its preset."""
    parse_selection(selection)
    try:
        text = json.dumps(
            {"preset": selection} if isinstance(selection, str) else dict(selection), allow_nan=False
        )
        copy: dict[str, object] = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest(f"selection can't be stored as JSON ({error})", "selection") from error
    if len(text) > MAX_SELECTION_BYTES:
        raise InvalidRequest(f"selection takes more than {MAX_SELECTION_BYTES:,} bytes of JSON", "selection")
    return copy


MAX_ID_CHARACTERS = 128
"""Maximum length of a session id: hosts use UUIDs (36 characters), some with a prefix; a folder's name may
have 255."""


def new_id() -> str:
    """Return a new session id: 64 random bits."""
    return f"ses_{secrets.token_hex(8)}"


def is_id(text: str) -> bool:
    """Tell whether a text can be a session's id: a safe name of a folder that is not hidden."""
    return _ID.fullmatch(text) is not None


def checked_id(text: str) -> str:
    """Return an id that a client gave. Raises `InvalidRequest` for an unusable one."""
    if not is_id(text):
        raise InvalidRequest(
            f"session_id must have 1 to {MAX_ID_CHARACTERS} characters, letters, digits and . _ : @ + -, and"
            f" begin with a letter or digit, not {text!r:.80}",
            "session_id",
        )
    return text


_ID = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._:@+-]{{0,{MAX_ID_CHARACTERS - 1}}}")


class SessionSummary(Struct, frozen=True):
    """A session in a list: `items` and `context_items` are counts. Small enough to cache thousands."""

    id: str
    project_root: str
    created: str
    name: str
    agent_name: str
    last_observed: str
    last_idle: str
    ended: str
    current_intent: str
    revision: int
    items: int
    context_items: int


def last_use(summary: SessionSummary, latest: str) -> str:
    """Return the time of a session's last use up to a time; "" if all are later, by a wrong clock."""
    times = (summary.created, summary.last_observed, summary.last_idle)
    return max((time for time in times if time <= latest), default="")


def summary_of(session: Session) -> SessionSummary:
    """Return the summary of a session."""
    fields = {**asdict(session), "items": len(session.items)}
    return convert({**fields, "context_items": sum(map(len, session.context.values()))}, SessionSummary)
