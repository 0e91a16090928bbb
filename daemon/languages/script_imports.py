"""Import resolution of JavaScript and TypeScript: relative paths, aliases of tsconfig.json, packages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct, field

from ..core.relative_paths import ancestors, is_relative, join_path, within
from .package_json import Packages, fits, package_name
from .shared.import_config import MAX_PACKAGES, MAX_STARS, MAX_TARGETS
from .shared.language import ImportLookup, key_of
from .shared.records import Import

if TYPE_CHECKING:
    from .shared.import_config import ImportConfig
    from .shared.import_folders import ImportFolders


ALIAS_NAMES = ("tsconfig.json", "jsconfig.json")
"""The names of configuration files with aliases; the first in a folder counts."""


class ScriptImports(ImportLookup):
    """JavaScript and TypeScript: relative paths, tsconfig aliases, `#` imports, packages of the project."""

    def __init__(
        self,
        names: Collection[str],
        folders: ImportFolders,
        config: ImportConfig,
        *,
        language: str = "typescript",
    ) -> None:
        super().__init__(names, folders, config)
        self._language = language
        self._packages = Packages(names, folders, config)
        self._aliases = AliasFiles(names, folders, config, self._packages)

    def resolve(self, importer: str, imported: Import) -> str | None:
        """Return the path of the file that a specifier means, or None."""
        for base in self._candidates(importer, imported.module):
            path = self._file(base)
            if path is not None:
                return path
        return None

    def is_internal(self, importer: str, imported: Import) -> bool:
        """Return whether an unresolved specifier certainly means a file of this project."""
        specifier = imported.module.partition("?")[0]
        folder = importer.rpartition("/")[0]
        if is_relative(specifier):
            return join_path(folder, specifier) is not None
        aliases = self._aliases.of(folder)
        if aliases is not None and aliases.means_project(specifier):
            return True
        return specifier.startswith("#") and any(self._packages.hash_targets(folder, specifier, "javascript"))

    def keys(self, importer: str, imported: Import) -> list[str]:
        """Return the keys under which a specifier waits."""
        return [key_of(base) for base in self._candidates(importer, imported.module)]

    def is_config(self, path: str) -> bool:
        """Return whether any tsconfig extends a file; all tsconfigs are read first."""
        if not path.endswith(".json"):
            return False
        self._aliases.read_all()
        return path in self._config.asked

    def clear(self) -> None:
        """Drop the contents of all configuration files."""
        self._packages.clear()
        self._aliases.clear()

    def _candidates(self, importer: str, specifier: str) -> Iterator[str]:
        """Yield the candidates of a specifier, best first; one that ends with a slash is a folder."""
        specifier = specifier.partition("?")[0]  # `./logo.svg?url`: what a bundler does with the file
        folder = importer.rpartition("/")[0]
        if not specifier or specifier.startswith("/"):
            return
        if is_relative(specifier):
            base = join_path(folder, specifier)
            if base is not None:
                is_folder = specifier.rpartition("/")[2] in {"", ".", ".."}
                yield f"{base}/" if is_folder else base
                yield from self._packages.entries(base, "", self._language, guess=False)
            return
        aliases = self._aliases.of(folder)
        if aliases is not None:
            for target in aliases.targets(specifier):
                yield target
                yield from self._packages.entries(target, "", self._language, guess=False)
        if specifier.startswith("#"):
            yield from self._packages.hash_targets(folder, specifier, self._language)
            return
        if aliases is not None and aliases.base is not None:
            base = join_path(aliases.base, specifier)
            if base is not None:
                yield base
        yield from self._packages.bare_targets(importer, specifier, self._language)

    def _file(self, base: str) -> str | None:
        names = self._names
        endings = _SCRIPT_ENDINGS if self._language == "javascript" else _TYPED_ENDINGS
        if not base.endswith("/") and base:
            stem, dot, extension = base.rpartition(".")
            swaps = _SWAPPED.get(extension, ()) if dot else ()
            if base in names and (self._language == "javascript" or not swaps):
                return base
            for swap in swaps:
                if stem + swap in names:
                    return stem + swap
            if base in names:
                return base
            for ending in endings:
                path = base + ending
                if path in names:
                    return path
        folder = base.rstrip("/")
        for ending in endings:
            path = within(folder, "index") + ending
            if path in names:
                return path
        return None


# The order of candidates: a TypeScript file prefers typed files, a JavaScript file runnable ones.
_TYPED_ENDINGS = (
    ".ts",
    ".tsx",
    ".d.ts",
    ".js",
    ".jsx",
    ".mjs",
    ".cjs",
    ".mts",
    ".cts",
    ".d.mts",
    ".d.cts",
    ".json",
    ".vue",
    ".svelte",
)
_SCRIPT_ENDINGS = (
    ".js",
    ".jsx",
    ".mjs",
    ".cjs",
    ".ts",
    ".tsx",
    ".mts",
    ".cts",
    ".json",
    ".vue",
    ".svelte",
    ".d.ts",
    ".d.mts",
    ".d.cts",
)
# The source extensions for an import with the extension of the output.
_SWAPPED = {
    "js": (".ts", ".tsx", ".d.ts", ".jsx"),
    "jsx": (".tsx", ".d.ts"),
    "mjs": (".mts", ".d.mts"),
    "cjs": (".cts", ".d.cts"),
}


MAX_EXTENDS = 64
"""Maximum number of configuration files included by a tsconfig; the deepest chains in use have five."""


class Aliases(Struct):
    """The aliases of a tsconfig: `paths`, exact and with a star, and the folder of `baseUrl`."""

    exact: dict[str, list[str]] = field(default_factory=dict)
    stars: list[tuple[str, str, list[str]]] = field(default_factory=list)
    base: str | None = None

    def targets(self, specifier: str) -> list[str]:
        """Return the candidates of a specifier by its longest matching pattern, none if none matches."""
        found = self.exact.get(specifier)
        if found is not None:
            return found
        for prefix, suffix, targets in self.stars:
            if fits(specifier, prefix, suffix):
                middle = specifier[len(prefix) : len(specifier) - len(suffix)]
                joined = [join_path("", target.replace("*", middle, 1)) for target in targets]
                return [target for target in joined if target is not None]
        return []

    def means_project(self, specifier: str) -> bool:
        """Return whether an alias maps a specifier to the project's own files, not to installed packages."""
        targets = self.exact.get(specifier)
        if targets is None:
            targets = next((star[2] for star in self.stars if star[0] and fits(specifier, *star[:2])), [])
        return bool(targets) and not any("node_modules" in target.split("/") for target in targets)


class AliasFiles:
    """The tsconfig.json and jsconfig.json files of one project, each read on first use."""

    def __init__(
        self, names: Collection[str], folders: ImportFolders, config: ImportConfig, packages: Packages
    ) -> None:
        self._names = names
        self._folders = folders
        self._config = config
        self._packages = packages
        self._by_folder: dict[str, Aliases | None] = {}
        self._all_read = False

    def clear(self) -> None:
        """Drop all of them."""
        self._all_read = False
        self._by_folder.clear()

    def read_all(self) -> None:
        """Read every tsconfig of the project, and so the files they extend."""
        if not self._all_read:
            self._all_read = True
            for name in ALIAS_NAMES:
                for folder in sorted(self._folders.holding(name))[:MAX_PACKAGES]:
                    self.of(folder)

    def of(self, folder: str) -> Aliases | None:
        """Return the aliases of the nearest tsconfig.json or jsconfig.json, None if there is none."""
        if folder not in self._by_folder:
            self._by_folder[folder] = self._find(folder)
        return self._by_folder[folder]

    def _find(self, folder: str) -> Aliases | None:
        for name in ALIAS_NAMES:
            path = within(folder, name)
            if path in self._names:
                return self._read(path)
        return self._of_parent(folder) if folder else None

    def _of_parent(self, folder: str) -> Aliases | None:
        """Return the aliases for the parent of a folder; iterative, since paths can be deep."""
        for ancestor in ancestors(folder.rpartition("/")[0]):
            if ancestor in self._by_folder:
                return self._by_folder[ancestor]
            if not ancestor or any(within(ancestor, name) in self._names for name in ALIAS_NAMES):
                return self.of(ancestor)
        return None

    def _read(self, path: str) -> Aliases:
        """Return the aliases of a tsconfig with those it extends, or of its references if it has only
        those."""
        aliases = Aliases()
        start, paths = "", None
        for source in self._chain(path):
            options = self._config.json(source).get("compilerOptions")
            if not isinstance(options, dict):
                continue
            folder = source.rpartition("/")[0]
            base = options.get("baseUrl")
            if aliases.base is None and isinstance(base, str):
                aliases.base = join_path(folder, base)
            if paths is None and isinstance(options.get("paths"), dict):
                start, paths = folder, options["paths"]
        if paths is not None:
            # `paths` start at the baseUrl that is in force, wherever it was set, else at their own config.
            _take_paths(aliases, paths, start if aliases.base is None else aliases.base)
        aliases.stars.sort(key=lambda star: (-len(star[0]), star[0], star[1]))
        return aliases

    def _chain(self, path: str) -> list[str]:
        """Return a tsconfig and the files it extends, then its references; each file once."""
        chain: list[str] = []
        pending = [path]
        references: list[str] = []
        while (pending or references) and len(chain) < MAX_EXTENDS:
            current = pending.pop() if pending else references.pop(0)
            if current in chain:
                continue
            chain.append(current)
            content = self._config.json(current)
            extends = content.get("extends")
            parents = extends if isinstance(extends, list) else [extends]
            # The last of several wins, so it is read first.
            for parent in parents[:MAX_EXTENDS]:
                found = self._config_path(current, parent)
                if found is not None:
                    pending.append(found)
            if current == path and isinstance(content.get("references"), list):
                references = self._references(path, content["references"])
        return chain

    def _references(self, path: str, references: object) -> list[str]:
        """Return the tsconfigs beside or below that a solution-style tsconfig refers to."""
        found = []
        for reference in references[:MAX_EXTENDS] if isinstance(references, list) else ():
            target = reference.get("path") if isinstance(reference, dict) else None
            resolved = self._config_path(path, target)
            # A reference to another folder is another project with its own imports.
            if resolved is not None and resolved.rpartition("/")[0] == path.rpartition("/")[0]:
                found.append(resolved)
        return found

    def _config_path(self, origin: str, target: object) -> str | None:
        """Return the path of a tsconfig that another names, by relative path or package."""
        if not isinstance(target, str) or not target:
            return None
        bases: Iterable[str]
        if is_relative(target):
            joined = join_path(origin.rpartition("/")[0], target)
            bases = () if joined is None else (joined,)
        else:
            name, rest = package_name(target)
            bases = [within(folder, rest) for folder in self._packages.named(name, origin)]
        for base in bases:
            for path in (base, f"{base}.json", within(base.rstrip("/"), "tsconfig.json")):
                self._config.asked.add(path)
                if path in self._names:
                    return path
        return None


def _take_paths(aliases: Aliases, paths: dict[str, object], start: str) -> None:
    """Add the `paths` of a tsconfig, whose targets are relative to a folder."""
    for pattern, targets in paths.items():
        if not isinstance(targets, list):
            continue
        joined = [join_path(start, target) for target in targets[:MAX_TARGETS] if isinstance(target, str)]
        found = [target for target in joined if target is not None]
        prefix, star, suffix = pattern.partition("*")
        if not star:
            aliases.exact[pattern] = found
        elif len(aliases.stars) < MAX_STARS:
            aliases.stars.append((prefix, suffix, found))
