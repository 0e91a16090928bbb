"""A project as its rules see it: where it lies, its files, and the instructions found there."""

from __future__ import annotations

from typing import Protocol

from ..project.tree import Tree
from .project_instructions import ProjectInstructions


class ItemOwner(Protocol):
    """A project with items. `folder` is its part of the state folder."""

    @property
    def root(self) -> str:
        """The project's folder."""

    @property
    def folder(self) -> str:
        """The folder of what is kept about the project."""

    @property
    def tree(self) -> Tree:
        """Its files."""

    @property
    def instructions(self) -> ProjectInstructions:
        """Its instruction files, and all its items as merged last."""

    def set_problem(self, cause: str, problem: str) -> None:
        """Set the problem with this cause; "" means that it is solved."""
