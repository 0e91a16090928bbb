"""Reads the settings of a project, or the last valid ones, and the projects that it links with the rules
for agents there."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import replace

from msgspec import Struct, structs

from ..config.files import LoadedConfig, load_or_last, load_project_config
from ..config.linked import LinkedProject, ProjectLinks, at_home
from ..config.settings import Environment, ProjectConfig, UserConfig
from ..core.confined_folder import stamp_now
from ..core.errors import ConfigError, InvalidRequest
from ..core.system import Stamp, System
from ..privacy.policy import LinkedTables
from ..privacy.trust import PROJECT_FILE
from ..project.service import find_root, project_folder

LAST_CONFIG = "foveal.last.toml"

LINKED_MAX = 8
"""Maximum number of projects that one links; each question is asked in all of them."""


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
    """The linked projects with their tables, why others can't be linked, and the stamps of the files that
    decided it: when one differs, the links must be read again."""

    projects: tuple[LinkedProject, ...] = ()
    tables: tuple[LinkedTables, ...] = ()
    problems: tuple[str, ...] = ()
    stamps: tuple[tuple[str, Stamp | None], ...] = ()

    def applied(self, loaded: LoadedConfig[ProjectConfig]) -> LoadedConfig[ProjectConfig]:
        """Return a project's settings with these links, and the problems among the warnings."""
        if not self.projects and not self.problems:
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
        whether the user trusts its own file, which then may name any folder."""
        home = self._environment.home
        users = tuple(self._user.linked.named_for(root, home))
        wanted = [*((name, True) for name in users), *((name, trusted) for name in config.linked.names)]
        if not wanted:
            return NO_LINKS
        found: dict[str, LinkedTables] = {}
        problems: list[str] = []
        stamps: dict[str, Stamp | None] = {}
        for name, allowed in wanted:
            folder = os.path.join(root, at_home(name, home))
            try:
                other = find_root(folder, home, known)
            except InvalidRequest as error:
                stamps[folder] = stamp_now(self._system, folder)
                problems.append(f"{name} can't be linked: {error}")
                continue
            if other == root or other in found:
                continue
            problem = self._why_not(root, folder, other, allowed=allowed)
            if not problem and len(found) == LINKED_MAX:
                problem = f"at most {LINKED_MAX} projects are linked"
            if not problem:
                file = os.path.join(other, PROJECT_FILE)
                stamps[file] = stamp_now(self._system, file)
                try:
                    loaded, _ = read_settings(other, self._folder_of(other), self._user, self._system)
                    found[other] = LinkedTables(os.path.relpath(other, root), other, loaded.config.agents)
                except ConfigError as error:
                    problem = str(error)
            if problem:
                problems.append(f"{name} can't be linked: {problem}")
        tables = tuple(found.values())
        return Links(tuple(_named(root, tables)), tables, tuple(problems), tuple(stamps.items()))

    def _why_not(self, root: str, folder: str, other: str, *, allowed: bool) -> str:
        """Return why a project can't be linked, "" if it can."""
        if os.path.realpath(folder) != other:
            return f"it lies in the project {other}: name that"
        if f"{root}/".startswith(f"{other}/") or f"{other}/".startswith(f"{root}/"):
            return "one of the two lies in the other"
        if not allowed and not self._user.linked.allows(other, self._environment.home):
            return (
                f"the user hasn't allowed it. Look at {PROJECT_FILE}, then run foveal trust, or name it in"
                f" linked.allow in {self._environment.config_path}"
            )
        return ""

    def _folder_of(self, root: str) -> str:
        return project_folder(self._environment.state_dir, root)


def _named(root: str, tables: Collection[LinkedTables]) -> Iterator[LinkedProject]:
    """Yield the linked projects with names; folders of one name have their paths instead."""
    names = Counter(os.path.basename(path) for path in (root, *(each.root for each in tables)))
    for each in tables:
        name = os.path.basename(each.root)
        yield LinkedProject(name if names[name] == 1 else each.prefix, each.prefix, each.root)
