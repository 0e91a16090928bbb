"""package.json: the packages of a project, their entry files, `exports` and `imports`."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice

from ..core.relative_paths import ancestors, join_path, nearness, within
from .shared.import_config import MAX_PACKAGES, MAX_STARS, MAX_TARGETS, ImportConfig
from .shared.import_folders import ImportFolders


class Packages:
    """The packages of one project: their names, and the targets that their manifests give for specifiers."""

    def __init__(self, names: Collection[str], folders: ImportFolders, config: ImportConfig) -> None:
        self._names = names
        self._folders = folders
        self._config = config
        self._scopes: dict[str, str | None] = {}
        self._by_name: dict[str, list[str]] | None = None

    def clear(self) -> None:
        """Drop the contents of all manifests."""
        self._scopes.clear()
        self._by_name = None

    def named(self, name: str, importer: str) -> list[str]:
        """Return the folders of the packages with a name that are visible to an importer, nearest first."""
        if self._by_name is None:
            self._by_name = {}
            folders = sorted(self._folders.holding("package.json"), key=lambda each: (each.count("/"), each))
            for folder in folders[:MAX_PACKAGES]:
                package = self._config.json(within(folder, "package.json")).get("name")
                if isinstance(package, str) and "node_modules" not in folder.split("/"):
                    namesakes = self._by_name.setdefault(package, [])
                    if len(namesakes) < MAX_TARGETS:
                        namesakes.append(folder)
        found = [folder for folder in self._by_name.get(name, ()) if _is_visible(folder, importer)]
        return sorted(found, key=lambda folder: nearness(folder, importer))

    def hash_targets(self, folder: str, specifier: str, language: str) -> Iterator[str]:
        """Yield the candidates of `#x` by the `imports` of the nearest package.json."""
        scope = self._scope(folder)
        if scope is None:
            return
        imports = self._config.json(within(scope, "package.json")).get("imports")
        for target in _mapped(imports, specifier, language):
            if target.startswith("./"):  # anything else is an installed package
                yield from _built(scope, target)

    def bare_targets(self, importer: str, specifier: str, language: str) -> Iterator[str]:
        """Yield the candidates of a bare specifier in the packages of this project, its own included."""
        name, rest = package_name(specifier)
        for folder in self.named(name, importer):
            yield from self.entries(folder, rest, language, guess=True)

    def entries(self, folder: str, rest: str, language: str, *, guess: bool) -> Iterator[str]:
        """Yield the candidates that a folder's package.json gives for the package or a path in it.

        With `guess` the usual places of sources follow, since build outputs are seldom in the project.
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
