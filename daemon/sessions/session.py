"""Owns the session: its record and how that changes; knows no file and no context set's rules."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from msgspec import Struct, field
from msgspec.structs import replace

from ..core.errors import InvalidRequest, NotFound, TooLarge
from ..rules.items import IncludeMode, ItemKey, one_line, some_lines
from ..rules.selection import parse_selection

MAX_ITEMS = 5_000
"""Of a session. Hosts stop at some hundred tools; more than this is a mistake, and slow."""
MAX_NAME_CHARACTERS = 200
MAX_NOTE_CHARACTERS = 4_000
"""Of the intent and the hint on the environment, which are put before an agent whenever it resumes."""
MAX_SELECTION_BYTES = 16_384


class SessionItem(Struct, frozen=True):
    """An item in a session. `include` says how it came in: `always` on its own, `manual` by hand.

    Today's mode of the agent level holds for what came in on its own, whatever it was then.
    """

    key: ItemKey
    include: IncludeMode


class Session(Struct, frozen=True):
    """A conversation: what is always in it and what it is about. Never changes: the store replaces it.

    Times are ISO 8601 UTC with milliseconds and `Z`, empty for never. `items` stand in the order in which
    they came in, `removed` names those that were taken out by hand and so don't come back by themselves.
    `context` holds no empty set. `extra` holds fields of the record that this version doesn't know.
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
    items: tuple[SessionItem, ...] = ()
    removed: tuple[ItemKey, ...] = ()
    selection: Mapping[str, object] = field(default_factory=dict)
    revision: int = 0
    extra: Mapping[str, object] = field(default_factory=dict)

    @property
    def active(self) -> str:
        """When something was last heard of it."""
        return max(self.created, self.last_observed, self.last_idle)


class ItemOutcome(Struct, frozen=True):
    """What became of adding or removing an item; `text` says it in a sentence."""

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
    """Return a session that takes the `always` items, as they are now. `at` is the time.

    Raises `InvalidRequest` for a field that can't be used, `TooLarge` for too many items.
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
    """Return a session with the `always` items that it has not and that were not removed from it by hand."""
    there = {item.key for item in session.items}.union(session.removed)
    missing = tuple(SessionItem(key, "always") for key in dict.fromkeys(always) if key not in there)
    return _checked_count(replace(session, items=session.items + missing)) if missing else session


def with_item(session: Session, key: ItemKey, mode: IncludeMode | None) -> tuple[Session, ItemOutcome]:
    """Add an item by hand, whatever its mode; from then on it is `manual`.

    `mode` is that of the agent level, None where that lacks it. Raises `NotFound` where the session lacks it
    too, `TooLarge` where the session is full.
    """
    there = next((item for item in session.items if item.key == key), None)
    if there is not None and (there.include == "manual" or mode in {"always", None}):
        return session, ItemOutcome(False, f"The {key} is in the session already; nothing was changed.")
    if mode is None:
        raise NotFound(f"there is no {key}. ListItems names those that there are; PutItem makes one.")
    changed = replace(
        session,
        items=(*(item for item in session.items if item.key != key), SessionItem(key, "manual")),
        removed=tuple(removed for removed in session.removed if removed != key),
    )
    return _checked_count(changed), ItemOutcome(True, f"Added the {key}.")


def without_item(session: Session, key: ItemKey, mode: IncludeMode | None) -> tuple[Session, ItemOutcome]:
    """Remove an item by hand, whatever its mode, also one that is gone from the agent level meanwhile.

    It doesn't come back by itself, unless it is added again: neither as an `always` item nor by its patterns
    nor by search. So one that isn't in the session, but would come into its requests so, can be removed too.
    `mode` is that of the agent level, None where that lacks it.
    """
    rest = tuple(item for item in session.items if item.key != key)
    comes_by_itself = mode in {"always", "glob", "agent"} and key not in session.removed
    if len(rest) == len(session.items) and not comes_by_itself:
        return session, ItemOutcome(False, f"The {key} is not in the session; nothing was changed.")
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
    """Return a session with those fields that are given; an empty one is cleared.

    `selection` is what `parse_selection` reads. Raises `InvalidRequest` for one that can't be used.
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
    """Return a session that something was heard of, which makes an ended one live again."""
    return replace(session, last_observed=at, ended="")


def idle(session: Session, at: str) -> Session:
    """Return a session whose turn ended."""
    return replace(session, last_idle=at)


def ended(session: Session, at: str) -> Session:
    """Return a session that was ended; one that was already keeps its time."""
    return session if session.ended else replace(session, ended=at)


def timestamp_of(moment: datetime) -> str:
    """Return an aware time as a session has it: ISO 8601 UTC with milliseconds and `Z`; it sorts as text."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _checked_count(session: Session) -> Session:
    if len(session.items) > MAX_ITEMS:
        raise TooLarge(
            f"the session would have {len(session.items):,} items, and at most {MAX_ITEMS:,} are kept."
            " Nothing was changed."
            " Give some of them another mode than always (PutItem, SetToolMode), or remove some."
        )
    return session


def _checked_selection(selection: Mapping[str, object] | str) -> Mapping[str, object]:
    """Return a copy that nobody else holds, as it will be read back; a word stands for its preset."""
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
"""Hosts give UUIDs (36 characters) or these with a prefix; a folder's name may have 255."""


def new_id() -> str:
    """Return an id that no session has: 64 random bits."""
    return f"ses_{secrets.token_hex(8)}"


def is_id(text: str) -> bool:
    """Whether a text can be a session's id: a folder's name that leads nowhere else and is not hidden."""
    return _ID.fullmatch(text) is not None


def checked_id(text: str) -> str:
    """Return an id that a client gave. Raises `InvalidRequest` for one that can't be used."""
    if not is_id(text):
        raise InvalidRequest(
            f"session_id must have 1 to {MAX_ID_CHARACTERS} characters, letters, digits and . _ : @ + -, and"
            f" begin with a letter or digit, not {text!r:.80}",
            "session_id",
        )
    return text


_ID = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._:@+-]{{0,{MAX_ID_CHARACTERS - 1}}}")


class SessionSummary(Struct, frozen=True):
    """A session without its content; `items` and `context_items` count it. Times as in a `Session`."""

    id: str
    project_root: str
    name: str
    agent_name: str
    created: str
    last_observed: str
    last_idle: str
    ended: str
    current_intent: str
    items: int
    context_items: int
    revision: int
    active: str
    """When something was last heard of it."""


def summary_of(session: Session) -> SessionSummary:
    """Return the summary of a session."""
    return SessionSummary(
        session.id,
        session.project_root,
        session.name,
        session.agent_name,
        session.created,
        session.last_observed,
        session.last_idle,
        session.ended,
        session.current_intent,
        len(session.items),
        sum(len(entries) for entries in session.context.values()),
        session.revision,
        session.active,
    )
