"""Discovery finds every kind of instruction file, says when each counts, and never leaves the project."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from foveal.daemon.core.globs import compile_glob
from foveal.daemon.core.system import System, stamp_of
from foveal.daemon.rules.instruction_files import RuleSet, discover
from foveal.daemon.rules.items import IncludeMode, Item


class Later(System):
    """A clock by which what a test has just written is old."""

    def time_ns(self) -> int:
        return super().time_ns() + 1_000_000_000


class Place:
    """A project, a home and a managed folder to fill, and what is discovered in them."""

    def __init__(self, folder: Path) -> None:
        self.root, self.home, self.managed = folder / "project", folder / "home", folder / "managed"
        for path in (self.root, self.home, self.managed):
            path.mkdir(parents=True)

    def write(self, files: dict[str, str | bytes]) -> None:
        """Write files of the project; `~/` and `!/` in front mean the home and the managed folder."""
        for name, content in files.items():
            path = self.path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def path(self, name: str) -> Path:
        bases = {"~/": self.home, "!/": self.managed}
        return bases[name[:2]] / name[2:] if name[:2] in bases else self.root / name

    def names(self) -> list[str]:
        return sorted(p.relative_to(self.root).as_posix() for p in self.root.rglob("*") if p.is_file())

    def discover(self, system: System | None = None) -> RuleSet:
        return discover(
            str(self.root), str(self.home), self.names(), system or Later(), managed=str(self.managed)
        )

    def items(self) -> dict[str, Item]:
        """Return the items by name; there must be no warning."""
        found = self.discover()
        assert found.warnings == ()
        return {item.name: item for item in found.items}

    def only(self) -> Item:
        (item,) = self.items().values()
        return item


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


ALWAYS: tuple[IncludeMode, tuple[str, ...]] = ("always", ())
MANUAL: tuple[IncludeMode, tuple[str, ...]] = ("manual", ())
AGENT: tuple[IncludeMode, tuple[str, ...]] = ("agent", ())


def glob(*globs: str) -> tuple[IncludeMode, tuple[str, ...]]:
    return "glob", globs


@pytest.mark.parametrize(
    ("path", "head", "mode"),
    [
        ("CLAUDE.md", "", ALWAYS),
        (".claude/CLAUDE.md", "", ALWAYS),
        ("CLAUDE.local.md", "", ALWAYS),
        ("~/.claude/CLAUDE.md", "", ALWAYS),
        ("!/CLAUDE.md", "", ALWAYS),
        ("web/CLAUDE.md", "", glob("web/**")),
        ("web/.claude/CLAUDE.md", "", glob("web/**")),
        ("web/a/CLAUDE.local.md", "", glob("web/a/**")),
        ("[id]/{x,y}/CLAUDE.md", "", glob(r"\[id\]/\{x\,y\}/**")),
        (".claude/rules/a.md", "", ALWAYS),
        (".claude/rules/a.md", "alwaysApply: false", ALWAYS),
        (".claude/rules/x/y/a.md", "paths: [src/**, '*.ts']", glob("src/**", "*.ts")),
        (".claude/rules/a.md", "paths: src/**, *.{ts,tsx}", glob("src/**", "*.{ts,tsx}")),
        (".claude/rules/a.md", "paths: '**'", ALWAYS),
        (".claude/rules/a.md", "paths: []", ALWAYS),
        ("~/.claude/rules/x/a.md", "paths:\n  - **/*.py", glob("**/*.py")),
        ("web/.claude/rules/a.md", "", glob("web/**")),
        (
            "web/.claude/rules/a.md",
            "paths: *.ts, src/*.js, lib/",
            glob("web/**/*.ts", "web/src/*.js", "web/lib/**"),
        ),
        ("AGENTS.md", "", ALWAYS),
        ("AGENTS.override.md", "", ALWAYS),
        (".claude/AGENTS.md", "", ALWAYS),
        ("~/.codex/AGENTS.md", "", ALWAYS),
        ("~/.codex/AGENTS.override.md", "", ALWAYS),
        ("web/AGENTS.md", "", glob("web/**")),
        ("web/AGENTS.override.md", "", glob("web/**")),
        (".cursor/rules/a.mdc", "alwaysApply: true", ALWAYS),
        (".cursor/rules/a.mdc", "alwaysApply: true\nglobs: *.ts\ndescription: d", ALWAYS),
        (".cursor/rules/a.mdc", "globs: *.ts,**/*.tsx\nalwaysApply: false", glob("*.ts", "**/*.tsx")),
        (".cursor/rules/a.mdc", "globs: *.ts\ndescription: d", glob("*.ts")),
        (".cursor/rules/a.mdc", "globs: **/*", ALWAYS),
        (".cursor/rules/a.mdc", "globs:\ndescription: d\nalwaysApply: false", AGENT),
        (".cursor/rules/a.mdc", "globs:\ndescription:\nalwaysApply: false", MANUAL),
        (".cursor/rules/a.mdc", "", MANUAL),
        (".cursor/rules/x/y/a.mdc", "alwaysApply: true", ALWAYS),
        ("web/.cursor/rules/a.mdc", "globs: *.ts, src/**", glob("web/**/*.ts", "web/src/**")),
        ("web/.cursor/rules/x/a.mdc", "alwaysApply: true", glob("web/**")),
        ("web/.cursor/rules/a.mdc", "globs: '**'", glob("web/**")),
        ("web/.cursor/rules/a.mdc", "description: d", AGENT),
        (".cursorrules", "", ALWAYS),
        (".github/copilot-instructions.md", "", ALWAYS),
        ("web/.github/copilot-instructions.md", "", glob("web/**")),
        (
            ".github/instructions/a.instructions.md",
            'applyTo: "**/*.ts,**/*.tsx"',
            glob("**/*.ts", "**/*.tsx"),
        ),
        (".github/instructions/x/a.instructions.md", "applyTo: **", ALWAYS),
        (".github/instructions/a.instructions.md", "", MANUAL),
        (".github/instructions/a.instructions.md", "description: d\nexcludeAgent: code-review", AGENT),
        ("~/.copilot/instructions/x/a.instructions.md", "applyTo: '*.py'", glob("*.py")),
        ("GEMINI.md", "", ALWAYS),
        ("~/.gemini/GEMINI.md", "", ALWAYS),
        ("web/GEMINI.md", "", glob("web/**")),
        (".windsurf/rules/a.md", "trigger: always_on", ALWAYS),
        (".windsurf/rules/a.md", "trigger: glob\nglobs: *.ts", glob("*.ts")),
        (".windsurf/rules/a.md", "trigger: model_decision\ndescription: d", AGENT),
        (".windsurf/rules/a.md", "trigger: manual\nglobs: *.ts", MANUAL),
        (".windsurf/rules/a.md", "globs: *.ts", glob("*.ts")),
        (".windsurf/rules/a.md", "other: x", MANUAL),
        (".windsurf/rules/a.md", "", ALWAYS),
        (".devin/rules/a.md", "trigger: glob\nglobs: *.ts", glob("*.ts")),
        ("web/.windsurf/rules/a.md", "trigger: always_on", glob("web/**")),
        (".windsurfrules", "", ALWAYS),
        ("~/.codeium/windsurf/memories/global_rules.md", "", ALWAYS),
        (".kiro/steering/a.md", "", ALWAYS),
        (".kiro/steering/a.md", "inclusion: always", ALWAYS),
        (".kiro/steering/a.md", "inclusion: fileMatch\nfileMatchPattern: '*.ts'", glob("*.ts")),
        (".kiro/steering/a.md", "inclusion: manual", MANUAL),
        (".cline/rules/a.md", "", ALWAYS),
        (".clinerules", "", ALWAYS),
        (".clinerules", "paths: ['*.ts']", glob("*.ts")),
        (".clinerules/01-a.md", "", ALWAYS),
        (".clinerules/01-a.md", "paths:\n- '*.ts'", glob("*.ts")),
        ("~/Documents/Cline/Rules/a.md", "", ALWAYS),
        (".claude/skills/pdf/SKILL.md", "name: pdf\ndescription: d", AGENT),
        ("~/.claude/skills/pdf/SKILL.md", "description: d", AGENT),
        (".agents/skills/pdf/SKILL.md", "description: d", AGENT),
        ("web/.claude/skills/pdf/SKILL.md", "description: d", AGENT),
    ],
)
def test_every_kind_of_file_counts_when_its_agent_says(
    place: Place, path: str, head: str, mode: tuple[IncludeMode, tuple[str, ...]]
) -> None:
    place.write({path: (f"---\n{head}\n---\n" if head else "") + "\nDo it.\n"})
    item = place.only()
    assert (item.include, item.globs) == mode
    assert (item.type, item.text, item.source) == ("rule", "Do it.", str(place.path(path)))
    assert item.name == path.replace("!/", f"{place.managed}/")
    assert item.description == ("d" if "description: d" in head else "")
    assert item.line == len(f"---\n{head}\n---\n".splitlines()) + 2 if head else item.line == 2
    assert item.stamp == stamp_of(place.path(path).stat())
    for pattern in item.globs:
        compile_glob(pattern)


def test_they_come_in_order_of_precedence(place: Place) -> None:
    files = [
        "!/CLAUDE.md",
        "~/.claude/CLAUDE.md",
        "~/.claude/rules/b.md",
        "~/.claude/rules/x/a.md",
        "~/.codex/AGENTS.md",
        "AGENTS.md",
        "CLAUDE.md",
        "GEMINI.md",
        ".claude/CLAUDE.md",
        ".claude/rules/10-a.md",
        ".claude/rules/20-b.md",
        ".claude/rules/a/0.md",
        ".cursor/rules/a.mdc",
        "CLAUDE.local.md",
        "a/AGENTS.md",
        "a/CLAUDE.md",
        "a/CLAUDE.local.md",
        "a/b/CLAUDE.md",
        "a-b/CLAUDE.md",
        "b/CLAUDE.md",
    ]
    expected = [name.replace("!/", f"{place.managed}/") for name in files]
    place.write({name: f"text of {name}" for name in reversed(files)})
    found = place.discover()
    assert [item.name for item in found.items] == expected
    levels = [item.priority_level for item in found.items]
    assert levels == sorted(levels)
    assert sorted(set(levels)) == [100, 200, 300, 350, 400]
    assert found.items == place.discover().items
    shuffled = discover(
        str(place.root), str(place.home), reversed(place.names()), System(), managed=str(place.managed)
    )
    assert shuffled.items == found.items


def test_an_override_stands_for_the_agents_file_beside_it_only(place: Place) -> None:
    place.write(
        {
            "AGENTS.md": "root",
            "a/AGENTS.md": "hidden",
            "a/AGENTS.override.md": "shown",
            "~/.codex/AGENTS.md": "hidden too",
            "~/.codex/AGENTS.override.md": "mine",
        }
    )
    assert [item.text for item in place.items().values()] == ["mine", "root", "shown"]


# The same twice


# Text


@pytest.mark.parametrize(
    ("files", "warning"),
    [
        ({"CLAUDE.md": "x" * (4 * 1024 * 1024 + 1)}, "CLAUDE.md: isn't read, since it exceeds 4194304 bytes"),
        ({"CLAUDE.md": b"a\0b"}, "CLAUDE.md: isn't text"),
    ],
)
def test_what_cannot_be_used_is_left_out_with_a_warning(
    place: Place, files: dict[str, str | bytes], warning: str
) -> None:
    place.write({**files, "AGENTS.md": "Do it."})
    found = place.discover()
    assert [item.name for item in found.items] == ["AGENTS.md"]
    assert [line[: len(warning)] for line in found.warnings] == [warning]


@pytest.mark.parametrize(
    ("path", "head", "mode", "warning"),
    [
        (".claude/rules/a.md", "paths: [x", ALWAYS, "its frontmatter is ignored, "),
        (".claude/rules/a.md", "a: &x b\npaths: *x", ALWAYS, "its frontmatter is ignored, it has an anchor"),
        (".cursor/rules/a.mdc", "globs: [x", MANUAL, "its frontmatter is ignored, "),
        (
            ".cursor/rules/a.mdc",
            "globs: !*.ts",
            MANUAL,
            "one of its globs is ignored: the glob '!*.ts' is negated",
        ),
        (".cursor/rules/a.mdc", "globs: !*.ts, *.js", glob("*.js"), "one of its globs is ignored: "),
        (".cursor/rules/a.mdc", f"globs: {'{a,b}' * 20}", MANUAL, "one of its globs is ignored: "),
        (".windsurf/rules/a.md", "trigger: glob", MANUAL, "it has no usable glob"),
    ],
)
def test_bad_frontmatter_is_as_none_with_a_warning(
    place: Place, path: str, head: str, mode: tuple[IncludeMode, tuple[str, ...]], warning: str
) -> None:
    place.write({path: f"---\n{head}\n---\nDo it."})
    found = place.discover()
    (item,) = found.items
    assert (item.include, item.globs, item.text) == (*mode, "Do it.")
    assert found.warnings[0].startswith(f"{path}: {warning}")


# Imports


def imported(place: Place, files: dict[str, str | bytes], name: str = "CLAUDE.md") -> tuple[str, list[str]]:
    place.write(files)
    found = place.discover()
    return next(item.text for item in found.items if item.name == name), list(found.warnings)


def test_no_import_in_code(place: Place) -> None:
    source = "`@a.md`\n\n```\n@a.md\n```"
    assert imported(place, {"CLAUDE.md": source, "a.md": "A"}) == (source, [])


def test_imports_that_multiply_are_bounded(place: Place) -> None:
    files: dict[str, str | bytes] = {f"{n}.md": "\n".join(f"@{m}.md" for m in range(60)) for n in range(60)}
    text, warnings = imported(place, {"CLAUDE.md": "\n".join(f"@{n}.md" for n in range(60)), **files})
    assert len(text) < 60 * 60 * 10
    assert len(warnings) == 101


def test_a_text_does_not_grow_beyond_the_limit_by_imports(place: Place) -> None:
    files: dict[str, str | bytes] = {f"{n}.md": f"{n}" * 1_500_000 for n in range(4)}
    text, warnings = imported(place, {"CLAUDE.md": "@0.md\n@1.md\n@2.md\n@3.md", **files})
    assert len(text) < 4 * 1024 * 1024
    assert text.endswith("@2.md\n@3.md")
    assert len(warnings) == 2


OUTSIDE = """
../../etc/passwd /etc/passwd ../secret.md ~/secret.md docs/../../secret.md link.md folder/x.md chain.md
dots.md .git/config git/config / ../ ~
"""


@pytest.mark.parametrize("target", OUTSIDE.split())
def test_a_project_imports_nothing_from_outside(place: Place, target: str) -> None:
    place.write({"~/secret.md": "SECRET", "docs/x.md": "x", ".git/config": "SECRET"})
    (place.root.parent / "secret.md").write_text("SECRET")
    (place.root / "link.md").symlink_to(place.home / "secret.md")
    (place.root / "chain.md").symlink_to("link.md")
    (place.root / "dots.md").symlink_to("docs/../../secret.md")
    (place.root / "folder").symlink_to(place.root.parent)
    (place.root / "git").symlink_to(".git")
    text, warnings = imported(place, {"CLAUDE.md": f"x\n@{target}\ny"})
    assert text == f"x\n@{target}\ny"
    assert [warning.partition(" leads ")[0] for warning in warnings] == [f"CLAUDE.md: the import @{target}"]


# Files that are links, and files that are none


def outside(place: Place, link: Path) -> None:
    (place.root.parent / "rules").mkdir()
    for name in ("x.md", "x.mdc"):
        (place.root.parent / "rules" / name).write_text("SECRET")
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(
        place.root.parent / "rules" if link.suffix == "" else place.root.parent / "rules" / "x.md"
    )


LINKS = """
CLAUDE.md .claude/CLAUDE.md .cursor/rules .claude/rules/x .claude/rules/x.md .clinerules web/AGENTS.md
"""


@pytest.mark.parametrize("link", LINKS.split())
def test_a_projects_file_is_no_link_to_outside(place: Place, link: str) -> None:
    outside(place, place.root / link)
    found = place.discover()
    assert found.items == ()
    assert found.warnings
    assert {warning.partition(": leads out of ")[0] for warning in found.warnings} == {link}


def test_paths_outside_the_zone_are_never_looked_at(place: Place) -> None:
    class Watching(Later):
        def __init__(self) -> None:
            self.seen: list[str] = []

        def lstat(self, path: str) -> os.stat_result:
            self.seen.append(path)
            return super().lstat(path)

        def stat(self, path: str) -> os.stat_result:
            raise AssertionError(path)  # it would follow links

    outside(place, place.root / "CLAUDE.md")
    place.write({"GEMINI.md": "@/net/evil/x.md @../rules/x.md", "~/.claude/CLAUDE.md": "Mine."})
    (place.root / "AGENTS.md").symlink_to("/net/evil/share")
    system = Watching()
    assert place.discover(system).unchanged(system)
    inside = (str(place.root), str(place.home), str(place.managed))
    assert [path for path in system.seen if not path.startswith(inside)] == []


class Failing(System):
    """Refuses what one path names, as a system does for another user's files."""

    def __init__(self, path: Path, error: type[OSError] = PermissionError) -> None:
        self._path = str(path)
        self._error = error

    def _check(self, path: str) -> None:
        if path == self._path:
            raise self._error(13, "Permission denied")

    def read(self, path: str, limit: int | None = None) -> tuple[bytes, os.stat_result]:
        self._check(path)
        return super().read(path, limit)

    @contextmanager
    def scandir(self, path: str) -> Iterator[Iterator[os.DirEntry[str]]]:
        self._check(path)
        with super().scandir(path) as entries:
            yield entries


def test_a_file_that_goes_while_it_is_read_is_nothing(place: Place) -> None:
    place.write({"CLAUDE.md": "C", "AGENTS.md": "A"})
    found = place.discover(Failing(place.root / "CLAUDE.md", FileNotFoundError))
    assert ([item.text for item in found.items], found.warnings) == (["A"], ())
    assert not found.unchanged(System())


# Probes


def turn_link(place: Place) -> None:
    (place.root / "GEMINI.md").unlink()
    (place.root / "GEMINI.md").symlink_to("docs/a.md")


def replace_link(place: Place) -> None:
    (place.root / ".clinerules").unlink()
    place.write({".clinerules": "x"})


CHANGES: dict[str, Callable[[Place], None]] = {
    "a file changes": lambda place: place.write({"CLAUDE.md": "Else."}),
    "an imported file changes": lambda place: place.write({"docs/a.md": "B"}),
    "the target of a link changes": lambda place: place.write({"docs/g.md": "H"}),
    "a link is turned": turn_link,
    "a nested file changes": lambda place: place.write({"web/AGENTS.md": "Else."}),
    "a file is deleted": lambda place: (place.root / "CLAUDE.md").unlink(),
    "a nested file is deleted": lambda place: (place.root / "web/AGENTS.md").unlink(),
    "a file comes": lambda place: place.write({"CLAUDE.local.md": "x"}),
    "a file comes in a new folder": lambda place: place.write({".github/copilot-instructions.md": "x"}),
    "a rule comes": lambda place: place.write({".cursor/rules/b.mdc": "x"}),
    "a rule comes in a subfolder": lambda place: place.write({".cursor/rules/x/b.mdc": "x"}),
    "a skill comes": lambda place: place.write({".claude/skills/x/SKILL.md": "x"}),
    "an override comes": lambda place: place.write({"AGENTS.override.md": "x"}),
    "a missing import comes": lambda place: place.write({"docs/gone": "x"}),
    "a user's file comes": lambda place: place.write({"~/.codex/AGENTS.md": "x"}),
    "a managed file comes": lambda place: place.write({"!/CLAUDE.md": "x"}),
    "an empty file is filled": lambda place: place.write({".cursorrules": "x"}),
    "a file that was too large shrinks": lambda place: place.write({".windsurfrules": "x"}),
    "a refused link becomes a file": replace_link,
}


def fill(place: Place) -> None:
    place.write(
        {
            "CLAUDE.md": "@docs/a.md @docs/gone",
            "docs/a.md": "A",
            "docs/g.md": "G",
            "web/AGENTS.md": "W",
            ".cursor/rules/x/a.mdc": "R",
            ".cursorrules": "",
            ".windsurfrules": "x" * (4 * 1024 * 1024 + 1),
            "~/.claude/CLAUDE.md": "Mine.",
        }
    )
    (place.root / "GEMINI.md").symlink_to("docs/g.md")
    (place.root / ".clinerules").symlink_to("/etc/passwd")


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_any_change_shows(place: Place, change: Callable[[Place], None]) -> None:
    fill(place)
    found = place.discover()
    assert found.unchanged(System())
    change(place)
    assert not found.unchanged(System())
    again = place.discover()
    assert again != found
    assert again.unchanged(System())


class Frozen(System):
    """Gives every file one stamp, as a file system does whose clock hasn't ticked between two writes."""

    def __init__(self, tick_ns: int, now_ns: int) -> None:
        self._tick_ns = tick_ns
        self._now_ns = now_ns

    def time_ns(self) -> int:
        return self._now_ns

    def _stopped(self, status: os.stat_result) -> os.stat_result:
        times = dict.fromkeys(("st_atime_ns", "st_mtime_ns", "st_ctime_ns"), self._tick_ns)
        return os.stat_result(tuple(status), {**times, "st_ino": 1})

    def lstat(self, path: str) -> os.stat_result:
        return self._stopped(super().lstat(path))

    def read(self, path: str, limit: int | None = None) -> tuple[bytes, os.stat_result]:
        data, status = super().read(path, limit)
        return data, self._stopped(status)


def test_what_changed_within_one_tick_of_the_clock_is_read_again(place: Place) -> None:
    place.write({"CLAUDE.md": "@docs/a.md", "docs/a.md": "A"})
    for now_ns, holds in ((1_000_000_001, False), (2_000_000_000, True)):
        system = Frozen(1_000_000_000, now_ns)
        assert place.discover(system).unchanged(system) is holds


def test_many_names_and_many_files_are_bounded(place: Place) -> None:
    place.write({f"p{n}/CLAUDE.md": f"{n}" for n in range(2010)})
    names = [f"docs/{n}/README.md" for n in range(100_000)] + place.names()
    found = discover(str(place.root), str(place.home), names, System(), managed=None)
    assert len(found.items) == 2000
    assert "only the first 2000" in found.warnings[0]
