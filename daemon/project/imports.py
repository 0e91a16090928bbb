"""Owns import resolution: which file of the project an import means; reads no source, never leaves the root.

Everything is looked up among the project's names; only configuration files are ever read, and those are
untrusted: whatever they hold, resolving ends and raises nothing. A candidate is a path without its extension
(`src/auth` for `src/auth.ts` or `src/auth/index.ts`), relative to the root, "" being the root itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from .tree import Import

MAX_CONFIG_BYTES = 1 << 20
"""A larger configuration file is treated as if it were empty."""

MAX_EXTENDS = 64
"""Configuration files that one tsconfig may pull in; the deepest chains in use have five."""

MAX_TARGETS = 32
"""Targets taken of one alias or one `exports` entry, and nesting of its conditions."""

MAX_STARS = 1_000
"""Patterns with a star taken of one configuration file; they are tried one by one."""

MAX_PACKAGES = 5_000
"""package.json and go.mod files read in one project."""

SCRIPT_LANGUAGES = frozenset({"javascript", "typescript", "tsx", "vue", "svelte", "astro"})


class ImportResolver:
    """Resolves the imports of one project against its live set of names.

    `names` are the relative POSIX paths of the project's files; the caller goes on changing that collection
    and tells each change through `added` and `removed`. `read` returns the bytes of a file by its relative
    path, or None. After a file for which `is_config` holds was changed, added or removed, call
    `invalidate_config` and resolve all imports again. Not thread-safe.
    """

    def __init__(self, names: Collection[str], read: Callable[[str], bytes | None]) -> None:
        self._folders = _Folders(names)
        self._config = _Config(read)
        self._python = _PythonImports(names, self._folders)
        self._script = _ScriptImports(names, self._folders, self._config)
        self._go = _GoImports(names, self._folders, self._config)

    def resolve(self, importer: str, language: str, imported: Import) -> str | None:
        """Return the path of the file that an import means, or None.

        A package's `__init__` or index file stands for the package; for a Go package it is the file named
        like it, or else the first one that isn't a test. May be the importer itself.
        """
        if language == "python":
            return self._python.resolve(importer, imported)
        if language in SCRIPT_LANGUAGES:
            return self._script.resolve(importer, language, imported.module)
        if language == "go":
            return self._go.resolve(importer, imported.module)
        return None

    def resolve_all(self, importer: str, language: str, imported: Import) -> tuple[str, ...]:
        """Return all files that an import means, sorted: a Go package's without tests, else at most one."""
        if language == "go":
            return self._go.resolve_all(importer, imported.module)
        path = self.resolve(importer, language, imported)
        return () if path is None else (path,)

    def is_internal(self, importer: str, language: str, imported: Import) -> bool:
        """Return whether an import that didn't resolve certainly meant a file of this project."""
        if not imported.required:
            return False
        if language == "python":
            return self._python.is_internal(importer, imported)
        if language in SCRIPT_LANGUAGES:
            return self._script.is_internal(importer, imported.module)
        return language == "go" and self._go.is_internal(importer, imported.module)

    def retry_keys(self, importer: str, language: str, imported: Import) -> tuple[str, ...]:
        """Return the keys under which an import waits for files that would change what it means.

        It is to be resolved again when a file appears whose `keys_of_path` share a key with these.
        """
        if language == "python":
            keys = self._python.keys(importer, imported)
        elif language in SCRIPT_LANGUAGES:
            keys = [_key(base) for base in self._script.candidates(importer, language, imported.module)]
        elif language == "go":
            keys = [_key(folder) for folder in self._go.folders(importer, imported.module)]
        else:
            keys = []
        return tuple(dict.fromkeys(keys))

    def is_config(self, path: str) -> bool:
        """Return whether a file's content decides what imports mean."""
        if path.rpartition("/")[2] in _CONFIG_NAMES:
            return True
        # A tsconfig may extend a file of any name, so that all of them have to be known first.
        return path.endswith(".json") and self._is_asked(path)

    def invalidate_config(self) -> None:
        """Forget everything that was read from configuration files; they are read again when needed."""
        self._config.clear()
        self._script.clear()
        self._go.clear()

    def added(self, path: str) -> None:
        """Take note of a path that was added to the names."""
        self._folders.change(path, 1)

    def removed(self, path: str) -> None:
        """Take note of a path that was removed from the names."""
        self._folders.change(path, -1)

    def _is_asked(self, path: str) -> bool:
        self._script.read_all()
        return path in self._config.asked


def keys_of_path(path: str) -> tuple[str, ...]:
    """Return the keys of a file: imports waiting under one of them may mean it (see `retry_keys`)."""
    folder, _, name = path.rpartition("/")
    if name.endswith(".go"):
        return (_key(folder),)
    stem = _key(name)
    if stem == "__init__":
        # A folder that becomes a package is no longer one from which absolute imports start.
        return (_key(folder), stem, f"{folder}/")
    return (stem, _key(folder)) if stem == "index" else (stem,)


_ALIAS_NAMES = ("tsconfig.json", "jsconfig.json")
_CONFIG_NAMES = frozenset({*_ALIAS_NAMES, "package.json", "go.mod"})


def _key(base: str) -> str:
    """Return the key of a candidate or a file: its last component up to the first dot, "." for the root.

    The first dot, because `./x.service` may mean `x.service.ts` and `./x.js` may mean `x.ts`.
    """
    name = base.rstrip("/").rpartition("/")[2]
    return name[: name.find(".", 1)] if "." in name[1:] else name or "."


def _joined(folder: str, relative: str) -> str | None:
    """Return a folder and a path relative to it as one path, or None when that leaves the root."""
    parts = folder.split("/") if folder else []
    for part in relative.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    return "/".join(parts)


def _within(folder: str, name: str) -> str:
    """Return the path of something inside a folder, which may be the root."""
    return f"{folder}/{name}" if folder else name


def _ancestors(folder: str) -> Iterator[str]:
    """Yield a folder and the folders above it, nearest first; the last one is the root."""
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]
    yield ""


def _nearness(path: str, importer: str) -> tuple[int, int, str]:
    """Return a sort key that puts the folder first which shares most of its path with the importer."""
    shared = 0
    for ours, theirs in zip(path.split("/"), importer.split("/"), strict=False):
        if ours != theirs:
            break
        shared += 1
    return -shared, path.count("/"), path


_INDEXED_NAMES = _CONFIG_NAMES | {"__init__.py", "__init__.pyi"}


class _Folders:
    """The folders that the names imply, built when first asked for and kept true afterwards.

    A caller that forgot to tell a change is noticed by the count of names, and everything is built again.
    """

    def __init__(self, names: Collection[str]) -> None:
        self._names = names
        self._count = -1
        self._entries: dict[str, int] = {}
        self._go: dict[str, set[str]] = {}
        self._holders: dict[str, set[str]] = {}
        self._packages: dict[str, set[str]] = {}

    def exists(self, folder: str) -> bool:
        """Return whether any file lies in a folder or below it."""
        self._refresh()
        return folder in self._entries

    def go_files(self, folder: str) -> list[str]:
        """Return the Go files directly in a folder, sorted."""
        self._refresh()
        return sorted(path for path in self._go.get(folder, ()) if path in self._names)

    def holding(self, name: str) -> Collection[str]:
        """Return the folders that directly hold a file of one of the names that are indexed."""
        self._refresh()
        return self._holders.get(name, ())

    def packages(self, name: str) -> Collection[str]:
        """Return the folders of a name that are Python packages."""
        self._refresh()
        return self._packages.get(name, ())

    def change(self, path: str, difference: int) -> None:
        """Count a path in (1) or out (-1), if the folders were built at all."""
        if self._count >= 0:
            self._count += difference
            self._note(path, difference)

    def _refresh(self) -> None:
        if self._count == len(self._names):
            return
        for index in (self._entries, self._go, self._holders, self._packages):
            index.clear()
        for path in self._names:
            self._note(path, 1)
        self._count = len(self._names)

    def _note(self, path: str, difference: int) -> None:
        folder, _, name = path.rpartition("/")
        if name.endswith(".go"):
            _toggle(self._go, folder, path, difference)
        elif name in _INDEXED_NAMES:
            _toggle(self._holders, name, folder, difference)
            twin = _within(folder, "__init__.py" if name.endswith("i") else "__init__.pyi")
            if name.startswith("__init__") and (difference > 0 or twin not in self._names):
                _toggle(self._packages, folder.rpartition("/")[2], folder, difference)
        for ancestor in _ancestors(folder):
            count = self._entries.get(ancestor, 0) + difference
            if count > 0:
                self._entries[ancestor] = count
            else:
                self._entries.pop(ancestor, None)


def _toggle(index: dict[str, set[str]], key: str, value: str, difference: int) -> None:
    """Put a value into a set of the index, or take it out."""
    if difference > 0:
        index.setdefault(key, set()).add(value)
    elif key in index:
        index[key].discard(value)
        if not index[key]:
            del index[key]


class _Config:
    """Reads configuration files, each once, and remembers which were asked for, present or not."""

    def __init__(self, read: Callable[[str], bytes | None]) -> None:
        self._read = read
        self._objects: dict[str, dict[str, object]] = {}
        self.asked: set[str] = set()

    def clear(self) -> None:
        """Forget the contents. What was asked for stays known until it is asked for again."""
        self._objects.clear()

    def text(self, path: str) -> str:
        """Return a file's text, empty when there is none or it is too large."""
        self.asked.add(path)
        data = self._read(path)
        if data is None or len(data) > MAX_CONFIG_BYTES:
            return ""
        return data.decode("utf-8-sig", "replace")

    def json(self, path: str) -> dict[str, object]:
        """Return the object that a JSON file holds, which may have comments and trailing commas; else {}."""
        known = self._objects.get(path)
        if known is None:
            known = self._objects[path] = _json_object(self.text(path))
        return known


# Strings are matched so that what looks like a comment inside one stays. Nothing here can backtrack.
_JSON_COMMENT = re.compile(r'"(?:[^"\\]++|\\.)*+\\?"?|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_JSON_COMMA = re.compile(r'"(?:[^"\\]++|\\.)*+\\?"?|,(?=\s*[}\]])', re.DOTALL)


def _json_object(text: str) -> dict[str, object]:
    """Return the object in a JSON text with comments and trailing commas, {} when it isn't one."""
    for pattern in (_JSON_COMMENT, _JSON_COMMA):
        text = pattern.sub(lambda match: match[0] if match[0][0] == '"' else " ", text)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


class _PythonImports:
    """Python: packages, modules and stubs below the folders from which absolute imports can start."""

    def __init__(self, names: Collection[str], folders: _Folders) -> None:
        self._names = names
        self._folders = folders

    def resolve(self, importer: str, imported: Import) -> str | None:
        found = self._module(importer, imported.module)
        if not imported.name:
            return found[1] if found is not None else None
        if not imported.name.isidentifier():
            return None
        if found is None:
            # A namespace package has no file of its own: only what lies in it can be imported.
            for _, base in self._candidates(importer, imported.module):
                path = self._file(_within(base, imported.name))
                if path is not None:
                    return path
            return None
        folder, _, name = found[1].rpartition("/")
        return self._file(_within(folder, imported.name)) if name.startswith("__init__.") else None

    def is_internal(self, importer: str, imported: Import) -> bool:
        first = imported.module.partition(".")[0]
        internal = False
        for root, base in self._candidates(importer, imported.module):
            # A namespace package has no file, and a compiled module only that of another language.
            if self._folders.exists(base) or any(base + ending in self._names for ending in _COMPILED):
                return False
            internal = internal or not first or self._is_package(f"{root}{first}")
        return internal

    def keys(self, importer: str, imported: Import) -> list[str]:
        parts = [part for part in imported.module.split(".") if part]
        if imported.module.startswith("."):
            bases = [base for _, base in self._candidates(importer, imported.module)]
            keys = [_key(base) for base in bases]
        else:
            keys = [parts[-1], parts[0]] if parts else []
        if imported.name:
            keys.insert(0, imported.name)
        found = self._module(importer, imported.module)
        if found is not None and found[0]:
            keys.append(found[0])
        return keys

    def _module(self, importer: str, module: str) -> tuple[str, str] | None:
        """Return the root and the path of the nearest file that a module can mean."""
        for root, base in self._candidates(importer, module):
            path = self._file(base)
            if path is not None:
                return root, path
        return None

    def _file(self, base: str) -> str | None:
        names = self._names
        for ending in _PYTHON_ENDINGS if base else _PYTHON_ROOT_ENDINGS:
            path = base + ending
            if path in names:
                return path
        return None

    def _is_package(self, folder: str) -> bool:
        return f"{folder}/__init__.py" in self._names or f"{folder}/__init__.pyi" in self._names

    def _candidates(self, importer: str, module: str) -> Iterator[tuple[str, str]]:
        """Yield root and candidate of each place where a module may lie, nearest to the importer first.

        A root is a folder with its trailing slash, "" for the project's and for relative imports.
        """
        path = module.lstrip(".")
        level = len(module) - len(path)
        tail = path.replace(".", "/")
        if "//" in tail or tail.endswith("/"):
            return
        folder = importer.rpartition("/")[0]
        if level:
            for _ in range(level - 1):
                if not folder:
                    return
                folder = folder.rpartition("/")[0]
            yield "", _within(folder, tail) if tail else folder
            return
        if not tail:
            return
        for ancestor in _ancestors(folder):
            if ancestor and self._is_package(ancestor):
                continue
            root = f"{ancestor}/" if ancestor else ""
            yield root, root + tail
            yield f"{root}src/", f"{root}src/{tail}"
            yield f"{root}lib/", f"{root}lib/{tail}"
        for root in self._far_roots(importer, tail.partition("/")[0]):
            yield root, root + tail

    def _far_roots(self, importer: str, first: str) -> list[str]:
        """Return the roots elsewhere in the project that hold a top-level package of a name, nearest first.

        A name that many folders have (`tests`, `migrations`) is a guess too many: then there are none. What
        tests, examples and vendored code hold is for themselves: they find it above them.
        """
        folders = self._folders.packages(first)
        if not folders or len(folders) > MAX_TARGETS:
            return []
        parents = [folder.rpartition("/")[0] for folder in folders]
        tops = [
            parent
            for parent in parents
            if parent and not self._is_package(parent) and _ASIDE.isdisjoint(parent.split("/"))
        ]
        return [f"{top}/" for top in sorted(tops, key=lambda top: _nearness(top, importer))]


_ASIDE = frozenset(
    {
        "test",
        "tests",
        "testing",
        "fixtures",
        "testdata",
        "example",
        "examples",
        "docs",
        "vendor",
        "_vendor",
        "third_party",
    }
)
# A package goes before a module of the same name, as in the interpreter; stubs and Cython stand in for both.
_PYTHON_ENDINGS = ("/__init__.py", ".py", ".pyi", "/__init__.pyi", ".pyx")
_COMPILED = (".c", ".cc", ".cpp", ".rs", ".so", ".pyd", ".f90")
_PYTHON_ROOT_ENDINGS = ("__init__.py", "__init__.pyi")


@dataclass(slots=True)
class _Aliases:
    """What a tsconfig says about imports: `paths`, exact and with a star, and the folder of `baseUrl`."""

    exact: dict[str, list[str]] = field(default_factory=dict)
    stars: list[tuple[str, str, list[str]]] = field(default_factory=list)
    base: str | None = None

    def targets(self, specifier: str) -> list[str]:
        """Return the candidates of a specifier by its longest matching pattern, none when none matches."""
        found = self.exact.get(specifier)
        if found is not None:
            return found
        for prefix, suffix, targets in self.stars:
            if _fits(specifier, prefix, suffix):
                middle = specifier[len(prefix) : len(specifier) - len(suffix)]
                joined = [_joined("", target.replace("*", middle, 1)) for target in targets]
                return [target for target in joined if target is not None]
        return []

    def means_project(self, specifier: str) -> bool:
        """Return whether an alias sends a specifier to the project's own files, and not to installed ones."""
        targets = self.exact.get(specifier)
        if targets is None:
            targets = next((star[2] for star in self.stars if star[0] and _fits(specifier, *star[:2])), [])
        return bool(targets) and not any("node_modules" in target.split("/") for target in targets)


def _fits(specifier: str, prefix: str, suffix: str) -> bool:
    """Return whether a specifier has the form `prefix*suffix`."""
    return (
        len(specifier) >= len(prefix) + len(suffix)
        and specifier.startswith(prefix)
        and specifier.endswith(suffix)
    )


class _ScriptImports:
    """JavaScript and TypeScript: relative paths, tsconfig aliases, `#` imports, packages of the project."""

    def __init__(self, names: Collection[str], folders: _Folders, config: _Config) -> None:
        self._names = names
        self._folders = folders
        self._config = config
        self._aliases: dict[str, _Aliases | None] = {}
        self._scopes: dict[str, str | None] = {}
        self._packages: dict[str, list[str]] | None = None
        self._all_read = False

    def clear(self) -> None:
        self._all_read = False
        self._aliases.clear()
        self._scopes.clear()
        self._packages = None

    def read_all(self) -> None:
        """Read every tsconfig of the project, and thereby what they extend."""
        if not self._all_read:
            self._all_read = True
            for name in _ALIAS_NAMES:
                for folder in sorted(self._folders.holding(name))[:MAX_PACKAGES]:
                    self._aliases_of(folder)

    def resolve(self, importer: str, language: str, specifier: str) -> str | None:
        for base in self.candidates(importer, language, specifier):
            path = self._file(base, language)
            if path is not None:
                return path
        return None

    def is_internal(self, importer: str, specifier: str) -> bool:
        specifier = specifier.partition("?")[0]
        folder = importer.rpartition("/")[0]
        if _is_relative(specifier):
            return _joined(folder, specifier) is not None
        aliases = self._aliases_of(folder)
        if aliases is not None and aliases.means_project(specifier):
            return True
        return specifier.startswith("#") and any(self._hash_targets(folder, specifier, "javascript"))

    def candidates(self, importer: str, language: str, specifier: str) -> Iterator[str]:
        """Yield the candidates of a specifier, best first; one that ends with a slash is a folder."""
        specifier = specifier.partition("?")[0]  # `./logo.svg?url`: what a bundler does with the file
        folder = importer.rpartition("/")[0]
        if not specifier or specifier.startswith("/"):
            return
        if _is_relative(specifier):
            base = _joined(folder, specifier)
            if base is not None:
                is_folder = specifier.rpartition("/")[2] in {"", ".", ".."}
                yield f"{base}/" if is_folder else base
                yield from self._entries(base, "", language, guess=False)
            return
        aliases = self._aliases_of(folder)
        if aliases is not None:
            for target in aliases.targets(specifier):
                yield target
                yield from self._entries(target, "", language, guess=False)
        if specifier.startswith("#"):
            yield from self._hash_targets(folder, specifier, language)
            return
        if aliases is not None and aliases.base is not None:
            base = _joined(aliases.base, specifier)
            if base is not None:
                yield base
        yield from self._package_targets(importer, specifier, language)

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
            path = _within(folder, "index") + ending
            if path in names:
                return path
        return None

    def _aliases_of(self, folder: str) -> _Aliases | None:
        """Return the aliases of the nearest tsconfig.json or jsconfig.json, None when there is none."""
        known = self._aliases.get(folder, _UNKNOWN)
        if known is not _UNKNOWN:
            assert known is None or isinstance(known, _Aliases)
            return known
        found = None
        for name in _ALIAS_NAMES:
            path = _within(folder, name)
            if path in self._names:
                found = self._read_aliases(path)
                break
        else:
            if folder:
                found = self._aliases_of_parent(folder)
        self._aliases[folder] = found
        return found

    def _aliases_of_parent(self, folder: str) -> _Aliases | None:
        """Return the aliases that hold above a folder; climbs without recursion, since paths can be deep."""
        for ancestor in _ancestors(folder.rpartition("/")[0]):
            if ancestor in self._aliases:
                return self._aliases[ancestor]
            if not ancestor or any(_within(ancestor, name) in self._names for name in _ALIAS_NAMES):
                return self._aliases_of(ancestor)
        return None

    def _read_aliases(self, path: str) -> _Aliases:
        """Return a tsconfig's aliases with those that it extends and, if it only refers to others, theirs."""
        aliases = _Aliases()
        start, paths = "", None
        for source in self._chain(path):
            options = self._config.json(source).get("compilerOptions")
            if not isinstance(options, dict):
                continue
            folder = source.rpartition("/")[0]
            base = options.get("baseUrl")
            if aliases.base is None and isinstance(base, str):
                aliases.base = _joined(folder, base)
            if paths is None and isinstance(options.get("paths"), dict):
                start, paths = folder, options["paths"]
        if paths is not None:
            # `paths` start at the baseUrl that is in force, wherever it was set, else at their own config.
            _take_paths(aliases, paths, start if aliases.base is None else aliases.base)
        aliases.stars.sort(key=lambda star: (-len(star[0]), star[0], star[1]))
        return aliases

    def _chain(self, path: str) -> list[str]:
        """Return a tsconfig and the files it extends, then those that it refers to; each file once."""
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
            # Of several the last one wins, so it is the first to be read.
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
        """Return the path of the tsconfig that another one names, relatively or by package."""
        if not isinstance(target, str) or not target:
            return None
        bases: Iterable[str]
        if _is_relative(target):
            joined = _joined(origin.rpartition("/")[0], target)
            bases = () if joined is None else (joined,)
        else:
            name, rest = _package_name(target)
            bases = [_within(folder, rest) for folder in self._packages_named(name, origin)]
        for base in bases:
            for path in (base, f"{base}.json", _within(base.rstrip("/"), "tsconfig.json")):
                self._config.asked.add(path)
                if path in self._names:
                    return path
        return None

    def _scope(self, folder: str) -> str | None:
        """Return the folder of the nearest package.json, None when there is none."""
        known = self._scopes.get(folder, _UNKNOWN)
        if isinstance(known, str) or known is None:
            return known
        manifests = ((each, _within(each, "package.json")) for each in _ancestors(folder))
        found = next((each for each, manifest in manifests if manifest in self._names), None)
        self._scopes[folder] = found
        return found

    def _hash_targets(self, folder: str, specifier: str, language: str) -> Iterator[str]:
        """Yield the candidates of `#x` by the `imports` of the nearest package.json."""
        scope = self._scope(folder)
        if scope is None:
            return
        imports = self._config.json(_within(scope, "package.json")).get("imports")
        for target in _mapped(imports, specifier, language):
            if target.startswith("./"):  # anything else is an installed package
                yield from _built(scope, target)

    def _package_targets(self, importer: str, specifier: str, language: str) -> Iterator[str]:
        """Yield the candidates of a bare specifier in the packages of this project, its own included."""
        name, rest = _package_name(specifier)
        for folder in self._packages_named(name, importer):
            yield from self._entries(folder, rest, language, guess=True)

    def _entries(self, folder: str, rest: str, language: str, *, guess: bool) -> Iterator[str]:
        """Yield the candidates that a folder's package.json gives for the package or a path in it.

        With `guess` the usual places of sources follow, since what is built is seldom in the project.
        """
        folder = folder.rstrip("/")
        manifest = _within(folder, "package.json")
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
            yield f"{_within(folder, 'src')}/{rest}"
            yield _within(folder, rest) if rest else f"{folder}/"

    def _packages_named(self, name: str, importer: str) -> list[str]:
        """Return the folders of the packages with a name that an importer can mean, nearest first."""
        if self._packages is None:
            self._packages = {}
            folders = sorted(self._folders.holding("package.json"), key=lambda each: (each.count("/"), each))
            for folder in folders[:MAX_PACKAGES]:
                package = self._config.json(_within(folder, "package.json")).get("name")
                if isinstance(package, str) and "node_modules" not in folder.split("/"):
                    namesakes = self._packages.setdefault(package, [])
                    if len(namesakes) < MAX_TARGETS:
                        namesakes.append(folder)
        found = [folder for folder in self._packages.get(name, ()) if _is_visible(folder, importer)]
        return sorted(found, key=lambda folder: _nearness(folder, importer))


_UNKNOWN = object()
_FIXTURES = frozenset({"fixtures", "__fixtures__", "testdata"})


def _is_visible(folder: str, importer: str) -> bool:
    """Return whether a package can be meant: one among test fixtures only by files of the same fixtures."""
    parts = folder.split("/")
    for index, part in enumerate(parts):
        if part in _FIXTURES:
            return importer.startswith("/".join(parts[: index + 1]) + "/")
    return True


def _is_relative(specifier: str) -> bool:
    return specifier in {".", ".."} or specifier.startswith(("./", "../"))


def _package_name(specifier: str) -> tuple[str, str]:
    """Return a bare specifier's package and the path in it: `@a/b` and `c/d` for `@a/b/c/d`."""
    parts = specifier.split("/", 2 if specifier.startswith("@") else 1)
    count = 2 if specifier.startswith("@") else 1
    return "/".join(parts[:count]), "/".join(parts[count:])


def _take_paths(aliases: _Aliases, paths: dict[str, object], start: str) -> None:
    """Add the `paths` of a tsconfig, whose targets are relative to a folder."""
    for pattern, targets in paths.items():
        if not isinstance(targets, list):
            continue
        joined = [_joined(start, target) for target in targets[:MAX_TARGETS] if isinstance(target, str)]
        found = [target for target in joined if target is not None]
        prefix, star, suffix = pattern.partition("*")
        if not star:
            aliases.exact[pattern] = found
        elif len(aliases.stars) < MAX_STARS:
            aliases.stars.append((prefix, suffix, found))


def _mapped(table: object, key: str, language: str) -> list[str]:
    """Return the targets of a key of `imports` or `exports` with its star filled in; [] when none fits."""
    if not isinstance(table, dict):
        return []
    if key in table:
        return _conditions(table[key], language)
    best: tuple[int, str, object] | None = None
    for pattern, value in islice(table.items(), MAX_STARS):
        prefix, star, suffix = pattern.partition("*")
        if star and _fits(key, prefix, suffix) and (best is None or len(prefix) > best[0]):
            best = (len(prefix), key[len(prefix) : len(key) - len(suffix)], value)
    if best is None:
        return []
    return [target.replace("*", best[1]) for target in _conditions(best[2], language)]


def _conditions(value: object, language: str) -> list[str]:
    """Return the targets of nested conditions in their order; for JavaScript those of types come last."""
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


def _built(folder: str, target: str) -> Iterator[str]:
    """Yield a manifest's target in its package and, if it is built, the source that it is built from."""
    path = _joined("", target)
    if not path:
        return
    yield _within(folder, path)
    first, _, rest = path.partition("/")
    if first in _BUILD_FOLDERS and rest:
        yield _within(folder, f"src/{rest}")


_ENTRY_KEYS = ("source", "types", "typings", "module", "main")
_SCRIPT_ENTRY_KEYS = ("source", "module", "main", "types", "typings")
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


class _GoImports:
    """Go: an import path below a module's path is a folder of that module."""

    def __init__(self, names: Collection[str], folders: _Folders, config: _Config) -> None:
        self._names = names
        self._folders = folders
        self._config = config
        self._modules: dict[str, list[str]] | None = None

    def clear(self) -> None:
        self._modules = None

    def resolve(self, importer: str, path: str) -> str | None:
        files = self.resolve_all(importer, path)
        if not files:
            return None
        folder = files[0].rpartition("/")[0]
        parts = path.split("/")
        name = parts[-2] if len(parts) > 1 and re.fullmatch(r"v\d+", parts[-1]) else parts[-1]
        named = _within(folder, f"{name}.go")
        return named if named in files else files[0]

    def resolve_all(self, importer: str, path: str) -> tuple[str, ...]:
        for folder in self.folders(importer, path):
            files = tuple(each for each in self._folders.go_files(folder) if not each.endswith("_test.go"))
            if files:
                return files
        return ()

    def is_internal(self, importer: str, path: str) -> bool:
        return any(True for _ in self.folders(importer, path))

    def folders(self, importer: str, path: str) -> Iterator[str]:
        """Yield the folders that an import path can mean, by the longest module path first."""
        modules = self._known_modules()
        prefix = path
        while prefix and modules:
            for module in sorted(modules.get(prefix, ()), key=lambda each: _nearness(each, importer)):
                folder = _joined(module, path[len(prefix) + 1 :])
                if folder is not None:
                    yield folder
            prefix = prefix.rpartition("/")[0]

    def _known_modules(self) -> dict[str, list[str]]:
        if self._modules is None:
            self._modules = {}
            for folder in sorted(self._folders.holding("go.mod"))[:MAX_PACKAGES]:
                match = _GO_MODULE.search(self._config.text(_within(folder, "go.mod")))
                namesakes = self._modules.setdefault(match[1].strip('"`'), []) if match is not None else None
                if namesakes is not None and len(namesakes) < MAX_TARGETS:
                    namesakes.append(folder)
        return self._modules


_GO_MODULE = re.compile(r"^[ \t]*module[ \t]+(?:\([ \t]*\n[ \t]*)?(\S+)", re.MULTILINE)
