"""Owns what agents see of a project who may not see all of it: tree and index without the hidden files, kept
while they hold.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

from ..index.partial_reader import PartialReader
from ..index.reader_pool import ReaderPool
from ..index.store import Reader
from ..privacy.policy import Policy, folded_path
from .tree import Tree

VIEWS_MAX = 8
"""Maximum number of cached views of a project, by denied paths; each has a copy of the
tree's dictionary (10 MB for 100,000 files) and up to four connections."""


class ProjectViews:
    """The views of one project by `deny_paths`. From any thread."""

    def __init__(self, folder: str, on_damage: Callable[[str], None] = lambda _: None) -> None:
        self._folder = folder
        self._on_damage = on_damage
        self._views: OrderedDict[tuple[str, ...], _View] = OrderedDict()
        self._lock = threading.Lock()

    def tree(self, tree: Tree, policy: Policy) -> Tree:
        """Return the tree without what a policy denies.

        Names are compared with the patterns once; after that a change of the tree costs as much as any.
        """
        return self._view(policy).of(tree) if policy.deny_paths else tree

    def reader(self, policy: Policy) -> Callable[[], AbstractContextManager[Reader]]:
        """Return what lends a reader of the index without what a policy denies."""
        return self._view(policy).readers.borrow

    def knows(self, tree: Tree, policy: Policy) -> bool:
        """Whether `tree` answers at once: the names were compared with the patterns before."""
        view = self._views.get(policy.deny_paths)
        return not policy.deny_paths or (view is not None and view.names == tree.names_generation)

    def renew(self) -> None:
        """Open the index anew for later readers: it may be another one."""
        for view in list(self._views.values()):
            view.readers.renew()

    def close(self) -> None:
        """Close all connections."""
        for view in self._views.values():
            view.readers.close()
        self._views.clear()

    def _view(self, policy: Policy) -> _View:
        with self._lock:
            view = self._views.get(policy.deny_paths)
            if view is None:
                view = self._views[policy.deny_paths] = _View(self._folder, policy, self._on_damage)
            self._views.move_to_end(policy.deny_paths)
            while len(self._views) > VIEWS_MAX:
                self._views.popitem(last=False)[1].readers.close()
            return view


class _View:
    """One set of denied paths. `names` is the generation of names that `_verdicts` are of."""

    def __init__(self, folder: str, policy: Policy, on_damage: Callable[[str], None]) -> None:
        self._by_rule = Policy(deny_paths=policy.deny_paths).denies
        patterns = "\0".join(map(folded_path, policy.deny_paths)).encode("utf-8", "replace")
        key = hashlib.blake2b(patterns, digest_size=16).hexdigest()
        self.readers = ReaderPool(folder, partial(PartialReader, denies=self._denies, key=key), on_damage)
        self.names = -1
        self._hidden: frozenset[str] = frozenset()
        self._verdicts: dict[str, bool] = {}
        self._lock = threading.Lock()
        self._whole: Tree | None = None
        self._part: Tree | None = None

    def of(self, tree: Tree) -> Tree:
        """Return a tree without what is hidden in it."""
        with self._lock:
            if self._part is None or self._whole is not tree:
                if self.names != tree.names_generation or self._whole is None:
                    self._judge(tree)
                self._part = tree.without(self._hidden, self._part)
                self._whole = tree
            return self._part

    def _denies(self, path: str) -> bool:
        verdict = self._verdicts.get(path)
        return self._by_rule(path) if verdict is None else verdict

    def _judge(self, tree: Tree) -> None:
        """Compare the names that came with the patterns; those that went are forgotten."""
        known, denies = self._verdicts, self._by_rule
        self._verdicts = {
            path: verdict if (verdict := known.get(path)) is not None else denies(path) for path in tree.files
        }
        self._hidden = frozenset(path for path, denied in self._verdicts.items() if denied)
        self.names = tree.names_generation
