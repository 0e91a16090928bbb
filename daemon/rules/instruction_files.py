"""Finds the instruction files of a project and its user (AGENTS.md and the like) and reads them as rules.

Which agent reads which file, and what its frontmatter means, follows the agents' own documentation.
A project's files are untrusted: neither an import nor a symbolic link in them reaches a file outside the
project, and the limits below bound their cost.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from ..core.confined_folder import (
    MAX_FILES,
    ConfinedFolder,
    ConfinedReader,
    ReadFile,
    RefusedError,
)
from ..core.globs import anchored_globs, compile_glob, escape_glob, rebase_glob
from ..core.system import Stamp, System, stamps_hold
from .instruction_places import MANAGED_PLACES, PROJECT_PLACES, USER_PLACES, Dialect, RulePlace, nested_files
from .instruction_text import Frontmatter, Importer, prose_lines, split_frontmatter, trimmed
from .items import IncludeMode, Item, Owner

MANAGED_FOLDER = {
    "darwin": "/Library/Application Support/ClaudeCode",
    "win32": r"C:\Program Files\ClaudeCode",
}.get(sys.platform, "/etc/claude-code")
"""The folder of an administrator's instructions for Claude Code."""

MAX_COSTLY = 524_288
"""Maximum characters of all frontmatter and of all globs with their braces expanded, together; parsing takes
2 µs for each, compiling up to 9."""
MAX_WARNINGS = 100
"""Maximum number of warnings of one discovery; the others are counted."""

MANAGED, USER, ROOT, LOCAL, NESTED = 100, 200, 300, 350, 400
"""The priority levels, the lowest first: an administrator's rules, the user's, those at the project's root,
its CLAUDE.local.md, and those in folders below it."""
_TOO_COSTLY = f"since the frontmatter and globs of all rules exceed {MAX_COSTLY} characters: shorten them"
_OWNERS: dict[int, Owner] = {MANAGED: "administrator", USER: "user"}
"""Who wrote the files of a level; those of all others are the project's."""


class RuleSet(Struct, frozen=True):
    """The rules of a project, and what tells whether they changed.

    `items` come in order of precedence: by `priority_level`, then from the root to the nested folders, then
    by name; of items with the same text only the first is kept. Each of `warnings` names a file and what to
    do. `probes` are the files and folders that were looked up, by path, with their stamp (of a link, its
    own), or `None` if nothing was there. `sources` are the absolute paths of the files that were read,
    imports included, both with symlinks as they were named and with symlinks resolved.
    """

    items: tuple[Item, ...]
    warnings: tuple[str, ...]
    probes: tuple[tuple[str, Stamp | None], ...]
    sources: frozenset[str]
    lasting: bool = True
    """False if something could not be read for a temporary reason (see `System`), or was modified just
    before: no stamp may tell a change, so the rules must be read again."""

    texts: tuple[tuple[str, Stamp | None], ...] = ()
    """The `probes` of `sources`."""

    def unchanged(self, system: System, *, texts_only: bool = False) -> bool:
        """Tell whether discovery would give the same rules again for the same names, by a stat for each
        probe, or with `texts_only` whether the texts are those on disk."""
        return self.lasting and stamps_hold(system.lstat, self.texts if texts_only else self.probes)


def discover(
    root: str, home: str, names: Iterable[str], system: System, *, managed: str | None = MANAGED_FOLDER
) -> RuleSet:
    """Find and read the instruction files that hold for a project.

    `root`, `home` and `managed` are absolute folders; none needs to exist. `names` are the project's files
    (POSIX, relative to the root): those in subfolders are found among them, while the well-known places of
    the root are looked up on disk, since git often ignores them. Never raises for a file's content: a file
    that can't be used is left out with a warning. The user's auto memory isn't read.
    """
    discovery = _Discovery(system, home)
    project = ConfinedFolder(root, os.path.realpath(root), "", trusted=False)
    user = ConfinedFolder(home, os.path.realpath(home), "~/", trusted=True)
    found: list[_InstructionFile] = []
    if managed is not None:
        administrator = ConfinedFolder(managed, os.path.realpath(managed), f"{managed}/", trusted=True)
        found += discovery.find(administrator, MANAGED_PLACES, MANAGED)
    found += discovery.find(user, USER_PLACES, USER)
    found += discovery.find(project, PROJECT_PLACES, ROOT)
    found += [_InstructionFile(project, place, folder, name) for name, place, folder in nested_files(names)]
    found = _without_overridden(found, discovery)
    found.sort(key=_InstructionFile.order)
    if len(found) > MAX_FILES:
        discovery.warn(
            root, f"of {len(found)} instruction files only the first {MAX_FILES} are read: remove some"
        )
    rules = [rule for candidate in found[:MAX_FILES] if (rule := discovery.rule(candidate)) is not None]
    return discovery.rule_set(_merge(rules))


class _InstructionFile(Struct, frozen=True):
    """An instruction file: its path in the confined folder, and the project's folder that it is for."""

    zone: ConfinedFolder
    place: RulePlace
    folder: str
    path: str
    level: int = NESTED

    @property
    def name(self) -> str:
        return self.zone.prefix + self.path

    @property
    def absolute(self) -> str:
        return self.zone.absolute(self.path)

    def order(self) -> tuple[object, ...]:
        """Return its sort key; CLAUDE.local.md comes last in its folder, as Claude Code reads it."""
        local = self.place.path == "CLAUDE.local.md"
        return self.level, self.folder.split("/"), local, *os.path.split(self.path)


class _Rule(Struct, frozen=True):
    item: Item
    real: str


def _without_overridden(found: list[_InstructionFile], discovery: _Discovery) -> list[_InstructionFile]:
    """Leave out each AGENTS.md beside an AGENTS.override.md that can be read."""
    overridden = {
        candidate.absolute.removesuffix(".override.md") + ".md"
        for candidate in found
        if candidate.place.path.endswith("AGENTS.override.md") and discovery.exists(candidate)
    }
    return [candidate for candidate in found if candidate.absolute not in overridden]


_STRENGTH: dict[IncludeMode, int] = {"manual": 0, "agent": 1, "glob": 2, "always": 3}


def _merge(rules: list[_Rule]) -> tuple[Item, ...]:
    """Merge items of the same file or the same text.

    The first by precedence stands for all, and is included wherever one of them would have been.
    """
    items: list[Item] = []
    places: dict[str, int] = {}
    for rule in rules:
        known = places.get(rule.real, places.get(f"\0{rule.item.text}"))
        if known is None:
            known = len(items)
            items.append(rule.item)
        else:
            items[known] = _widened(items[known], rule.item)
        places[rule.real] = places[f"\0{rule.item.text}"] = known
    return tuple(items)


def _widened(item: Item, other: Item) -> Item:
    include = max(item.include, other.include, key=_STRENGTH.__getitem__)
    globs = tuple(dict.fromkeys(item.globs + other.globs)) if include == "glob" else ()
    return replace(item, include=include, globs=globs, description=item.description or other.description)


class _Discovery:
    """One discovery: the files that it read, its warnings and its costs."""

    def __init__(self, system: System, home: str) -> None:
        self._reader = ConfinedReader(system)
        self._importer = Importer(self._reader, home, self.warn)
        self._warnings: dict[str, None] = {}
        self._named: set[str] = set()
        self._costly = 0

    def rule_set(self, items: tuple[Item, ...]) -> RuleSet:
        """Return the items with the warnings, probes and sources noted meanwhile."""
        warnings = list(self._warnings)
        if len(warnings) > MAX_WARNINGS:
            warnings[MAX_WARNINGS:] = [f"{len(warnings) - MAX_WARNINGS} more warnings: mend these first"]
        probes = tuple(sorted(self._reader.probes.items()))
        sources = frozenset(self._reader.sources | self._named)
        return RuleSet(
            items,
            tuple(warnings),
            probes,
            sources,
            lasting=self._reader.lasting,
            texts=tuple(probe for probe in probes if probe[0] in sources),
        )

    def warn(self, name: str, message: str) -> None:
        """Note a warning once, safe for a terminal: names and values in it are untrusted."""
        text = f"{name}: {message}"[:500]
        self._warnings["".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)] = None

    def find(self, zone: ConfinedFolder, places: tuple[RulePlace, ...], level: int) -> list[_InstructionFile]:
        """Look on disk for the instruction files of a confined folder, also those that will be refused."""
        found: list[_InstructionFile] = []
        for place in places:
            paths = self._files(zone, place) if place.suffix else (place.path,)
            place_level = LOCAL if level == ROOT and place.path == "CLAUDE.local.md" else level
            found += [_InstructionFile(zone, place, "", path, place_level) for path in paths]
        return [candidate for candidate in found if self.exists(candidate, refused=True)]

    def exists(self, found: _InstructionFile, *, refused: bool = False) -> bool:
        """Tell whether an instruction file is there and may be read, or with `refused` may not."""
        try:
            located = self._reader.locate(found.zone, found.absolute, free=found.zone.trusted)
        except RefusedError:
            return refused
        return located is not None and (refused or located.is_file)

    def rule(self, found: _InstructionFile) -> _Rule | None:
        """Read an instruction file; `None` if it is absent, empty, or refused with a warning."""
        try:
            located = self._reader.locate(found.zone, found.absolute, free=found.zone.trusted)
            if located is None or located.is_folder:
                return None
            if self._costly > MAX_COSTLY:
                raise RefusedError(f"isn't read, {_TOO_COSTLY}")
            read = self._reader.read(located)
        except RefusedError as refused:
            self.warn(found.name, str(refused))
            return None
        if read is None:
            return None
        self._named.add(found.absolute)
        item = self._item(found, located.path, read)
        return None if item is None else _Rule(item, located.path)

    def _files(self, zone: ConfinedFolder, place: RulePlace) -> tuple[str, ...]:
        listing = self._reader.files_below(zone, place.path, place.suffix, place.depth)
        for path, reason in listing.refused.items():
            self.warn(zone.prefix + path, reason)
        return listing.files

    def _item(self, found: _InstructionFile, real: str, read: ReadFile) -> Item | None:
        front = self._front(found, read.text)
        parts = frozenset({real})
        if found.place.imports:
            lines, parts = self._importer.expand(found.zone, front.body, found.path, real)
            line, text = trimmed(lines)
        else:
            line, text = trimmed(prose_lines(front.body))
        if not text or "coding-agent" in front.texts("excludeAgent"):
            return None
        include, globs = self._mode(found, front)
        return Item(
            type="rule",
            name=found.name,
            include=include,
            text=text,
            source=found.absolute,
            line=front.line + line - 1,
            description=front.text("description") or (front.text("name") if include == "agent" else ""),
            globs=globs,
            priority_level=found.level,
            stamp=read.stamp,
            parts=tuple(sorted(parts)),
            owner=_OWNERS.get(found.level, "project"),
        )

    def _front(self, found: _InstructionFile, text: str) -> Frontmatter:
        if found.place.dialect == "plain":
            return Frontmatter({}, text, 1, present=False)
        front = split_frontmatter(text)
        self._costly += len(text) - len(front.body)
        if front.problem:
            self.warn(found.name, f"its frontmatter is ignored, {front.problem}: mend the YAML")
        return front

    def _mode(self, found: _InstructionFile, front: Frontmatter) -> tuple[IncludeMode, tuple[str, ...]]:
        """Return when a rule is included; an `always` rule below the root holds for its folder only."""
        include, patterns = _wanted(found.place.dialect, front)
        if include == "glob":
            usable = self._usable(found.name, patterns)
            if any(compile_glob(pattern).everything for pattern in usable):
                include = "always"
            elif usable:
                globs = [moved for pattern in usable for moved in rebase_glob(pattern, found.folder)]
                return "glob", tuple(dict.fromkeys(globs))
            else:
                self.warn(found.name, "it has no usable glob, so it is included by name only: mend its globs")
                return "manual", ()
        if include == "always" and found.folder:
            return "glob", (f"{escape_glob(found.folder)}/**",)
        return include, ()

    def _usable(self, name: str, patterns: tuple[str, ...]) -> list[str]:
        usable: list[str] = []
        for pattern in patterns:
            try:
                if self._costly > MAX_COSTLY:
                    raise ValueError(_TOO_COSTLY)
                self._costly += sum(map(len, anchored_globs(pattern)))
                compile_glob(pattern)
            except ValueError as error:
                self.warn(name, f"one of its globs is ignored: {error}")
            else:
                usable.append(pattern)
        return usable


def _wanted(dialect: Dialect, front: Frontmatter) -> tuple[IncludeMode, tuple[str, ...]]:
    """Return the include mode that a file asks for, with its globs if that is `glob`."""
    described: IncludeMode = "agent" if front.text("description") else "manual"
    if dialect in ("claude", "cline"):
        globs = front.texts("paths")
        return ("glob", globs) if globs else ("always", ())
    if dialect == "cursor":
        globs = front.texts("globs")
        if front.flag("alwaysApply"):
            return "always", ()
        return ("glob", globs) if globs else (described, ())
    if dialect == "copilot":
        globs = front.texts("applyTo")
        return ("glob", globs) if globs else (described, ())
    if dialect == "kiro":
        inclusion, globs = front.text("inclusion"), front.texts("fileMatchPattern")
        if inclusion == "fileMatch":
            return ("glob", globs) if globs else ("manual", ())
        return ("manual" if inclusion == "manual" else "agent" if inclusion == "auto" else "always"), ()
    if dialect == "windsurf":
        return _wanted_by_trigger(front, described)
    return ("agent" if dialect == "skill" else "always"), ()


def _wanted_by_trigger(front: Frontmatter, described: IncludeMode) -> tuple[IncludeMode, tuple[str, ...]]:
    globs = front.texts("globs")
    trigger = front.text("trigger")
    if trigger == "always_on" or not front.present:
        return "always", ()
    if trigger == "model_decision":
        return "agent", ()
    if trigger == "manual":
        return "manual", ()
    if trigger == "glob" or globs:
        return "glob", globs
    return described, ()
