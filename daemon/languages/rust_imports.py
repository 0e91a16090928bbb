"""Rust's crates and module paths: Cargo.toml, `use` and `mod` statements, and the files that they mean.

Modules are written relative to the file, not to the inline module around a statement, so that they can be
resolved without the source: in `mod tests { use super::*; }` the module is `self`. Cargo.toml files are
untrusted and read with patterns, line by line: a hostile file costs no more than its length.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from ..core.relative_paths import ancestors, join_path, nearness, within
from .shared.import_folders import MAX_PACKAGES, MAX_TARGETS, folders_by_name
from .shared.language import ImportLookup, UseItem, key_of
from .shared.records import Import
from .shared.source_text import MAX_NAME, lazy_pattern

if TYPE_CHECKING:
    from .shared.import_folders import ImportConfig, ImportFolders


DEPTH_MAX = 32
"""Maximum number of modules in a path."""


class _ModulePlace(NamedTuple):
    """The place of a path's modules: a folder; `file` is the module that declares them.

    A guessed place may be wrong: then only a module's own file confirms it.
    """

    folder: str
    file: str
    is_guess: bool = False


class RustImports(ImportLookup):
    """Rust: modules below the roots of crates, crates of the project, files named by an attribute.

    Specifiers are those of `use_trees`. A path that continues inside of a file, into an enum or an inline
    module, means that file; with `Import.name` only a module of that name is meant.
    """

    def __init__(self, names: Collection[str], folders: ImportFolders, config: ImportConfig) -> None:
        super().__init__(names, folders, config)
        self._crates = Crates(names, folders, config)

    def clear(self) -> None:
        """Drop the contents of all Cargo.toml files."""
        self._crates.clear()

    def resolve(self, importer: str, imported: Import) -> str | None:
        """Return the path of the file that an import means, or None."""
        if imported.module.startswith("./"):
            path = join_path(importer.rpartition("/")[0], imported.module)
            return path if path in self._names else None
        for place, parts in self._starts(importer, imported.module):
            if imported.name:
                found = self._file(place, (*parts, imported.name))
                if found is not None:
                    return found
                continue
            for count in range(len(parts), 0, -1):
                found = self._file(place, parts[:count])
                if found is not None:
                    return found
            if place.file in self._names and not place.is_guess:
                return place.file
        return None

    def is_internal(self, importer: str, imported: Import) -> bool:
        """Return whether an unresolved import certainly means a file: only a module declared by `mod`."""
        return imported.module.startswith("./") or (
            bool(imported.name) and imported.module.partition(JOINT)[0] == "self"
        )

    def published(self, imported: Import) -> tuple[str, ...]:
        """Return the file of a path that begins with a crate of this project."""
        is_ours = self._crates.named(imported.module.partition(JOINT)[0], "") is not None
        return self.resolve_all("", imported) if is_ours else ()

    def keys(self, importer: str, imported: Import) -> list[str]:
        """Return the keys under which an import waits, which may repeat."""
        if imported.module.startswith("./"):
            return [key_of(imported.module)]
        keys = [imported.name] if imported.name else []
        for place, parts in self._starts(importer, imported.module):
            keys += reversed(parts)
            if place.file:
                keys += (key_of(place.file), key_of(place.folder))
        keys += _parts(imported.module)[-1:]
        return keys

    def _starts(self, importer: str, module: str) -> Iterator[tuple[_ModulePlace, tuple[str, ...]]]:
        """Yield the possible starts of a path, best first, each with the remaining modules."""
        parts = _parts(module)
        if not parts or not all(part.isidentifier() for part in parts):
            return
        crate = self._crates.around(importer)
        first, rest = parts[0], parts[1:]
        if first == "crate":
            yield self._root(importer, crate), rest
        elif first in {"self", "super"}:
            place: _ModulePlace | None = self._own(importer, crate)
            ups = len(tuple(takewhile("super".__eq__, parts)))
            for _ in range(ups):
                place = self._parent(place, crate) if place is not None else None
            if place is not None:
                yield place, parts[ups or 1 :]
        else:
            other = self._crates.named(crate.renamed.get(first, first) if crate else first, importer)
            if other is not None:
                yield _ModulePlace(other.library.rpartition("/")[0], other.library), rest
            yield self._own(importer, crate)._replace(is_guess=True), parts
            if crate is not None and crate.is_old:
                yield self._root(importer, crate)._replace(is_guess=True), parts

    def _file(self, place: _ModulePlace, parts: tuple[str, ...]) -> str | None:
        base = within(place.folder, "/".join(parts))
        for path in (f"{base}.rs", f"{base}/mod.rs"):
            if path in self._names:
                return path
        return None

    def _own(self, importer: str, crate: Crate | None) -> _ModulePlace:
        """Return the place of the modules that a file declares."""
        folder, _, name = importer.rpartition("/")
        if name == "mod.rs" or self._is_root(importer, crate):
            return _ModulePlace(folder, importer)
        return _ModulePlace(importer.removesuffix(".rs"), importer)

    def _parent(self, place: _ModulePlace, crate: Crate | None) -> _ModulePlace | None:
        """Return the place of the parent module, or None for a root."""
        if self._is_root(place.file, crate) or not place.folder:
            return None
        folder = place.folder.rpartition("/")[0]
        for path in (f"{folder}.rs", f"{folder}/mod.rs"):
            if path in self._names:
                return _ModulePlace(folder, path)
        return _ModulePlace(folder, self._root_in(folder, crate))

    def _root(self, importer: str, crate: Crate | None) -> _ModulePlace:
        """Return the root of the crate that contains a file."""
        if self._is_root(importer, crate):
            return _ModulePlace(importer.rpartition("/")[0], importer)
        for folder in ancestors(importer.rpartition("/")[0]):
            file = self._root_in(folder, crate)
            if file:
                return _ModulePlace(folder, file)
            if crate is not None and folder == crate.folder:
                break
        library = crate.library if crate is not None else ""
        return _ModulePlace(library.rpartition("/")[0], library)

    def _root_in(self, folder: str, crate: Crate | None) -> str:
        """Return the crate root in a folder, or an empty string."""
        if crate is not None:
            declared = [
                path for path in (crate.library, *sorted(crate.roots)) if path.rpartition("/")[0] == folder
            ]
            if declared and declared[0] in self._names:
                return declared[0]
        for name in _ROOT_NAMES:
            if within(folder, name) in self._names:
                return within(folder, name)
        return ""

    def _is_root(self, path: str, crate: Crate | None) -> bool:
        if crate is None:
            return path.rpartition("/")[2] in {"lib.rs", "main.rs"}
        if path == crate.library or path in crate.roots:
            return True
        inner = path[len(crate.folder) + 1 :] if crate.folder else path
        if _ROOT.fullmatch(inner) is None:
            return False
        folder = path.rpartition("/")[0]  # tests may be compiled into one, as modules of another file
        others = [within(folder, name) for name in _ROOT_NAMES]
        return not _SHARED.match(inner) or path in others or not any(other in self._names for other in others)


_ROOT = lazy_pattern(r"src/(?:lib|main)\.rs|build\.rs|(?:src/bin|tests|examples|benches)/[^/]+(?:/main)?\.rs")
_ROOT_NAMES = ("lib.rs", "main.rs", "mod.rs")
_SHARED = lazy_pattern(r"(?:tests|benches|examples)/[^/]+\Z")


def _parts(module: str) -> tuple[str, ...]:
    return tuple(module.split(JOINT))[:DEPTH_MAX]


MANIFEST = "Cargo.toml"


class Crate(Struct, frozen=True):
    """A package: its folder, the library file or an empty string, and its declared roots.

    `renamed` maps names of dependencies to their original names. `is_old` marks the 2015 edition, in which
    paths of `use` begin at the crate's root.
    """

    folder: str
    library: str
    roots: frozenset[str]
    renamed: dict[str, str]
    is_old: bool


class Crates:
    """The crates of one project, read on first use."""

    def __init__(self, names: Collection[str], folders: ImportFolders, config: ImportConfig) -> None:
        self._names = names
        self._folders = folders
        self._config = config
        self._crates: dict[str, Crate] = {}

    def clear(self) -> None:
        """Drop all crates."""
        self._crates.clear()
        self.__dict__.pop("_named", None)

    def around(self, path: str) -> Crate | None:
        """Return the crate around a file, or None."""
        manifests = self._folders.holding(MANIFEST)
        for folder in ancestors(path.rpartition("/")[0]):
            if folder in manifests:
                return self._crate(folder)
        return None

    def named(self, name: str, importer: str) -> Crate | None:
        """Return the crate with a name in `use`; if there are several, the nearest to the importer."""
        namesakes = self._named.get(name, ())
        nearest = min(namesakes, key=lambda folder: nearness(folder, importer), default=None)
        return self._crate(nearest) if nearest is not None else None

    @cached_property
    def _named(self) -> dict[str, list[str]]:
        """The folders of the crates by their names in `use`."""
        manifests = sorted(self._folders.holding(MANIFEST))[:MAX_PACKAGES]
        read = ((folder, _sections(self._config.text(within(folder, MANIFEST)))) for folder in manifests)
        return folders_by_name(
            (name.replace("-", "_"), folder)
            for folder, sections in read
            for name in {_value(sections, "lib", "name"), _value(sections, "package", "name")} - {""}
        )

    def _crate(self, folder: str) -> Crate:
        known = self._crates.get(folder)
        if known is None:
            text = self._config.text(within(folder, MANIFEST))
            sections = _sections(text)
            library = join_path(folder, _value(sections, "lib", "path") or "src/lib.rs") or ""
            declared = "\n".join(sections.get(name, "") for name in ("bin", "test", "example", "bench"))
            targets = [join_path(folder, path) for path in _PATH.findall(declared)]
            known = self._crates[folder] = Crate(
                folder,
                library,
                frozenset(target for target in targets[:MAX_TARGETS] if target),
                {
                    alias.replace("-", "_"): name.replace("-", "_")
                    for alias, name in _RENAMED.findall(text)[:MAX_PACKAGES]
                },
                "package" in sections and not re.search(r"^\s*edition\b", sections["package"], re.MULTILINE),
            )
        return known


_SECTION = lazy_pattern(r"^[ \t]*\[{1,2}[ \t]*([\w.\"'-]{1,100})[ \t]*\]{1,2}", re.MULTILINE)
_PATH = lazy_pattern(r"^[ \t]*path[ \t]*=[ \t]*[\"']([^\"'\n]{1,300})[\"']", re.MULTILINE)
_RENAMED = lazy_pattern(
    r"^[ \t]*([\w-]{1,100})[ \t]*=[ \t]*\{[^{}\n]{0,300}?\bpackage[ \t]*=[ \t]*[\"']([\w-]{1,100})[\"']",
    re.MULTILINE,
)


def _sections(text: str) -> dict[str, str]:
    """Return the text of each section by its name; repeated sections are joined."""
    parts = _SECTION.split(text)
    gathered: dict[str, list[str]] = {}
    for name, content in zip(parts[1::2], parts[2::2], strict=True):
        gathered.setdefault(name, []).append(content)
    return {name: "\n".join(contents) for name, contents in gathered.items()}


def _value(sections: dict[str, str], section: str, key: str) -> str:
    pattern = rf"^[ \t]*{key}[ \t]*=[ \t]*[\"']([^\"'\n]{{1,300}})[\"']"
    match = re.search(pattern, sections.get(section, ""), re.MULTILINE)
    return match[1] if match is not None else ""


USE_MAX = 20_000
"""Maximum characters read of a statement; the largest trees of real code have 3,000."""

BRACES_MAX = 32
"""Maximum nesting of braces: each level repeats the path before it."""


JOINT = "::"


def used_names(tree: str, inside: Sequence[str] = ()) -> list[UseItem]:
    """Return the names that a use tree (`crate::a::{b, c as d, e::*}`) introduces, in order.

    `inside` are the inline modules around it. Broken or too deeply nested parts are left out.
    """
    found: list[UseItem] = []
    for path, alias in _leaves(tree[:USE_MAX]):
        use = _use(_from_file(path, inside), alias)
        if use is not None and len(use.module) <= MAX_NAME:
            found.append(use)
    return found


def declared_module(name: str, before: str, inside: Sequence[str] = ()) -> tuple[UseItem, bool]:
    """Return the names that `mod name;` introduces, and whether its file certainly exists.

    `before` is the text before the name, whose attributes are read: a `path` names the file, and a
    conditionally compiled module may be generated or missing.
    """
    attributes = re.split(r"[;{}]", before)[-1]
    path = _PATH_ATTRIBUTE.search(attributes)
    if path is not None and not inside:
        return UseItem(f"./{path[1]}", "*", name), "cfg" not in attributes
    return UseItem(JOINT.join(("self", *inside)), name, name), "cfg" not in attributes and path is None


_PATH_ATTRIBUTE = lazy_pattern(r"\bpath\s*=\s*\"([^\"\\\n]{1,200})\"")
_WORD = lazy_pattern(r"//[^\n]*|/\*.*?(?:\*/|\Z)|(::|[{},*]|(?:r#)?[^\W\d]\w*)|\s+|.", re.DOTALL)


def _leaves(tree: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield each path of a use tree with its alias, or an empty alias."""
    prefixes: list[tuple[str, ...]] = []
    prefix: tuple[str, ...] = ()
    path: list[str] = []
    alias, is_alias = "", False
    for match in _WORD.finditer(tree + ","):
        word = match[1]
        if word is None or word == JOINT:
            continue
        if word == "{":
            if len(prefixes) >= BRACES_MAX:
                return
            prefixes.append(prefix)
            prefix, path = (*prefix, *path), []
        elif word in {",", "}"}:
            if path:
                yield (*prefix, *path), alias
            path, alias, is_alias = [], "", False
            if word == "}":
                if not prefixes:
                    return
                prefix = prefixes.pop()
        elif word == "as":
            is_alias = True
        elif is_alias:
            alias = word
        else:
            path.append(word.removeprefix("r#"))


def _from_file(path: Sequence[str], inside: Sequence[str]) -> tuple[str, ...]:
    """Return a path as written outside of all inline modules."""
    if path[0] == "self":
        return ("self", *inside, *path[1:])
    ups = len(tuple(takewhile("super".__eq__, path)))
    if 0 < ups <= len(inside):
        return ("self", *inside[: len(inside) - ups], *path[ups:])
    return tuple(path[len(inside) :]) if ups else tuple(path)


def _use(path: tuple[str, ...], alias: str) -> UseItem | None:
    last = path[-1]
    if last == "self" and len(path) > 1:
        path = path[:-1]
        return UseItem(JOINT.join(path), "*", alias or path[-1])
    if last == "*":
        return UseItem(JOINT.join(path[:-1]), "*", "*") if len(path) > 1 else None
    if len(path) == 1 or last == "super":
        return UseItem(JOINT.join(path), "*", alias or last) if alias or last not in _KEYWORDS else None
    return UseItem(JOINT.join(path[:-1]), last, alias or last)


_KEYWORDS = frozenset({"self", "super", "crate"})
