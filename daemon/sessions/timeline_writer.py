"""Writes what happened in sessions into the tables of the timeline, in a thread.

Only here are the slices of contexts read, texts masked, and paths placed in their project.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from ..context.assembly import Built
from ..core.errors import InvalidRequest
from ..core.record_file import RecordFile
from ..core.storage import Database
from ..privacy.secret_gate import mask_said
from ..project.roots import relative_path
from ..transcripts.activity import Activity
from ..transcripts.extraction import placed
from ..transcripts.injections import asked
from . import timeline
from .scope import Scope
from .timeline import Entry, Place, SessionRow, TimelineKind, Turn, UseSign, clean

PATHS_MAX = 50
"""Maximum number of paths of an entry."""

TEXT_CHARACTERS = 200
MASKED_CHARACTERS = 2_000
"""Maximum characters of a text that are masked before it is cut, so that no half of a secret remains."""

PLACE_TYPES = frozenset(("focus", "expansion", "session_set", "document", "compressed_segment", "dependency"))
"""Types of slices that show files of the project; the others are rules, decisions, and the map."""


class GivenContext(Struct):
    """A context that waits to be written; its slices are read in the writing thread."""

    scope: Scope
    built: Built
    reply: Mapping[str, Any]
    at: int
    times: int = 0


class TranscriptPart(Struct, frozen=True):
    """What agents did to files in a new part of a session's transcript; `cwd` is its folder."""

    session_id: str
    cwd: str
    activity: tuple[Activity, ...]
    at: int


class Waiting(Struct):
    """What isn't written yet."""

    entries: dict[int, Entry] = field(default_factory=dict)
    turns: dict[str, GivenContext] = field(default_factory=dict)
    signs: list[UseSign] = field(default_factory=list)
    transcripts: list[TranscriptPart] = field(default_factory=list)
    hosts: dict[str, tuple[str, str]] = field(default_factory=dict)
    """The host and the folder of sessions, by id."""
    roots: dict[str, str] = field(default_factory=dict)
    """The roots of sessions, by id."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits."""
        return not (self.entries or self.turns or self.signs or self.transcripts or self.hosts)


def store(file: RecordFile, waiting: Waiting, number: int) -> None:
    """Write what waits; entries of transcripts get numbers from `number` on. Raises `StateError`."""
    # Before the file is used: an error in there counts as damage.
    turns = [_turn_of(given) for given in waiting.turns.values()]
    entries = [replace(entry, text=_first_line(entry.text)) for entry in waiting.entries.values()]
    with file.writing() as database:
        _store(database, waiting, turns, entries, number)


def _store(
    database: Database, waiting: Waiting, turns: Iterable[Turn], entries: Iterable[Entry], number: int
) -> None:
    stored = _Stored(database, waiting)
    for turn in turns:
        session = stored.number_of(turn.session_id) if turn.session_id else 0
        timeline.put_turn(database, session, turn)
    signs: defaultdict[str, list[UseSign]] = defaultdict(list)
    for sign in waiting.signs:
        signs[sign.session_id] += _inside(stored.root_of(sign.session_id), sign)
    for entry in entries:
        root, is_decision = stored.root_of(entry.session_id), entry.kind == "decision"
        paths = entry.paths if is_decision else tuple(_relative(root, entry.paths))
        if entry.kind not in {"edit", "read"} or paths:
            timeline.put_entry(database, stored.number_of(entry.session_id), replace(entry, paths=paths))
    for transcript in waiting.transcripts:
        session_id, at = transcript.session_id, transcript.at
        session = stored.number_of(session_id)
        for found in _entries_in(transcript, stored.root_of(session_id)):
            found.number, number = number, number + 1
            timeline.put_entry(database, session, found)
        timeline.observe(database, session, at, mined=True)
        signs[session_id] += _signs_in(transcript, stored.root_of(session_id))
    for session_id, some in signs.items():
        timeline.mark_used(database, stored.number_of(session_id), some)
    for transcript in waiting.transcripts:
        timeline.count_saved(database, stored.number_of(transcript.session_id))
    for session in stored.numbers.values():
        timeline.prune_session(database, session)


class _Stored:
    """The sessions in the file: their numbers and roots."""

    def __init__(self, database: Database, waiting: Waiting) -> None:
        self._database = database
        self._roots: dict[str, str] = {}
        self.numbers: dict[str, int] = {}
        for given in waiting.turns.values():
            if given.scope.session_id:
                self.number_of(given.scope.session_id, SessionRow(given.scope.session_id, given.scope.root))
        for session_id, (host, _) in waiting.hosts.items():
            self.number_of(session_id, SessionRow(session_id, waiting.roots.get(session_id, ""), host))

    def number_of(self, session_id: str, known: SessionRow | None = None) -> int:
        """Return the number of a session; `known` is stored, too."""
        if known is not None or session_id not in self.numbers:
            row = known or SessionRow(session_id, "")
            self.numbers[session_id] = timeline.put_session(self._database, row)
        return self.numbers[session_id]

    def root_of(self, session_id: str) -> str:
        """Return the root of a session's project, "" for none."""
        if not self._roots.get(session_id):
            row = timeline.session_row(self._database, session_id)
            self._roots[session_id] = row.project if row else ""
        return self._roots[session_id]


def _turn_of(given: GivenContext) -> Turn:
    """Read what is counted of a context."""
    scope, reply = given.scope, given.reply
    context: str = reply.get("context", "")
    sizes = {shown.path: shown.stamp.size for shown in given.built.shown}
    types: dict[str, tuple[int, int, int]] = {}
    places: dict[str, Place] = {}
    for piece in reply["slices"]:
        start, end = piece.get("span", (0, 0))
        text = context[start:end]
        tokens, before, size = types.get(piece["type"], (0, 0, 0))
        size += len(text.encode("utf-8", "replace"))
        types[piece["type"]] = tokens + piece["tokens"], before + piece["tokens_before"], size
        path = clean(piece.get("path", ""))
        if path and scope.session_id and piece["type"] in PLACE_TYPES:
            known = places.get(path)
            whole = sizes.get(os.path.join(scope.root, path), 0)
            characters = len(text) + (known.characters if known else 0)
            places[path] = Place(path, known.type if known else piece["type"], characters, whole)
    return Turn(
        given.built.context_id,
        scope.session_id,
        scope.root,
        given.at,
        given.times,
        reply["tokens"],
        reply["bytes"],
        given.built.tokens_before,
        types,
        tuple(places.values()),
    )


def _entries_in(transcript: TranscriptPart, root: str) -> list[Entry]:
    """Return an entry for the files that an agent read in a turn, and one for those that it edited."""
    found: dict[str, Entry] = {}
    for item in transcript.activity:
        path = _inside_path(root, item.path, transcript.cwd)
        if item.how == "named" or not path:
            continue
        if not os.path.isabs(item.path) and not os.path.lexists(os.path.join(root, path)):
            continue  # a word of a command that looks like a path
        first = milliseconds(item.first, transcript.at)
        kind: TimelineKind = "edit" if item.how == "edited" else "read"
        mark = f"{item.agent_id}:{item.line}:{kind}"
        entry = found.setdefault(mark, Entry(0, transcript.session_id, first, kind, item.agent_id, mark=mark))
        entry.last = max(entry.last, milliseconds(item.last, transcript.at))
        if path not in entry.paths and len(entry.paths) < PATHS_MAX:
            entry.paths = (*entry.paths, path)
    return list(found.values())


def _signs_in(transcript: TranscriptPart, root: str) -> Iterator[UseSign]:
    for item in transcript.activity:
        at, is_exact = milliseconds(item.last, transcript.at), os.path.isabs(item.path)
        path = item.path
        if item.how != "named" or is_exact:
            path = _inside_path(root, path, transcript.cwd)
        if path:
            yield UseSign(transcript.session_id, item.how, clean(path), at, is_exact)


def _inside(root: str, sign: UseSign) -> Iterator[UseSign]:
    """Yield a sign with its path relative to the root; nothing for a file outside of it."""
    path = _inside_path(root, sign.path)
    if path:
        yield replace(sign, path=path)


def _relative(root: str, paths: Iterable[str]) -> Iterator[str]:
    """Yield the paths of files in a project, relative to its root."""
    yield from filter(None, (_inside_path(root, path) for path in paths))


def _inside_path(root: str, path: str, cwd: str = "") -> str:
    """Return the path of a file relative to the root, "" for one outside of it; `cwd` is the folder of a
    transcript that has the path."""
    try:
        found = placed(path, cwd, root) if cwd else path
        return clean(relative_path(root, found)) if root else ""
    except (InvalidRequest, ValueError, OSError):  # whatever a host or a transcript has there
        return ""


def _first_line(text: str) -> str:
    """Return the first line of a text, cut, with secrets masked, and without what hooks added to it."""
    masked = mask_said(asked(text[:MASKED_CHARACTERS])).text
    first = clean(masked.partition("\n")[0].rstrip())
    return first if len(first) <= TEXT_CHARACTERS else f"{first[: TEXT_CHARACTERS - 1]}…"


def milliseconds(at: str, otherwise: int) -> int:
    """Return a time of a host in milliseconds since the epoch, or another time if it can't be read."""
    try:
        moment = datetime.fromisoformat(at)
        found = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        return otherwise
    return min(max(found, 0), otherwise)
