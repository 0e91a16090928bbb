"""The pools of open projects: the work trees of a repository have one, what they had before joins it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from weakref import WeakValueDictionary

from ..core.errors import Busy, InvalidRequest, StateError
from ..core.system import System
from ..project.records import Worktree
from .edits import Edit
from .experience import Experience
from .lines import MAX_LINE_BYTES, lines_from, read_line
from .pool import Pool
from .pool_file import ROTATE_BYTES, PoolFile
from .pool_filters import Criteria
from .pool_store import PoolStore

POOL_FILE = "experiences.jsonl"


class Pools:
    """Opens pools. Blocks; in one thread."""

    def __init__(self, retention: Criteria, system: System) -> None:
        self._retention = retention
        self._system = system
        self._stores: WeakValueDictionary[str, PoolStore] = WeakValueDictionary()
        """What open pools read, by the path."""

    def open(
        self, root: str, folder: str, home: str, worktree: Worktree | None, shared: str, *, trusted: bool
    ) -> Pool:
        """Open the pool of a project. `folder` is the project's in the state folder, `home` the one of its
        family, with the pool. Raises as `Pool` does."""
        path = os.path.join(home, POOL_FILE)
        pool = Pool(
            path,
            self._system,
            root=root,
            shared=shared,
            trusted=trusted,
            retention=self._retention,
            worktree=worktree,
            store=self._stores.get(path),
        )
        self._stores[path] = pool.store
        if worktree is not None and folder != home:
            try:
                join(os.path.join(folder, POOL_FILE), pool, worktree.id, self._system)
            except (StateError, Busy, OSError) as error:
                problem = f"the decisions in {folder} could not join those of the repository ({error})"
                pool.store.set_problem(folder, problem)
            else:
                pool.store.set_problem(folder, "")
        return pool


def join(path: str, pool: Pool, worktree: str, system: System, *, keeps: bool = False) -> int:
    """Move the records of the pool at `path` into another one, or copy them if it `keeps` them; returns how
    many experiences are new there.

    They count as made in the work tree with an id unless they name one. What is there already isn't added
    again, and files go only when all they hold is durable, so after a crash this is done again. What can't be
    read stays in quarantine beside the former pool. Raises `StateError`, `Busy` or `OSError`.
    """
    source = PoolFile(path, system)
    if not source.parts():
        return 0
    PoolStore(path, system, "", os.write, ROTATE_BYTES).refresh()  # repairs it
    with source.locked():
        added = pool.store.add_lines(_lines_of(source, worktree))
        for part in () if keeps else source.parts():
            os.unlink(part)
        system.fsync_folder(os.path.dirname(path))
    pool.refresh()
    return added


def _lines_of(source: PoolFile, worktree: str) -> Iterator[tuple[bytes, Experience | Edit | None]]:
    """Yield the lines that can be read, with unknown fields, and what they hold; None in one of a newer
    version."""
    for part in source.parts():
        with source.reading(part) as descriptor:
            for line in lines_from(descriptor, 0):
                try:
                    record = read_line(line)
                except InvalidRequest:
                    continue
                data = line.data
                if isinstance(record, Experience) and worktree and not record.worktree:
                    named = data.rstrip()[:-1] + b',"worktree":' + json.dumps(worktree).encode() + b"}\n"
                    data = named if len(named) <= MAX_LINE_BYTES else data  # too long, it couldn't be read
                if line.complete and data.strip():
                    yield data, record
