"""Owns what is known of a project whose vectors are kept: these, what is due for them, what is in the way."""

from __future__ import annotations

from msgspec import Struct

from .former import Former
from .project_vectors import ProjectVectors


class Kept(Struct):
    """A project whose vectors are kept. Changed by one thread, and read by that of questions.

    Without `vectors` they aren't loaded yet. `former` is what answers as long as it covers more;
    `former_sought` says that it was looked for. `stale` says that the project's chunks are to be looked at.
    `is_alone` says that no file is left of vectors that other models made. Until `again_at` nothing is done,
    because of `problem`. `index_damage` says why the project's index can't be read, until it is told.
    """

    root: str
    folder: str
    vectors: ProjectVectors | None = None
    former: Former | None = None
    former_sought: bool = False
    stale: bool = True
    is_alone: bool = False
    problem: str = ""
    index_damage: str = ""
    again_at: float = 0.0

    def all_vectors(self) -> list[ProjectVectors]:
        """Return the vectors that are loaded: of the configured model, and of a former one."""
        found = [self.vectors, None if self.former is None else self.former.vectors]
        return [vectors for vectors in found if vectors is not None]

    def let_go(self) -> None:
        """Close and forget all vectors, so that they are loaded anew."""
        for vectors in self.all_vectors():
            vectors.close()
        self.vectors, self.former, self.former_sought, self.stale = None, None, False, True
