"""Import resolution of JavaScript and TypeScript: relative paths, aliases of tsconfig.json, packages and what
their package.json exports."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct, field

from ..core.relative_paths import ancestors, is_relative, join_path, within
from .shared.import_folders import (
    MAX_PACKAGES,
    MAX_STARS,
    MAX_TARGETS,
    ImportConfig,
    ImportFolders,
    folders_by_name,
    nearest_first,
)
from .shared.language import ImportLookup, key_of
from .shared.records import Import

if TYPE_CHECKING:
    from .shared.import_folders import ImportConfig, ImportFolders


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

    def published(self, imported: Import) -> tuple[str, ...]:
        """Return the file that a package of this project exports under a specifier."""
        if imported.module[:1] in {"", ".", "/", "#"}:
            return ()
        bases = self._packages.bare_targets("", imported.module.partition("?")[0], self._language)
        return tuple(islice(filter(None, map(self._file, bases)), 1))

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
        for prefix, folders in _USUAL_ALIASES.items():
            if specifier.startswith(prefix):
                yield from self._packages.below(folder, specifier.removeprefix(prefix), folders)
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


# What Vite's, Nuxt's and SvelteKit's templates set up by code or in generated files: the folders of the
# package, the likeliest first.
_USUAL_ALIASES = {"@/": ("src", "app", ""), "~/": ("src", "app", ""), "$lib/": ("src/lib",)}
# The order of candidates: a TypeScript file prefers typed files, a JavaScript file runnable ones.
_TYPED_ENDINGS = (
    ".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts", ".d.mts", ".d.cts", ".json",
    ".vue", ".svelte", ".astro",
)  # fmt: skip
_SCRIPT_ENDINGS = (
    ".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".json", ".vue", ".svelte", ".astro",
    ".d.ts", ".d.mts", ".d.cts",
)  # fmt: skip
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
        passed = []
        found = None
        for ancestor in ancestors(folder):
            if ancestor in self._by_folder:
                found = self._by_folder[ancestor]
                break
            passed.append(ancestor)
            path = next((path for name in ALIAS_NAMES if (path := within(ancestor, name)) in self._names), "")
            if path:
                found = self._read(path)
                break
        self._by_folder.update(dict.fromkeys(passed, found))
        return found

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
            # The last of several configurations takes precedence, so it is read first.
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


class Packages:
    """The packages of one project: their names, and the targets that their manifests give for specifiers."""

    def __init__(self, names: Collection[str], folders: ImportFolders, config: ImportConfig) -> None:
        self._names = names
        self._folders = folders
        self._config = config
        self._scopes: dict[str, str | None] = {}

    def clear(self) -> None:
        """Drop the contents of all manifests."""
        self._scopes.clear()
        self.__dict__.pop("_by_name", None)

    def named(self, name: str, importer: str) -> list[str]:
        """Return the folders of the packages with a name that are visible to an importer, nearest first."""
        found = [folder for folder in self._by_name.get(name, ()) if _is_visible(folder, importer)]
        return nearest_first(found, importer)

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        """The folders of packages by their name, those nearer to the root first."""
        folders = sorted(self._folders.holding("package.json"), key=lambda each: (each.count("/"), each))
        own = (folder for folder in folders[:MAX_PACKAGES] if "node_modules" not in folder.split("/"))
        named = ((self._config.json(within(folder, "package.json")).get("name"), folder) for folder in own)
        return folders_by_name((name, folder) for name, folder in named if isinstance(name, str))

    def hash_targets(self, folder: str, specifier: str, language: str) -> Iterator[str]:
        """Yield the candidates of `#x` by the `imports` of the nearest package.json."""
        scope = self._scope(folder)
        if scope is None:
            return
        imports = self._config.json(within(scope, "package.json")).get("imports")
        for target in _mapped(imports, specifier, language):
            if target.startswith("./"):  # anything else is an installed package
                yield from _built(scope, target)

    def below(self, folder: str, rest: str, folders: Iterable[str]) -> Iterator[str]:
        """Yield the candidates of a path in some folders of the nearest package."""
        scope = self._scope(folder)
        if scope is None:
            return
        targets = (join_path(within(scope, each) if each else scope, rest) for each in folders)
        yield from (target for target in targets if target is not None)

    def bare_targets(self, importer: str, specifier: str, language: str) -> Iterator[str]:
        """Yield the candidates of a bare specifier in the packages of this project, its own included."""
        name, rest = package_name(specifier)
        for folder in self.named(name, importer):
            yield from self.entries(folder, rest, language, guess=True)

    def entries(self, folder: str, rest: str, language: str, *, guess: bool) -> Iterator[str]:
        """Yield the candidates that a folder's package.json gives for the package or a path in it.

        With `guess` the usual places of sources follow, because build outputs are seldom in the project.
        """
        folder = folder.rstrip("/")
        manifest = within(folder, "package.json")
        if manifest not in self._names:
            return
        content = self._config.json(manifest)
        exports = content.get("exports") if guess else None
        if isinstance(exports, str) or (
            isinstance(exports, dict) and not any(key.startswith(".") for key in exports)
        ):
            exports = {".": exports}
        for target in _mapped(exports, f"./{rest}" if rest else ".", language):
            yield from _built(folder, target)
        if not rest:
            for key in _ENTRY_KEYS if language != "javascript" else _SCRIPT_ENTRY_KEYS:
                entry = content.get(key)
                if isinstance(entry, str):
                    yield from _built(folder, entry)
        if guess:
            yield f"{within(folder, 'src')}/{rest}"
            yield within(folder, rest) if rest else f"{folder}/"

    def _scope(self, folder: str) -> str | None:
        """Return the folder of the nearest package.json, None when there is none."""
        if folder not in self._scopes:
            manifests = ((each, within(each, "package.json")) for each in ancestors(folder))
            found = (each for each, manifest in manifests if manifest in self._names)
            self._scopes[folder] = next(found, None)
        return self._scopes[folder]


def package_name(specifier: str) -> tuple[str, str]:
    """Return a bare specifier's package and the path in it: `@a/b` and `c/d` for `@a/b/c/d`."""
    parts = specifier.split("/", 2 if specifier.startswith("@") else 1)
    count = 2 if specifier.startswith("@") else 1
    return "/".join(parts[:count]), "/".join(parts[count:])


def fits(specifier: str, prefix: str, suffix: str) -> bool:
    """Return whether a specifier has the form `prefix*suffix`."""
    return (
        len(specifier) >= len(prefix) + len(suffix)
        and specifier.startswith(prefix)
        and specifier.endswith(suffix)
    )


_FIXTURES = frozenset({"fixtures", "__fixtures__", "testdata"})


def _is_visible(folder: str, importer: str) -> bool:
    """Return whether an import can mean a package: those in fixtures are visible only there."""
    parts = folder.split("/")
    for index, part in enumerate(parts):
        if part in _FIXTURES:
            return importer.startswith("/".join(parts[: index + 1]) + "/")
    return True


def _mapped(table: object, key: str, language: str) -> list[str]:
    """Return the targets of a key of `imports` or `exports` with its star filled in; [] if none matches."""
    if not isinstance(table, dict):
        return []
    if key in table:
        return _conditions(table[key], language)
    best: tuple[int, str, object] | None = None
    for pattern, value in islice(table.items(), MAX_STARS):
        prefix, star, suffix = pattern.partition("*")
        if star and fits(key, prefix, suffix) and (best is None or len(prefix) > best[0]):
            best = (len(prefix), key[len(prefix) : len(key) - len(suffix)], value)
    if best is None:
        return []
    return [target.replace("*", best[1]) for target in _conditions(best[2], language)]


def _conditions(value: object, language: str) -> list[str]:
    """Return the targets of nested conditions in order; for JavaScript the targets of types come last."""
    found: list[str] = []
    types: list[str] = []
    pending: list[tuple[object, bool, int]] = [(value, False, 0)]
    while pending and len(found) + len(types) < MAX_TARGETS:
        current, typed, depth = pending.pop()
        if isinstance(current, str):
            (types if typed and language == "javascript" else found).append(current)
        elif depth < MAX_TARGETS and isinstance(current, dict):
            nested = list(current.items())[:MAX_TARGETS]
            pending.extend((each, typed or key == "types", depth + 1) for key, each in reversed(nested))
        elif depth < MAX_TARGETS and isinstance(current, list):
            pending.extend((each, typed, depth + 1) for each in reversed(current[:MAX_TARGETS]))
    return found + types


_BUILD_FOLDERS = frozenset({"dist", "lib", "build", "out", "esm", "cjs", "es", "types"})
_ENTRY_KEYS = ("source", "types", "typings", "module", "main")
_SCRIPT_ENTRY_KEYS = ("source", "module", "main", "types", "typings")


def _built(folder: str, target: str) -> Iterator[str]:
    """Yield a manifest's target in its package and, if it is a build output, its likely source."""
    path = join_path("", target)
    if not path:
        return
    yield within(folder, path)
    first, _, rest = path.partition("/")
    if first in _BUILD_FOLDERS and rest:
        yield within(folder, f"src/{rest}")
