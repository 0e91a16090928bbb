"""Owns the imports of JavaScript and TypeScript: which file of the project a specifier means."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from .package_json import Packages
from .relative_paths import is_relative, join_path, within
from .tsconfig import AliasFiles


class ScriptImports:
    """JavaScript and TypeScript: relative paths, tsconfig aliases, `#` imports, packages of the project."""

    def __init__(self, names: Collection[str], packages: Packages, aliases: AliasFiles) -> None:
        self._names = names
        self._packages = packages
        self._aliases = aliases

    def resolve(self, importer: str, language: str, specifier: str) -> str | None:
        """Return the path of the file that a specifier means, or None."""
        for base in self.candidates(importer, language, specifier):
            path = self._file(base, language)
            if path is not None:
                return path
        return None

    def is_internal(self, importer: str, specifier: str) -> bool:
        """Return whether a specifier that didn't resolve certainly meant a file of this project."""
        specifier = specifier.partition("?")[0]
        folder = importer.rpartition("/")[0]
        if is_relative(specifier):
            return join_path(folder, specifier) is not None
        aliases = self._aliases.of(folder)
        if aliases is not None and aliases.means_project(specifier):
            return True
        return specifier.startswith("#") and any(self._packages.hash_targets(folder, specifier, "javascript"))

    def candidates(self, importer: str, language: str, specifier: str) -> Iterator[str]:
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
                yield from self._packages.entries(base, "", language, guess=False)
            return
        aliases = self._aliases.of(folder)
        if aliases is not None:
            for target in aliases.targets(specifier):
                yield target
                yield from self._packages.entries(target, "", language, guess=False)
        if specifier.startswith("#"):
            yield from self._packages.hash_targets(folder, specifier, language)
            return
        if aliases is not None and aliases.base is not None:
            base = join_path(aliases.base, specifier)
            if base is not None:
                yield base
        yield from self._packages.bare_targets(importer, specifier, language)

    def _file(self, base: str, language: str) -> str | None:
        names = self._names
        endings = _SCRIPT_ENDINGS if language == "javascript" else _TYPED_ENDINGS
        if not base.endswith("/") and base:
            stem, dot, extension = base.rpartition(".")
            swaps = _SWAPPED.get(extension, ()) if dot else ()
            if base in names and (language == "javascript" or not swaps):
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


# The order of guessing: a TypeScript file prefers typed files, a JavaScript file what would run.
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
# What an import with the extension of the output means in the sources.
_SWAPPED = {
    "js": (".ts", ".tsx", ".d.ts", ".jsx"),
    "jsx": (".tsx", ".d.ts"),
    "mjs": (".mts", ".d.mts"),
    "cjs": (".cts", ".d.cts"),
}
