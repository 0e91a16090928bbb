"""Connections to a project's index that threads borrow, for all of it or for what an agent may see."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..core.errors import FovealError
from ..core.storage import DatabaseError, OtherVersion, may_pass
from .store import Reader

READERS_MAX = 4
"""Maximum number of idle connections, which is the number of builds at a time."""

CHECKED_S = 60.0
"""Seconds in which an index that was found whole isn't checked again after an error."""


class ReaderPool:
    """Connections to an index, lent to one thread at a time and kept for the next.

    `on_damage` is called, from any thread, for errors that can't pass by themselves.
    """

    def __init__(
        self,
        folder: str,
        make: Callable[[str], Reader] = Reader,
        on_damage: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._folder = folder
        self._make = make
        self._on_damage = on_damage
        self._lock = threading.Lock()
        self._idle: list[Reader] = []
        self._lives = 0
        self._closed = False
        self._whole_until = 0.0

    @contextlib.contextmanager
    def borrow(self) -> Iterator[Reader]:
        """Lend a reader. Raises `DatabaseError` where there is no index yet, or a damaged one.

        A value that no index holds may raise anything in its reader: then the whole file is checked, and the
        error becomes `DatabaseError` if it is damaged.
        """
        with self._lock:
            reader, lives = self._idle.pop() if self._idle else None, self._lives
        try:
            reader = reader or self._make(self._folder)
            yield reader
        except DatabaseError as error:
            self._let_go(reader)
            self._note(error)
            raise
        except Exception as error:
            self._let_go(reader)
            if reader is not None and not isinstance(error, FovealError) and not may_pass(error):
                self._check(reader, error)
            raise
        except BaseException:
            self._let_go(reader)
            raise
        with self._lock:
            if len(self._idle) < READERS_MAX and lives == self._lives and not self._closed:
                self._idle.append(reader)
                return
        reader.close()

    def renew(self) -> None:
        """Close the idle readers now, the lent ones when they come back; later ones open the index anew."""
        with self._lock:
            self._lives += 1
            idle, self._idle = self._idle, []
        for reader in idle:
            reader.close()

    def close(self) -> None:
        """Close the idle readers now and the lent ones when they come back."""
        self._closed = True
        self.renew()

    def _let_go(self, reader: Reader | None) -> None:
        if reader is not None:
            reader.close()

    def _note(self, error: DatabaseError) -> None:
        # There is none of this version yet: the indexer makes it.
        if not self._closed and not may_pass(error) and not isinstance(error, OtherVersion):
            self._on_damage(str(error))

    def _check(self, reader: Reader, error: Exception) -> None:
        """Raise `DatabaseError` where an error came of a damaged index."""
        now = time.monotonic()
        if now < self._whole_until:
            return
        try:
            reader.check()
        except DatabaseError as damage:
            self._note(damage)
            raise DatabaseError(str(damage)) from error
        self._whole_until = now + CHECKED_S


class PartialReader(Reader):
    """A reader that knows no file whose path `denies`. `key` tells readers of different parts apart, so that
    caches don't mix them.

    Each snapshot first looks at the files that came since the last one: 100,000 files take the time of as
    many calls of `denies`, once for a connection.
    """

    def __init__(self, folder: str, denies: Callable[[str], bool], key: str) -> None:
        super().__init__(folder)
        self.path = f"{self.path}?{key}"
        self._denies = denies
        self._last = 0
        self._db.executescript(f"PRAGMA query_only = OFF; PRAGMA temp_store = MEMORY; {_VIEWS}")

    @contextmanager
    def snapshot(self) -> Iterator[int]:
        """Make all reads inside see one state, without what is hidden in it; yields its generation."""
        with super().snapshot() as generation:
            self._hide_new_files()
            yield generation

    def _hide_new_files(self) -> None:
        """Hide the files that came since the last look; a file that comes back has another id."""
        rows = self._db.execute("SELECT id, path FROM main.files WHERE id > ?", (self._last,)).fetchall()
        hidden = [(number, path) for number, path in rows if self._denies(path)]
        self._db.executemany("INSERT OR IGNORE INTO temp.hidden VALUES (?, ?)", hidden)
        self._last = max((number for number, _ in rows), default=self._last)


_SHOWN = "file_id NOT IN (SELECT id FROM temp.hidden)"
_VIEWS = f"""
CREATE TEMP TABLE hidden (id INTEGER PRIMARY KEY, path TEXT NOT NULL);
CREATE INDEX temp.hidden_by_path ON hidden (path);
CREATE TEMP VIEW files AS SELECT * FROM main.files WHERE id NOT IN (SELECT id FROM temp.hidden);
CREATE TEMP VIEW definitions AS SELECT * FROM main.definitions WHERE {_SHOWN};
CREATE TEMP VIEW chunks AS SELECT * FROM main.chunks WHERE {_SHOWN};
CREATE TEMP VIEW texts AS SELECT * FROM main.texts WHERE {_SHOWN};
CREATE TEMP VIEW unlinked AS SELECT * FROM main.unlinked WHERE {_SHOWN};
CREATE TEMP VIEW imports AS SELECT * FROM main.imports
    WHERE {_SHOWN} AND target NOT IN (SELECT path FROM temp.hidden);
CREATE TEMP VIEW links AS SELECT * FROM main.links WHERE {_SHOWN} AND (target <= 0 OR NOT EXISTS (
    SELECT 1 FROM main.definitions d WHERE d.id = target AND d.file_id IN (SELECT id FROM temp.hidden)));
CREATE TEMP VIEW activity AS SELECT * FROM main.activity
    WHERE path NOT IN (SELECT path FROM temp.hidden);
"""  # noqa: S608 - fixed text
