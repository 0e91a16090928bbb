"""How the files of one language's imports are found: the defaults, which a language's file overrides."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from .records import Import

if TYPE_CHECKING:
    from .import_config import ImportConfig
    from .import_folders import ImportFolders


class ImportLookup:
    """The imports of one language in one project.

    `names` are the paths of its files. `importer` is the path of the file that imports.
    """

    def __init__(self, names: Collection[str], folders: ImportFolders, config: ImportConfig) -> None:
        self._names = names
        self._folders = folders
        self._config = config

    def resolve(self, importer: str, imported: Import) -> str | None:
        """Return the path of the file that an import means, or None."""
        return None

    def resolve_all(self, importer: str, imported: Import) -> tuple[str, ...]:
        """Return all files that an import may mean, sorted: at most one unless a language says otherwise."""
        found = self.resolve(importer, imported)
        return () if found is None else (found,)

    def is_internal(self, importer: str, imported: Import) -> bool:
        """Return whether an import that didn't resolve certainly meant a file of this project."""
        return False

    def keys(self, importer: str, imported: Import) -> list[str]:
        """Return the keys (`key_of`) of the files for which an import waits; they may repeat."""
        return []

    def is_config(self, path: str) -> bool:
        """Return whether a file of any name turned out to decide what imports mean."""
        return False

    def clear(self) -> None:
        """Forget everything that was read from configuration files."""


def key_of(base: str) -> str:
    """Return the key of a candidate or a file: its last component up to the first dot, "." for the root.

    The first dot, because `./x.service` may mean `x.service.ts` and `./x.js` may mean `x.ts`.
    """
    name = base.rstrip("/").rpartition("/")[2]
    return name[: name.find(".", 1)] if "." in name[1:] else name or "."
