"""Owns reading an index as if some of its files weren't in it, for an agent that may not see all of them.

The tables that readers ask are shadowed by views of the same names in the connection's own schema, so that no
question can meet a hidden file, whoever wrote it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .store import Reader


class PartialReader(Reader):
    """A reader that knows no file whose path `denies`. `key` tells readers of different parts apart: what is
    remembered of one is not true of another.

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
