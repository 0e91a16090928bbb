"""A scope: what one agent sees of a project."""

from __future__ import annotations

from msgspec import Struct

from ..workspace.records import HotNode


class Scope(Struct, frozen=True):
    """What one agent sees of a project. Immutable: the table replaces it by a new revision.

    `focus_paths` are the caller's, normalized; `expanded` are node ids added later by ExpandFocus.
    `constraints` are the scope's own; `inherited` are those of its ancestors, nearest last, as of its
    creation or of its parent's removal. `hot` lists the files being worked on at the last request.
    """

    id: str
    root: str
    identity: str
    session_id: str = ""
    agent_id: str = ""
    agent_name: str = ""
    task_type: str = ""
    focus_paths: tuple[str, ...] = ()
    expanded: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    inherited: tuple[str, ...] = ()
    parent_id: str = ""
    hot: tuple[HotNode, ...] = ()
    created_at: str = ""
    revision: int = 0

    @property
    def memory_bytes(self) -> int:
        """The estimated size of the record: its strings, each with about 60 bytes of overhead."""
        texts = (*self.focus_paths, *self.expanded, *self.constraints, *self.inherited, self.identity)
        return 800 + sum(60 + len(text) for text in texts) + 200 * len(self.hot)
