"""Owns what a project's Cargo.toml files say: which folders are crates, under which names, with what roots.

They are untrusted and read with patterns, line by line, instead of as TOML: a hostile one costs no more than
its length.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from msgspec import Struct

from .import_config import MAX_PACKAGES, MAX_TARGETS, ImportConfig
from .import_folders import ImportFolders
from .relative_paths import ancestors, join_path, nearness, within

MANIFEST = "Cargo.toml"


class Crate(Struct, frozen=True):
    """A package: its folder, the file that others import or an empty string, and the roots that it names.

    `renamed` maps names of dependencies to what they are called themselves. `is_old` says that it is of the
    first edition, in which paths of `use` begin at the crate's root.
    """

    folder: str
    library: str
    roots: frozenset[str]
    renamed: dict[str, str]
    is_old: bool


class Crates:
    """The crates of one project, read when first asked for."""

    def __init__(self, names: Collection[str], folders: ImportFolders, config: ImportConfig) -> None:
        self._names = names
        self._folders = folders
        self._config = config
        self._crates: dict[str, Crate] = {}
        self._named: dict[str, list[str]] | None = None

    def clear(self) -> None:
        """Forget everything that was read."""
        self._crates.clear()
        self._named = None

    def around(self, path: str) -> Crate | None:
        """Return the crate that a file belongs to, or None."""
        manifests = self._folders.holding(MANIFEST)
        for folder in ancestors(path.rpartition("/")[0]):
            if folder in manifests:
                return self._crate(folder)
        return None

    def named(self, name: str, importer: str) -> Crate | None:
        """Return the crate that goes by a name in `use`, of several the nearest to the importer."""
        namesakes = self._names_of_crates().get(name, ())
        nearest = min(namesakes, key=lambda folder: nearness(folder, importer), default=None)
        return self._crate(nearest) if nearest is not None else None

    def _names_of_crates(self) -> dict[str, list[str]]:
        if self._named is None:
            self._named = {}
            for folder in sorted(self._folders.holding(MANIFEST))[:MAX_PACKAGES]:
                sections = _sections(self._config.text(within(folder, MANIFEST)))
                for name in {_value(sections, "lib", "name"), _value(sections, "package", "name")} - {""}:
                    namesakes = self._named.setdefault(name.replace("-", "_"), [])
                    if len(namesakes) < MAX_TARGETS:
                        namesakes.append(folder)
        return self._named

    def _crate(self, folder: str) -> Crate:
        known = self._crates.get(folder)
        if known is None:
            text = self._config.text(within(folder, MANIFEST))
            sections = _sections(text)
            library = join_path(folder, _value(sections, "lib", "path") or "src/lib.rs") or ""
            targets = [join_path(folder, path) for path in _PATH.findall("\n".join(_targets(sections)))]
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


_SECTION = re.compile(r"^[ \t]*\[{1,2}[ \t]*([\w.\"'-]{1,100})[ \t]*\]{1,2}", re.MULTILINE)
_PATH = re.compile(r"^[ \t]*path[ \t]*=[ \t]*[\"']([^\"'\n]{1,300})[\"']", re.MULTILINE)
_RENAMED = re.compile(
    r"^[ \t]*([\w-]{1,100})[ \t]*=[ \t]*\{[^{}\n]{0,300}?\bpackage[ \t]*=[ \t]*[\"']([\w-]{1,100})[\"']",
    re.MULTILINE,
)


def _sections(text: str) -> dict[str, str]:
    """Return what stands in each section by its name, in all of a name's one after the other."""
    parts = _SECTION.split(text)
    gathered: dict[str, list[str]] = {}
    for name, content in zip(parts[1::2], parts[2::2], strict=True):
        gathered.setdefault(name, []).append(content)
    return {name: "\n".join(contents) for name, contents in gathered.items()}


def _value(sections: dict[str, str], section: str, key: str) -> str:
    pattern = rf"^[ \t]*{key}[ \t]*=[ \t]*[\"']([^\"'\n]{{1,300}})[\"']"
    match = re.search(pattern, sections.get(section, ""), re.MULTILINE)
    return match[1] if match is not None else ""


def _targets(sections: dict[str, str]) -> list[str]:
    return [sections[name] for name in ("bin", "test", "example", "bench") if name in sections]
