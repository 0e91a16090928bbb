"""Owns PHP's imports: which file of the project a qualified name or an included path means."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec import Struct, field

from .import_config import MAX_PACKAGES, MAX_TARGETS, ImportConfig
from .import_folders import ImportFolders
from .import_keys import key_of
from .relative_paths import ancestors, is_relative, join_path, nearness, within

MAX_PREFIXES = 1_000
"""Prefixes taken of one composer.json."""


class PhpImports:
    r"""PHP: names as composer.json's rules of autoloading lay them out, paths beside the file.

    A specifier with an ending (`./lib/x.php`) is a path, any other a name: `App\Models\User`.
    """

    def __init__(self, names: Collection[str], folders: ImportFolders, config: ImportConfig) -> None:
        self._names = names
        self._folders = folders
        self._config = config
        self._rules: _Rules | None = None

    def clear(self) -> None:
        """Forget everything that was read from composer.json files."""
        self._rules = None

    def resolve(self, importer: str, module: str) -> str | None:
        """Return the path of the file that a specifier means, or None."""
        if _is_path(module):
            return self._included(importer, module)
        parts = _parts(module)
        if not parts:
            return None
        for path in self._autoloaded(importer, parts):
            if path in self._names:
                return path
        return self._elsewhere(importer, parts)

    def is_internal(self, importer: str, module: str) -> bool:
        """Return whether a specifier that didn't resolve certainly meant a file of this project."""
        if _is_path(module):
            path = join_path(importer.rpartition("/")[0], module) if is_relative(module) else None
            return path is not None and "vendor" not in path.split("/")
        return any(self._is_ours(folder, parts) for folder, parts in self._psr4(importer, _parts(module)))

    def keys(self, importer: str, module: str) -> list[str]:
        """Return the keys under which a specifier waits."""
        if _is_path(module):
            return [key_of(module)]
        parts = _parts(module)
        return [parts[-1], parts[-1].rpartition("_")[2]] if parts else []

    def _included(self, importer: str, module: str) -> str | None:
        """Return the file beside the importer or above it, or else the nearest whose path ends alike."""
        folder = importer.rpartition("/")[0]
        for start in (folder,) if is_relative(module) else ancestors(folder):
            path = join_path(start, module)
            if path in self._names:
                return path
        if is_relative(module) or module.startswith("/") or ".." in module.split("/"):
            return None
        return self._folders.nearest(module, importer)

    def _autoloaded(self, importer: str, parts: list[str]) -> Iterator[str]:
        """Yield the files that autoloading would look for, by the longest prefix first."""
        rules = self._known_rules()
        for folder, rest in self._psr4(importer, parts):
            yield within(folder, "/".join(rest) + ".php")
        for length in range(len(parts), -1, -1) if rules.psr0 else ():
            prefix = "\\".join(parts[:length])
            for folder in _nearest(rules.psr0.get(prefix, ()), importer):
                tail = [*parts[:-1], *parts[-1].split("_")]
                yield within(folder, "/".join(tail) + ".php")

    def _psr4(self, importer: str, parts: list[str]) -> Iterator[tuple[str, list[str]]]:
        """Yield the folders of the prefixes of a name, longest first, and what of the name is behind each."""
        prefixes = self._known_rules().psr4
        for length in range(len(parts) - 1, -1, -1):
            for folder in _nearest(prefixes.get("\\".join(parts[:length]), ()), importer):
                yield folder, parts[length:]

    def _is_ours(self, folder: str, rest: list[str]) -> bool:
        """Return whether a name can only be a class of this project, by what is behind a folder's prefix.

        A package's namespace often continues in other packages, and a name may be that of a namespace.
        """
        path = within(folder, "/".join(rest))
        return (
            len(rest) > 1
            and rest[-1][:1].isupper()
            and self._folders.exists(path.rpartition("/")[0])
            and not self._folders.exists(path)
        )

    def _elsewhere(self, importer: str, parts: list[str]) -> str | None:
        """Return a file named like the class: in a folder searched for classes, or by its namespace."""
        rules = self._known_rules()
        if rules.classes:
            found = [
                path
                for path in self._folders.ending_with(f"{parts[-1]}.php")
                if any(not folder or path.startswith(f"{folder}/") for folder in rules.classes)
            ]
            if found:
                return min(found, key=lambda path: _likeness(path, parts, importer))
        if rules.psr4 or rules.psr0:
            return None
        for start in range(max(1, len(parts) - 1)):
            near = self._folders.nearest("/".join(parts[start:]) + ".php", importer)
            if near is not None:
                return near
        return None

    def _known_rules(self) -> _Rules:
        if self._rules is None:
            self._rules = _Rules()
            for folder in sorted(self._folders.holding("composer.json"))[:MAX_PACKAGES]:
                content = self._config.json(within(folder, "composer.json"))
                for section in ("autoload", "autoload-dev"):
                    self._rules.add(folder, content.get(section))
        return self._rules


class _Rules(Struct):
    """The folders that composer.json files lay out: by prefix of a name, and those searched for classes."""

    psr4: dict[str, list[str]] = field(default_factory=dict)
    psr0: dict[str, list[str]] = field(default_factory=dict)
    classes: list[str] = field(default_factory=list)

    def add(self, folder: str, section: object) -> None:
        """Take in a section of a folder's composer.json, which may hold anything."""
        if not isinstance(section, dict):
            return
        for known, rule in ((self.psr4, "psr-4"), (self.psr0, "psr-0")):
            prefixes = section.get(rule)
            for prefix, targets in (
                list(prefixes.items())[:MAX_PREFIXES] if isinstance(prefixes, dict) else ()
            ):
                namesakes = known.setdefault(prefix.strip("\\"), [])
                namesakes.extend(_folders_in(folder, targets)[: MAX_TARGETS - len(namesakes)])
        self.classes.extend(_folders_in(folder, section.get("classmap"))[: MAX_TARGETS - len(self.classes)])


def _folders_in(folder: str, targets: object) -> list[str]:
    """Return what a rule names, inside of the root."""
    found = [targets] if isinstance(targets, str) else targets if isinstance(targets, list) else []
    paths = (join_path(folder, each) for each in found[:MAX_TARGETS] if isinstance(each, str))
    return [path for path in paths if path is not None]


def _nearest(folders: Collection[str], importer: str) -> list[str]:
    return (
        sorted(folders, key=lambda folder: nearness(folder, importer)) if len(folders) > 1 else list(folders)
    )


def _likeness(path: str, parts: list[str], importer: str) -> tuple[int, tuple[int, int, str]]:
    """Return a sort key that puts the file first whose folders are most like a namespace."""
    shared = 0
    for ours, theirs in zip(reversed(parts[:-1]), reversed(path.split("/")[:-1]), strict=False):
        if ours != theirs:
            break
        shared += 1
    return -shared, nearness(path, importer)


def _is_path(module: str) -> bool:
    return "\\" not in module and ("." in module or "/" in module)


def _parts(module: str) -> list[str]:
    """Return the parts of a qualified name, none if it isn't one."""
    parts = module.strip("\\").split("\\")
    return parts if len(parts) <= _PARTS_MAX and all(part.isidentifier() for part in parts) else []


_PARTS_MAX = 32
