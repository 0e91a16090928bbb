"""A project's metadata, read from its manifests and git: name, languages, commands, branch, latest commits.

Manifests come from untrusted repositories: only a part of each is read, nothing in it is run, and its values
are converted to single lines of plain text.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ..core.system import Stamp, System, stamp_of
from ..languages.shared.language import language_of
from . import git
from .tree import FileRecord, Tree

Purpose = Literal["build", "test", "check", "run"]
PURPOSES: tuple[Purpose, ...] = ("build", "test", "check", "run")

MANIFEST_BYTES = 262_144
"""Maximum number of bytes read of a manifest; hand-written ones have a few KB. A larger TOML or JSON file is
ignored."""

TEXT_CHARACTERS = 300
COMMAND_CHARACTERS = 80


class ProjectCommand(Struct, frozen=True):
    """A command line of the project, and its purpose."""

    purpose: Purpose
    line: str


class Manifest(Struct, frozen=True):
    """The contents of one manifest; missing values are ""."""

    file: str
    name: str = ""
    description: str = ""
    commands: tuple[ProjectCommand, ...] = ()


def read_manifests(root: str, names: Iterable[str], system: System) -> list[Manifest]:
    """Read the manifests among the names of files in a project's root, in the order of `MANIFESTS`.

    Manifests that can't be read or parsed are left out. Blocks for a few small files.
    """
    present = frozenset(names)
    found = []
    for name, reader in MANIFESTS.items():
        if name in present:
            text = _text(os.path.join(root, name), system)
            manifest = reader(text, present) if text else None
            if manifest is not None:
                found.append(
                    Manifest(name, _plain(manifest[0]), _plain(manifest[1]), _command_lines(manifest[2]))
                )
    return found


Said = tuple[str, str, Iterable[tuple[Purpose, str]]]
"""The name, the description, and the commands by purpose in a manifest."""
Reader = Callable[[str, frozenset[str]], Said | None]

_SCRIPT_PURPOSES: Mapping[str, Purpose] = {
    "build": "build", "compile": "build", "all": "build", "dist": "build",
    "test": "test", "tests": "test", "unit": "test", "test:unit": "test",
    "lint": "check", "check": "check", "typecheck": "check", "type-check": "check", "fmt": "check",
    "format": "check", "types": "check",
    "start": "run", "dev": "run", "run": "run", "serve": "run",
}  # fmt: skip
"""The purposes of scripts, targets and recipes by their names."""


def _pyproject(text: str, present: frozenset[str]) -> Said | None:
    tables = _toml(text)
    project = _table(tables, "project")
    tool = _table(tables, "tool")
    poetry = _table(tool, "poetry")
    name = _word(project, "name") or _word(poetry, "name")
    runner = "uv run " if "uv.lock" in present else "poetry run " if "poetry.lock" in present else ""
    commands: list[tuple[Purpose, str]] = []
    tasks = _table(tool, "poe", "tasks") or _table(tool, "hatch", "envs", "default", "scripts")
    prefix = "poe " if _table(tool, "poe", "tasks") else "hatch run "
    commands.extend(_named(tasks, prefix))
    if "pytest" in tool or {"pytest.ini", "conftest.py"} & present:
        commands.append(("test", f"{runner}pytest"))
    if "noxfile.py" in present:
        commands.append(("test", "nox"))
    if "tox" in tool or "tox.ini" in present:
        commands.append(("test", "tox"))
    if "ruff" in tool or "ruff.toml" in present:
        commands.append(("check", f"{runner}ruff check"))
    if "mypy" in tool or "mypy.ini" in present:
        commands.append(("check", f"{runner}mypy"))
    return name, _word(project, "description") or _word(poetry, "description"), commands


def _package_json(text: str, present: frozenset[str]) -> Said | None:
    package = _json(text)
    managers = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun run", "bun.lockb": "bun run"}
    run = next((tool for lock, tool in managers.items() if lock in present), "npm run")
    return (
        _word(package, "name"),
        _word(package, "description"),
        _named(_table(package, "scripts"), f"{run} "),
    )


def _deno(text: str, _: frozenset[str]) -> Said | None:
    config = _json(text)
    return _word(config, "name"), "", _named(_table(config, "tasks"), "deno task ")


def _cargo(text: str, _: frozenset[str]) -> Said | None:
    tables = _toml(text)
    package = _table(tables, "package")
    if not package and "workspace" not in tables:
        return None
    whole = " --workspace" if "workspace" in tables else ""
    commands: list[tuple[Purpose, str]] = [
        ("build", f"cargo build{whole}"),
        ("test", f"cargo test{whole}"),
        ("check", "cargo clippy"),
    ]
    return _word(package, "name"), _word(package, "description"), commands


def _go(text: str, _: frozenset[str]) -> Said | None:
    module = re.search(r"(?m)^module[ \t]+(\S{1,300})", text)
    commands: list[tuple[Purpose, str]] = [("build", "go build ./..."), ("test", "go test ./...")]
    return (module[1].strip('"') if module else ""), "", [*commands, ("check", "go vet ./...")]


def _maven(text: str, present: frozenset[str]) -> Said | None:
    outside = text
    for tag in ("parent", "dependencies", "dependencyManagement", "build", "profiles"):
        before, _, rest = outside.partition(f"<{tag}>")
        outside = before + rest.partition(f"</{tag}>")[2]
    name, description = (_element(outside, tag) for tag in ("name", "description"))
    maven = "./mvnw" if "mvnw" in present else "mvn"
    commands: list[tuple[Purpose, str]] = [("build", f"{maven} package"), ("test", f"{maven} test")]
    return name or _element(outside, "artifactId"), description, commands


def _gradle(text: str, present: frozenset[str]) -> Said | None:
    name = re.search(r"rootProject\.name\s{0,4}=\s{0,4}[\"']([^\"'\n]{1,200})", text)
    gradle = "./gradlew" if "gradlew" in present else "gradle"
    commands: list[tuple[Purpose, str]] = [("build", f"{gradle} build"), ("test", f"{gradle} test")]
    return (name[1] if name else ""), "", commands


def _composer(text: str, _: frozenset[str]) -> Said | None:
    package = _json(text)
    return (
        _word(package, "name"),
        _word(package, "description"),
        _named(_table(package, "scripts"), "composer "),
    )


def _make(text: str, _: frozenset[str]) -> Said | None:
    targets = re.findall(r"(?m)^([A-Za-z][\w.:-]{0,40}?)[ \t]*:(?![=:])", text)
    return "", "", _named(dict.fromkeys(targets), "make ")


def _just(text: str, _: frozenset[str]) -> Said | None:
    recipes = re.findall(r"(?m)^@?([a-z][\w-]{0,40})(?:[ \t][^:\n]{0,200})?:(?!=)", text)
    return "", "", _named(dict.fromkeys(recipes), "just ")


def _cmake(text: str, _: frozenset[str]) -> Said | None:
    project = re.search(r"(?im)^[ \t]*project[ \t]*\([ \t\n]*\"?([\w.+-]{1,100})", text)
    described = re.search(r"(?i)\bDESCRIPTION\s{1,4}\"([^\"\n]{1,300})\"", text)
    commands: list[tuple[Purpose, str]] = [
        ("build", "cmake -B build && cmake --build build"),
        ("test", "ctest --test-dir build"),
    ]
    return (project[1] if project else ""), (described[1] if described else ""), commands


def _mix(text: str, _: frozenset[str]) -> Said | None:
    app = re.search(r"\bapp:\s{0,4}:(\w{1,100})", text)
    described = re.search(r"(?:\bdescription:|@description)\s{1,40}\"([^\"\n]{1,300})\"", text)
    commands: list[tuple[Purpose, str]] = [("build", "mix compile"), ("test", "mix test")]
    return (app[1] if app else ""), (described[1] if described else ""), commands


def _gemfile(_: str, present: frozenset[str]) -> Said | None:
    tests: list[tuple[Purpose, str]] = []
    if ".rspec" in present:
        tests.append(("test", "bundle exec rspec"))
    elif "Rakefile" in present:
        tests.append(("test", "bundle exec rake test"))
    return "", "", tests


def _setup_cfg(text: str, present: frozenset[str]) -> Said | None:
    if "pyproject.toml" in present and re.search(r"(?m)^\[metadata\]", text) is None:
        return None
    name, description = (
        re.search(rf"(?m)^{key}[ \t]*=[ \t]*(\S.{{0,300}})$", text) for key in ("name", "description")
    )
    return (name[1] if name else ""), (description[1] if description else ""), ()


def _readme(text: str, _: frozenset[str]) -> Said | None:
    """Return the first paragraph that describes the project, skipping titles, badges and thanks."""
    for paragraph in re.split(r"\n[ \t]*\n", text[:README_CHARACTERS].replace("\r", "")):
        prose = _IMAGE.sub("", paragraph)
        prose = _LINK.sub(r"\1", re.sub(r"<[^>\n]{0,300}>", "", prose))
        line = " ".join(prose.split()).replace("**", "").replace("`", "")
        if line[:1].isalnum() and re.search(r" (?:is|are) (?:an?|the) ", line) and not line.endswith(":"):
            return "", line, ()
    return None


README_CHARACTERS = 8_000
"""Maximum characters of a README that are searched for a description, which is near the beginning."""
_IMAGE = re.compile(r"!\[[^\]\n]{0,300}\](?:\([^)\n]{0,500}\)|\[[^\]\n]{0,100}\])")
_LINK = re.compile(r"\[([^\]\n]{0,300})\](?:\([^)\n]{0,500}\)|\[[^\]\n]{0,100}\])")


MANIFESTS: Mapping[str, Reader] = {
    "Makefile": _make,
    "makefile": _make,
    "GNUmakefile": _make,
    "justfile": _just,
    "Justfile": _just,
    "pyproject.toml": _pyproject,
    "setup.cfg": _setup_cfg,
    "Cargo.toml": _cargo,
    "go.mod": _go,
    "pom.xml": _maven,
    "settings.gradle": _gradle,
    "settings.gradle.kts": _gradle,
    "build.gradle": _gradle,
    "build.gradle.kts": _gradle,
    "composer.json": _composer,
    "CMakeLists.txt": _cmake,
    "mix.exs": _mix,
    "package.json": _package_json,
    "deno.json": _deno,
    "Gemfile": _gemfile,
    "README.md": _readme,
    "README.rst": _readme,
    "README": _readme,
    "readme.md": _readme,
}
"""The manifests by file name with their parsers, in order of precedence. Commands meant to be typed, as in a
Makefile, come first. package.json comes after other languages' manifests: next to one of them it is often
only the frontend's."""


def _text(path: str, system: System) -> str:
    try:
        data, _ = system.read(path, MANIFEST_BYTES)
    except OSError:
        return ""  # an unreadable manifest is ignored; the tree still lists the file
    return data.decode("utf-8", "replace")


def _toml(text: str) -> Mapping[str, object]:
    # tomllib's time grows with the square of a dotted key's parts; no real manifest has such a key.
    if re.search(r"(?m)^[^=\n#\"']{0,400}(?:\.[^=\n.]{0,40}){9}", text):
        return {}
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}


def _json(text: str) -> Mapping[str, object]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _table(tables: Mapping[str, object], *keys: str) -> Mapping[str, object]:
    for key in keys:
        inner = tables.get(key)
        tables = inner if isinstance(inner, dict) else {}
    return tables


def _word(table: Mapping[str, object], key: str) -> str:
    value = table.get(key)
    return value if isinstance(value, str) else ""


def _element(text: str, tag: str) -> str:
    found = re.search(rf"<{tag}>([^<]{{1,600}})</{tag}>", text)
    return found[1] if found else ""


def _named(names: Iterable[str], prefix: str) -> Iterator[tuple[Purpose, str]]:
    """Yield the commands for scripts whose names have a known purpose."""
    for name in names:
        if purpose := _SCRIPT_PURPOSES.get(name):
            yield purpose, f"{prefix}{name}"


def _command_lines(said: Iterable[tuple[Purpose, str]]) -> tuple[ProjectCommand, ...]:
    return tuple(ProjectCommand(purpose, _plain(line)[:COMMAND_CHARACTERS]) for purpose, line in said)


def _plain(text: str) -> str:
    """Return a text on one line without control characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * TEXT_CHARACTERS]).split())
    return line if len(line) <= TEXT_CHARACTERS else f"{line[: TEXT_CHARACTERS - 1]}…"


LANGUAGES_MAX = 4
COMMANDS_MAX = 2
"""Maximum number of commands for each purpose."""
COMMITS_MAX = 3
SHARE_MIN = 0.02
"""Minimum share of the source files for a language to be named."""

CHECK_S = 0.5
"""Seconds between two checks of the manifests and the commit, which take 40 to 160 microseconds."""

NO_SOURCE = frozenset(
    {"", "markdown", "json", "yaml", "toml", "text", "xml", "ini", "csv", "gitignore", "restructuredtext"}
    | {"makefile", "dockerfile"}
)
"""Kinds of files that don't count among a project's languages."""


class ProjectMetadata(Struct, frozen=True):
    """A description of a project from its own files and git. All texts are single lines of plain text.

    `languages` are names with their share of the source files, 0 to 1, the largest first. `commits` are the
    latest, the latest first. `branch` is "" if no branch is checked out.
    """

    name: str
    description: str = ""
    languages: tuple[tuple[str, float], ...] = ()
    commands: tuple[ProjectCommand, ...] = ()
    branch: str = ""
    commits: tuple[git.LatestCommit, ...] = ()
    manifests: tuple[Manifest, ...] = ()
    """Where name, description and commands are from, in order of precedence."""

    def described_by(self, manifests: Sequence[Manifest], root: str) -> ProjectMetadata:
        """Return the metadata with name, description and commands of these manifests."""
        return replace(
            self,
            name=next((one.name for one in manifests if one.name), "") or os.path.basename(root),
            description=next((one.description for one in manifests if one.description), ""),
            commands=_commands(manifests),
            manifests=tuple(manifests),
        )


class MetadataKey(Struct, frozen=True):
    """A key for metadata: equal keys mean equal metadata. Computed with a few stats, without a process."""

    manifests: tuple[tuple[str, Stamp], ...]
    head: git.Head | None
    names_generation: int


class KnownMetadata:
    """The cached metadata of one project, with its key. On the event loop only."""

    def __init__(self, system: System) -> None:
        self.value: ProjectMetadata | None = None
        self.key: MetadataKey | None = None
        self.generation = 0
        """Incremented when the value changes."""
        self._system = system
        self._checked = 0.0

    def holds(self, tree: Tree, now: float) -> bool:
        """Whether the value is up to date; compared with the disk every `CHECK_S`, which takes a few stats.

        `now` is the event loop's time in seconds. A value that doesn't hold is compared at each call until it
        is replaced: a request asks twice, and only the second one reads it again.
        """
        if self.key is None:
            return False
        if now - self._checked < CHECK_S:
            return True
        if self.key != metadata_key(tree, self._system):
            return False
        self._checked = now
        return True

    def set(self, key: MetadataKey, value: ProjectMetadata) -> None:
        """Replace the value and its key."""
        self.generation += value != self.value
        self.key, self.value = key, value


def metadata_key(tree: Tree, system: System) -> MetadataKey:
    """Return the key for the metadata of a tree. Takes one stat for each manifest."""
    return MetadataKey(_manifests(tree, system), git.head(tree.root, system), tree.names_generation)


def read_metadata(tree: Tree, system: System) -> ProjectMetadata:
    """Read the metadata of a tree. Blocks for its manifests and for git; no content makes it raise."""
    manifests = read_manifests(tree.root, (name for name, _ in _manifests(tree, system)), system)
    head = git.head(tree.root, system)
    found = ProjectMetadata(
        "",
        languages=_languages(tree.files),
        branch=head.branch if head else "",
        commits=_commits(tree.root, system) if head and head.commit else (),
    )
    return found.described_by(manifests, tree.root)


def _manifests(tree: Tree, system: System) -> tuple[tuple[str, Stamp], ...]:
    """Return a tree's manifests with their stamps; those on the disk while no file of the tree is known."""
    found = []
    for name in MANIFESTS:
        if name in tree.files or not tree.files:
            try:
                found.append((name, stamp_of(system.stat(os.path.join(tree.root, name)))))
            except OSError:
                continue  # it doesn't exist, or was just removed, which the next tree shows
    return tuple(found)


def _languages(files: Mapping[str, FileRecord]) -> tuple[tuple[str, float], ...]:
    counts = Counter(record.language or language_of(path) for path, record in files.items())
    for kind in NO_SOURCE:
        counts.pop(kind, None)
    total = sum(counts.values())
    ranked = sorted(counts.items(), key=lambda count: (-count[1], count[0]))[:LANGUAGES_MAX]
    return tuple((name, round(count / total, 2)) for name, count in ranked if count >= SHARE_MIN * total)


def _commands(manifests: Iterable[Manifest]) -> tuple[ProjectCommand, ...]:
    """Return the first commands for each purpose; the manifests are given in order of precedence."""
    found = list(dict.fromkeys(command for manifest in manifests for command in manifest.commands))
    return tuple(
        command
        for purpose in PURPOSES
        for command in [command for command in found if command.purpose == purpose][:COMMANDS_MAX]
    )


def _commits(root: str, system: System) -> tuple[git.LatestCommit, ...]:
    try:
        return git.latest_commits(root, COMMITS_MAX)
    except git.GitError as error:
        system.deny(error.__cause__)
        return ()  # no git, or it rejects the repository, which the scan reports
