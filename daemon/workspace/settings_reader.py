"""Reads the settings of a project, or the last valid ones, and the projects that it links with the rules
for agents there."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import replace

from msgspec import Struct, structs

from ..config.files import LoadedConfig, load_or_last, load_project_config
from ..config.linked import LinkedProject, ProjectLinks, at_home
from ..config.settings import Environment, ProjectConfig, UserConfig
from ..core.confined_folder import stamp_now
from ..core.errors import ConfigError, InvalidRequest
from ..core.system import Stamp, System
from ..privacy.policy import AgentTable, AgentTables, LinkedTables
from ..privacy.trust import PROJECT_FILE
from ..project.records import LAST_CONFIG
from ..project.service import find_root, project_folder, roots_linked, write_record

LINKED_MAX = 8
"""Maximum number of projects that one links; each question is asked in all of them."""

EVER_LINKED_MAX = 64
"""Maximum number of projects that one links in the course of time; all their rules are read."""

CLOSED = AgentTables(project=(AgentTable("*", allow=False),))
"""The tables of a project whose own can't be read."""


def read_settings(
    root: str, folder: str, user: UserConfig, system: System
) -> tuple[LoadedConfig[ProjectConfig], str]:
    """Read foveal.toml, or, if it can't be used, the copy of the last valid one; see `load_or_last`."""
    return load_or_last(
        lambda path: load_project_config(root, user, system, path),
        os.path.join(root, PROJECT_FILE),
        os.path.join(folder, LAST_CONFIG),
        system,
    )


class Links(Struct, frozen=True):
    """The linked projects, the tables of these and of those that were linked before, since what was recorded
    then stays, why others can't be linked, and the stamps of the files that decided it: when one differs, the
    links must be read again."""

    projects: tuple[LinkedProject, ...] = ()
    tables: tuple[LinkedTables, ...] = ()
    problems: tuple[str, ...] = ()
    stamps: tuple[tuple[str, Stamp | None], ...] = ()

    def applied(self, loaded: LoadedConfig[ProjectConfig]) -> LoadedConfig[ProjectConfig]:
        """Return a project's settings with these links, and the problems among the warnings."""
        if not self.tables and not self.problems:
            return loaded
        agents = structs.replace(loaded.config.agents, linked=self.tables)
        linked = ProjectLinks(loaded.config.linked.names, self.projects)
        config = replace(loaded.config, agents=agents, linked=linked)
        return structs.replace(loaded, config=config, warnings=(*loaded.warnings, *self.problems))


NO_LINKS = Links()


class LinkFinder:
    """Finds links by the user's settings. Blocks: for threads."""

    def __init__(self, environment: Environment, user: UserConfig, system: System) -> None:
        self._environment = environment
        self._user = user
        self._system = system

    def find(self, root: str, config: ProjectConfig, known: Collection[str], *, trusted: bool) -> Links:
        """Return the links of a project. `known` are the roots that were open before, and `trusted` says
        whether the user trusts its own file, which then may name any folder.

        Each root that a project links is kept in its record, and from then on its rules are among the tables.
        """
        home = self._environment.home
        users = tuple(self._user.linked.named_for(root, home))
        wanted = [*((name, True) for name in users), *((name, False) for name in config.linked.names)]
        before = roots_linked(self._folder_of(root), self._system)
        if not wanted and not before:
            return NO_LINKS
        found: dict[str, LinkedTables] = {}
        problems: list[str] = []
        stamps: dict[str, Stamp | None] = {}
        for name, is_users in wanted:
            folder = os.path.join(root, at_home(name, home))
            try:
                other = find_root(folder, home, known)
            except InvalidRequest as error:
                stamps[folder] = stamp_now(self._system, folder)
                problems.append(f"{at_home(name, home)} can't be linked: {error}")
                continue
            if other == root or other in found:
                continue
            problem = self._why_not(root, folder, other, is_users=is_users, trusted=trusted)
            if not problem and len(found) == LINKED_MAX:
                problem = f"at most {LINKED_MAX} projects are linked"
            if not problem:
                try:
                    tables = self._tables(root, other, stamps)
                    if before is not None and other not in before:
                        before = self._remember(root, other, before)
                    found[other] = tables
                except (ConfigError, OSError) as error:
                    problem = str(error)
            if problem:
                problems.append(f"{at_home(name, home)} can't be linked: {problem}")
        projects = tuple(_named(root, found.values()))
        former = (
            self._former_tables(root, other, stamps) for other in sorted((before or set()) - found.keys())
        )
        return Links(projects, (*found.values(), *former), tuple(problems), tuple(stamps.items()))

    def _tables(self, root: str, other: str, stamps: dict[str, Stamp | None]) -> LinkedTables:
        file = os.path.join(other, PROJECT_FILE)
        stamps[file] = stamp_now(self._system, file)
        loaded, _ = read_settings(other, self._folder_of(other), self._user, self._system)
        return LinkedTables(os.path.relpath(other, root), other, loaded.config.agents)

    def _former_tables(self, root: str, other: str, stamps: dict[str, Stamp | None]) -> LinkedTables:
        if os.path.isdir(other):
            with suppress(ConfigError, OSError):
                return self._tables(root, other, stamps)
        else:
            stamps[other] = stamp_now(self._system, other)
        return LinkedTables(os.path.relpath(other, root), other, CLOSED)

    def _remember(self, root: str, other: str, before: frozenset[str]) -> frozenset[str]:
        """Keep in a project's record that it links another one. Raises `ConfigError` and `OSError`: it isn't
        linked then, since nobody would know later whose rules hold for what was recorded."""
        if len(before) >= EVER_LINKED_MAX:
            raise ConfigError(f"{root} linked {EVER_LINKED_MAX} projects already, run foveal forget {root}")
        write_record(root, self._folder_of(root), self._system, linked=(other,))
        return before | {other}

    def _why_not(self, root: str, folder: str, other: str, *, is_users: bool, trusted: bool) -> str:
        """Return why a project can't be linked, "" if it can."""
        if os.path.realpath(folder) != other:
            return f"it lies in the project {other}: name that"
        if f"{root}/".startswith(f"{other}/") or f"{other}/".startswith(f"{root}/"):
            return "one of the two lies in the other"
        if is_users or self._user.linked.allows(other, self._environment.home):
            return ""
        if not trusted:
            return (
                f"the user hasn't allowed it. Look at {PROJECT_FILE}, then run foveal trust, or name it in"
                f" linked.allow in {self._environment.config_path}"
            )
        if os.path.normpath(folder) != other:  # trust covers what the file says, not where a symlink leads
            return f"a symlink leads from there to {other}: name that"
        return ""

    def _folder_of(self, root: str) -> str:
        return project_folder(self._environment.state_dir, root)


def _named(root: str, tables: Collection[LinkedTables]) -> Iterator[LinkedProject]:
    """Yield the linked projects with names; folders of one name have their paths instead."""
    names = Counter(os.path.basename(path) for path in (root, *(each.root for each in tables)))
    for each in tables:
        name = os.path.basename(each.root)
        yield LinkedProject(name if names[name] == 1 else each.prefix, each.prefix, each.root)
