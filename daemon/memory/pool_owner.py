"""A project as memory sees it: where it lies, its pool, and the sketches of its files."""

from __future__ import annotations

from typing import Protocol

from .file_sketches import FileSketches
from .pool import Pool


class PoolOwner(Protocol):
    """A project with a pool of experiences. `folder` is its part of the state folder."""

    @property
    def root(self) -> str:
        """The project's folder."""

    @property
    def folder(self) -> str:
        """The folder of what is kept about the project."""

    @property
    def pool(self) -> Pool:
        """Its experiences."""

    @property
    def sketches(self) -> FileSketches:
        """The sketches of its files."""
