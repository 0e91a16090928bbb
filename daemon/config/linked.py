"""Which other projects a project's questions reach: `[linked]` in config.toml, `linked` in foveal.toml."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from ..core.errors import InvalidRequest
from ..core.globs import compile_glob, escape_glob

ALLOW = "allow"
"""The key of `[linked]` that isn't a project's path."""

NAMES_MAX = 100
"""Maximum number of keys in `[linked]`, and of strings in each list."""

NAME_CHARACTERS_MAX = 1_000


class LinkedProject(Struct, frozen=True):
    """A project that another one links. `name` is that of its folder, made unique among all links, and
    `prefix` leads to its `root` from the root of the other one: `../api`."""

    name: str
    prefix: str
    root: str

    @classmethod
    def seen_from(cls, own: str, root: str) -> LinkedProject:
        """Return the project with a root, as that with the root `own` sees it."""
        return cls(os.path.basename(root), os.path.relpath(root, own), root)


class ProjectLinks(Struct, frozen=True):
    """What a project links: the folders that its own file `names`, and the `projects` that are linked."""

    names: tuple[str, ...] = ()
    projects: tuple[LinkedProject, ...] = ()


class LinkedConfig(Struct, frozen=True):
    """`[linked]` of the user's file: globs of the folders that projects' own files may name, and for globs
    of roots the folders that the user links there. A `~` stands for the home folder, and symlinks before
    the first wildcard are resolved."""

    allow: tuple[str, ...] = ()
    projects: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def named_for(self, root: str, home: str) -> Iterator[str]:
        """Yield the folders that the user links to a project, as written."""
        for pattern, names in self.projects:
            if _matches((pattern,), root, home):
                yield from names

    def allows(self, root: str, home: str) -> bool:
        """Whether projects' own files may link the project with this root."""
        return _matches(self.allow, root, home)


def parse_user_links(content: object) -> LinkedConfig:
    """Read `[linked]` of the user's file. Raises `InvalidRequest` with the unusable field."""
    if not isinstance(content, Mapping) or len(content) > NAMES_MAX:
        raise InvalidRequest(f"linked must be a table of at most {NAMES_MAX} projects' paths", "linked")
    lists = {name: parse_links(value, f"linked.{name}") for name, value in content.items()}
    allow = lists.pop(ALLOW, ())
    for pattern in (*allow, *lists):
        if not pattern.startswith(("/", "~/")):
            raise InvalidRequest(f"linked: {pattern!r:.80} must be absolute or begin with ~/", "linked")
        try:
            compile_glob(pattern)
        except ValueError as error:
            raise InvalidRequest(f"linked: {error}", "linked") from error
    return LinkedConfig(allow, tuple(lists.items()))


def parse_links(content: object, field: str = "linked") -> tuple[str, ...]:
    """Read a list of folders. Raises `InvalidRequest` with the field."""
    if (
        not isinstance(content, list)
        or len(content) > NAMES_MAX
        or not all(isinstance(name, str) and _is_path(name) for name in content)
    ):
        raise InvalidRequest(f"{field} must be a list of at most {NAMES_MAX} folders, as strings", field)
    return tuple(dict.fromkeys(content))


def at_home(path: str, home: str) -> str:
    """Return a path with the home folder in place of a leading `~`."""
    return os.path.join(home, path[2:]) if path.startswith("~/") else path


def _is_path(name: str) -> bool:
    return 0 < len(name) <= NAME_CHARACTERS_MAX and name.isprintable()


def _matches(patterns: Iterable[str], root: str, home: str) -> bool:
    """Whether a root, with symlinks resolved, matches one of some globs."""
    for pattern in patterns:
        parts = at_home(pattern, home).split("/")
        fixed = next((at for at, part in enumerate(parts) if _WILDCARD.search(part)), len(parts))
        resolved = escape_glob(os.path.realpath("/".join(parts[:fixed]) or "/"))
        if compile_glob(os.path.join(resolved, *parts[fixed:])).matches(root.lstrip("/")):
            return True
    return False


_WILDCARD = re.compile(r"[*?\[{]")
