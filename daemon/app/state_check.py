"""Checks all files of the state folder for damage, and repairs it by quarantine.

Each file is read as its owner reads it, and nothing is changed; `repair` renames a damaged file, so that
the next daemon rebuilds it or starts without it. The caller holds the daemon's lock.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from typing import Literal

from msgspec import Struct

from ..access.service import dashboard, dashboard_file
from ..context.records import SCOPE_SCHEMA, SCOPE_SCHEMA_VERSION
from ..context.service import scopes_in
from ..core import metric_history
from ..core.errors import InvalidRequest, NewerVersion
from ..core.quarantine import MARK, quarantine
from ..core.state_folder import STATE_VERSION, VERSION_FILE, check_version
from ..core.storage import NewerDatabase, OtherVersion, check_database, open_reader
from ..core.system import System
from ..embedding.records import EMBEDDING_SCHEMA, EMBEDDING_SCHEMA_VERSION
from ..embedding.service import check_vector_file
from ..index.service import check_files, check_format, check_index, read_listing
from ..memory.records import LINE_VERSION
from ..memory.service import lines_from, read_line
from ..privacy import trust
from ..privacy.trust import TrustStore
from ..project.records import RECORD_VERSION
from ..rules.records import APPROVALS_VERSION, ITEMS_VERSION
from ..rules.service import Approvals, ItemStore, list_in
from ..sessions.records import META_VERSION
from ..sessions.service import delivery_tables, session_in
from ..transcripts.service import cursor as cursor_store

Condition = Literal["whole", "damaged", "aside", "unreadable", "unknown"]


class Finding(Struct, frozen=True):
    """The state of a file or folder; `path` is relative to the state folder.

    `derived` files are rebuilt, so that nothing is lost with them. `mends_itself` says that the owner
    repairs the file when it is opened next and keeps all intact content, so that no repair is needed.
    """

    path: str
    condition: Condition
    text: str = ""
    derived: bool = False
    mends_itself: bool = False


class _Kind(Struct, frozen=True):
    """A kind of file. `layout` is the version of its content and, for a database, its schema; empty for files
    that are derived, or in a form that isn't foveal's own."""

    pattern: str
    check: Callable[[str, System], object]
    layout: tuple[int, str] | None = None
    derived: bool = False
    is_folder: bool = False
    mends_itself: bool = False


def layout_of_state() -> dict[str, tuple[int, str]]:
    """Return the version, and the schema of a database, of every kind of file that isn't derived."""
    return {kind.pattern: kind.layout for kind in _KINDS if kind.layout is not None}


def check_state_files(state: str, system: System) -> Iterator[Finding]:
    """Yield the state of every file, by name; a large folder takes seconds a gigabyte."""
    yield from _below(state, "", system)


def repair(state: str, finding: Finding, system: System) -> str:
    """Quarantine a damaged file, and return its new name. Needs the daemon's lock. Raises `OSError`.

    The write-ahead log of a database is renamed with it.
    """
    path = os.path.join(state, finding.path)
    kept = quarantine(path, system)
    for suffix in ("-wal", "-shm", "-journal"):
        if finding.path.endswith((".sqlite", ".db")) and os.path.lexists(path + suffix):
            os.replace(path + suffix, os.path.join(os.path.dirname(path), kept + suffix))
    return kept


def _below(state: str, folder: str, system: System) -> Iterator[Finding]:
    try:
        with system.scandir(os.path.join(state, folder)) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        yield Finding(folder or ".", "unreadable", f"can't be listed: {error.strerror}")
        return
    for entry in found:
        name = os.path.join(folder, entry.name)
        if MARK in entry.name:
            yield Finding(name, "aside", "was set aside earlier; remove it when nothing in it is missed")
        elif fnmatchcase(name, "backups/*"):
            continue
        elif _is_temporary(name):
            if not entry.is_file():
                yield Finding(name, "damaged", "is not a regular file", derived=True, mends_itself=True)
        elif (kind := _kind_of(name)) is not None:
            yield _checked(state, name, kind, system)
        elif entry.is_dir():
            yield from _below(state, name, system)
        elif any(fnmatchcase(name, folder) for folder in _FOLDERS if folder.count("/") == name.count("/")):
            yield Finding(name, "damaged", "is not a folder")
        else:
            yield Finding(name, "unknown", "is no file of this version")


def _checked(state: str, name: str, kind: _Kind, system: System) -> Finding:
    path = os.path.join(state, name)
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode) != kind.is_folder or not (kind.is_folder or stat.S_ISREG(mode)):
            raise ValueError(f"is not a {'folder' if kind.is_folder else 'regular file'}")
        kind.check(path, system)
    except (NewerDatabase, NewerVersion) as error:
        return Finding(name, "unreadable", str(error).replace(f"{path} ", "").removeprefix("it "))
    except PermissionError as error:
        return Finding(
            name, "unreadable", f"can't be read ({error.strerror}); mend it with: chmod u+rw {path}"
        )
    except OtherVersion as error:
        if kind.derived:
            return Finding(name, "whole", derived=True)  # as after an update: it is made anew
        return Finding(name, "damaged", str(error))
    except Exception as error:  # noqa: BLE001 - whatever it raises, it is damaged
        text = str(error).replace(f"{path} ", "") or repr(error)
        mends_itself = kind.mends_itself or isinstance(error, _MendsItself)
        return Finding(name, "damaged", text, derived=kind.derived, mends_itself=mends_itself)
    return Finding(name, "whole", derived=kind.derived)


def _kind_of(name: str) -> _Kind | None:
    depth = name.count(os.sep)
    matching = (kind for kind in _KINDS if kind.pattern.count("/") == depth)
    return next((kind for kind in matching if fnmatchcase(name, kind.pattern)), None)


class _MendsItself(ValueError):
    """Damage that the owner repairs when the file is opened next."""


def _is_temporary(name: str) -> bool:
    """Whether a file holds only temporary state."""
    return any(fnmatchcase(name, pattern) for pattern in _TEMPORARY)


def _check_version(path: str, system: System) -> None:
    mark = check_version(os.path.dirname(path), system)
    if mark is not None and mark.problem:
        raise ValueError(mark.problem)


def _check_json(path: str, system: System) -> None:
    if not isinstance(json.loads(system.read(path)[0]), dict):
        raise ValueError("is no JSON object")


def _check_session(path: str, system: System) -> None:
    session = session_in(system.read(path)[0], path)
    if session.id != os.path.basename(os.path.dirname(path)):
        raise InvalidRequest(f"is of the session {session.id!r:.130}")


def _check_pool(path: str, system: System) -> None:
    bad = 0
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        for line in lines_from(descriptor, 0):
            try:
                read_line(line)
            except InvalidRequest:
                bad += 1
    finally:
        os.close(descriptor)
    if bad:
        raise ValueError(f"has lines that can't be read ({bad}); the others are used")


def _check_database(schema: str, version: int) -> Callable[[str, System], None]:
    return lambda path, _: check_database(path, schema, version)


def _check_scopes(path: str, system: System) -> None:
    check_database(path, SCOPE_SCHEMA, SCOPE_SCHEMA_VERSION)
    database = open_reader(path, SCOPE_SCHEMA_VERSION)
    try:
        bad = len(scopes_in(database)[1])
    finally:
        database.close()
    if bad:
        raise _MendsItself(f"has scopes that can't be read ({bad}); the others are used")


def _check_lexical(path: str, system: System) -> None:
    listing = read_listing(path)
    check_format(listing.format)
    check_files(path, listing)


def _check_nothing(path: str, system: System) -> None:
    """Accept a file that is opened with its database, or needs no check."""


_KINDS = (
    _Kind(VERSION_FILE, _check_version, (STATE_VERSION, ""), mends_itself=True),
    _Kind("trusted.json", lambda path, system: TrustStore(path, system).of("/"), (trust.VERSION, "")),
    _Kind("approvals.json", lambda path, system: Approvals(path, system).load(), (APPROVALS_VERSION, "")),
    _Kind("sessions/*/meta.json", _check_session, (META_VERSION, "")),
    _Kind("projects/*/items.json", lambda path, system: ItemStore(path, system).load(), (ITEMS_VERSION, "")),
    _Kind("projects/*/experiences.jsonl", _check_pool, (LINE_VERSION, ""), mends_itself=True),
    _Kind("projects/*/experiences.*.jsonl", _check_pool, (LINE_VERSION, ""), mends_itself=True),
    _Kind("projects/*/experiences.jsonl.quarantine", _check_nothing),
    _Kind("projects/*/project.json", _check_json, (RECORD_VERSION, ""), derived=True, mends_itself=True),
    _Kind("projects/*/feedback.json", _check_nothing, (1, "")),  # of former versions, never read
    _Kind("projects/*/index.sqlite", lambda path, _: check_index(os.path.dirname(path)), derived=True),
    _Kind(
        "projects/*/transcripts.db",
        _check_database(cursor_store.SCHEMA, cursor_store.VERSION),
        (cursor_store.VERSION, cursor_store.SCHEMA),
        derived=True,
    ),
    _Kind("projects/*/at_work", _check_nothing, derived=True, mends_itself=True),
    _Kind("projects/*/lexical", _check_lexical, derived=True, is_folder=True),
    _Kind("projects/*/vectors-*.bin", lambda path, _: check_vector_file(path), derived=True),
    _Kind("projects/*/vectors/vectors-*.bin", lambda path, _: check_vector_file(path), derived=True),
    _Kind("projects/*/cookies", lambda path, _: os.listdir(path), derived=True, is_folder=True),
    _Kind("projects/*/foveal.last.toml", _check_nothing),
    _Kind("config.last.toml", _check_nothing),
    _Kind("tools/*.json", lambda path, system: list_in(json.loads(system.read(path)[0])), derived=True),
    _Kind("embeddings/models/*.lock", _check_nothing, derived=True),
    _Kind("embeddings/models/all-MiniLM-L6-v2-int8", _check_nothing, derived=True, is_folder=True),
    _Kind("embeddings/*.sqlite", _check_database(EMBEDDING_SCHEMA, EMBEDDING_SCHEMA_VERSION), derived=True),
    _Kind("scopes.sqlite", _check_scopes, (SCOPE_SCHEMA_VERSION, SCOPE_SCHEMA)),
    _Kind(
        delivery_tables.FILE,
        _check_database(delivery_tables.SCHEMA, delivery_tables.VERSION),
        (delivery_tables.VERSION, delivery_tables.SCHEMA),
    ),
    _Kind(
        "metrics.sqlite",
        _check_database(metric_history.SCHEMA, metric_history.VERSION),
        (metric_history.VERSION, metric_history.SCHEMA),
    ),
    _Kind("compressions.sqlite", _check_nothing, derived=True),
    _Kind(
        "dashboard.json",
        lambda path, system: dashboard_file(path, system).read(),
        (dashboard.VERSION, ""),
        mends_itself=True,
    ),
    _Kind("hook-spool/*", _check_nothing, mends_itself=True),
    _Kind("hook-events.json", _check_nothing, mends_itself=True),
    _Kind("hooks.log", _check_nothing, mends_itself=True),
)

_TEMPORARY = (
    "lock", "start.lock", "daemon.json", "foveal.log*", "*.tmp",
    *(f"*{kind}{suffix}" for kind in (".sqlite", ".db") for suffix in ("-wal", "-shm", "-journal", "-seal")),
)  # fmt: skip

_FOLDERS = ("projects", "sessions", "tools", "embeddings", "hook-spool", "projects/*", "sessions/*",
            "projects/*/vectors", "embeddings/models")  # fmt: skip
"""Folders whose files are checked."""
