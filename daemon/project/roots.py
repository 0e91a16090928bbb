"""A project's identity: its root, paths inside it, and its own folder in the state folder."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import threading
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from msgspec import Struct, convert
from msgspec.structs import asdict, replace

from ..core.errors import InvalidRequest, NewerVersion, OutsideProject, refuse_newer
from ..core.quarantine import clear_file, clear_folder, clear_own_file, quarantine
from ..core.system import System
from ..core.vocabulary import words
from . import git

MANIFESTS = words(
    "BUILD.bazel CMakeLists.txt Cargo.toml Gemfile MODULE.bazel Makefile.PL Package.swift Pipfile",
    "Project.toml WORKSPACE build.gradle build.gradle.kts build.sbt build.zig composer.json configure.ac",
    "deno.json dune-project go.mod go.work meson.build mix.exs package.json pnpm-workspace.yaml pom.xml",
    "project.clj pubspec.yaml pyproject.toml rebar.config setup.py stack.yaml",
)
"""Names of build manifests: files that only a buildable project has in its root."""

MANIFEST_ENDINGS = (".cabal", ".csproj", ".fsproj", ".gemspec", ".sln", ".slnx", ".xcodeproj")
"""Endings of manifests that are named after the project."""

MAX_PATH_BYTES = 4096
"""Maximum bytes of a path: Linux's PATH_MAX, above which system calls fail."""

MAX_MANIFEST_ENTRIES = 10_000
"""Maximum entries of a folder that are searched for a `MANIFEST_ENDINGS` name; a project's root has a few
dozen."""

UNMARKED_ENTRIES_MAX = 5_000
"""Maximum number of files and folders below a folder without a repository or a manifest that becomes a
project without being named explicitly. Folders of notes and scripts have fewer. Folders of caches, downloads
or temporary files have more, and indexing them would slow down real projects."""

TEMPORARY_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - recognized, never written to
"""Folders for everybody's temporary files, besides that of this process's environment."""


SYSTEM_FOLDERS = (
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/proc", "/run", "/sbin",
    "/snap", "/sys", "/usr", "/var",
    "/Applications", "/Library", "/System", "/private/etc", "/private/var",
)  # fmt: skip
"""Folders of the system. They never become projects without being named explicitly, what lies in them only
with a repository."""

SOURCE_FOLDERS = ("/usr/src", "/usr/local/src")
"""Folders of a system in which people keep sources, such as the ones of a container."""

SECRET_FOLDERS = words(".aws .azure .docker .gnupg .kube .password-store .ssh")
"""Folders in a home folder that hold keys, which may be a repository all the same."""


def find_root(cwd: str, home: str, known: Collection[str] = ()) -> str:
    """Return the root of the project that the folder or file `cwd` belongs to, absolute, symlinks resolved.

    It is the nearest folder upwards with a `.foveal` folder, else the nearest with a `.git` file or folder
    (whatever git thinks of it), else the topmost one strictly below `home` with a build manifest, else the
    nearest of the `known` roots, else the folder itself. `known` are the roots that were opened before.
    Raises `InvalidRequest` for a `cwd` that can't be used, and for a root that must be opened by name unless
    it is `known`: `/`, `home`, a temporary folder, a folder of the system or one in that without a
    repository, a folder of keys, a hidden folder of the home folder that nothing marks as a project, and
    without a mark too, a folder that contains one of these or is large.
    """
    folder = _existing_folder(cwd, "cwd")
    home = os.path.realpath(home) if home else ""
    root = _choose_root(folder, home, known)
    what = "" if root in known else _why_not_unasked(root, home)
    if what:
        raise InvalidRequest(
            f"the project of {cwd} would be {root}, {what}. Run from inside a project, make a .foveal folder "
            f"in the one you mean, or open this one by name: foveal open {root}",
            "cwd",
        )
    return root


def is_temporary(root: str) -> bool:
    """Whether a resolved folder is one for temporary files."""
    return root in _temporary_folders()


def check_named_root(path: str) -> str:
    """Return the resolved absolute path of a folder that the user named as a project, which may be any."""
    resolved = _resolve(path, "path")
    if not _is_folder(resolved):
        raise InvalidRequest(f"{path} is not a folder: name the project's root folder", "path")
    return resolved


def relative_path(root: str, given: str, field: str = "path") -> str:
    """Return a caller's path as a POSIX path relative to `root`, symlinks resolved; the root itself is "".

    `given` is relative to `root` or absolute. It need not exist. `..` is fine as long as the path stays
    inside. Raises `InvalidRequest` with `field` for one that is empty, has a NUL, can't be a path, or lies
    outside of the root, be it through a symlink.
    """
    _check_text(given, field)
    try:
        base = os.path.realpath(root)
        resolved = os.path.realpath(os.path.join(base, given))
    except (OSError, ValueError) as error:
        raise InvalidRequest(f"{given!r:.200} can't be a path: {error}", field) from error
    if resolved == base:
        return ""
    inside = os.path.join(base, "")
    if not resolved.startswith(inside):
        raise OutsideProject(f"{given:.200} lies outside of the project {root}", field)
    relative = resolved[len(inside) :]
    _check_text(relative, field)
    return relative


def resolved(path: str) -> tuple[str, bool]:
    """Return a path with its symlinks resolved, and whether it is a folder; it need not exist.

    Raises `InvalidRequest` for one that is relative or can't be a path.
    """
    _check_text(path, "path")
    if not os.path.isabs(path):
        raise InvalidRequest(
            f"{path!r} is relative: the daemon has another current folder, send it absolute", "path"
        )
    found = os.path.realpath(path)
    return found, _is_folder(found)


def _choose_root(folder: str, home: str, known: Collection[str]) -> str:
    ancestors = list(_upwards(folder))
    for marked in (_has_foveal, _has_git):
        for ancestor in ancestors:
            if marked(ancestor):
                return ancestor
    if home:
        below = os.path.join(home, "")
        built = [ancestor for ancestor in ancestors if ancestor.startswith(below) and _has_manifest(ancestor)]
        if built:
            return built[-1]
    return next((ancestor for ancestor in ancestors if ancestor in known), folder)


def _why_not_unasked(root: str, home: str) -> str:
    """Return why a root must not become a project unless it is named explicitly, in words; "" if it may."""
    if root == os.path.sep:
        return "the whole file system"
    if root == home:
        return "your whole home folder"
    if is_temporary(root):
        return "the folder for temporary files"
    if _has_foveal(root):
        return ""
    below_home = _parts_below(root, home)
    if not below_home and (why := _why_not_of_system(root)):
        return why
    if below_home and below_home[0] in SECRET_FOLDERS:
        return "a folder of keys"
    if _has_git(root) or _has_manifest(root):
        return ""  # also one that holds such a folder, as where tests have a home of their own
    if below_home and below_home[0].startswith("."):
        return "a hidden folder of your home folder"
    if any(root in _upwards(folder) for folder in (home, *_temporary_folders()) if folder):
        return "a folder of home folders or temporary files"
    if _is_large(root):
        return f"more than {UNMARKED_ENTRIES_MAX:,} files without a repository or a build manifest"
    return ""


def _why_not_of_system(root: str) -> str:
    """Return why a root outside of the home folder is a folder of the system that may be no project, "" if it
    may."""
    own = (*_temporary_folders(), *map(os.path.realpath, SOURCE_FOLDERS))
    if any(_parts_below(root, folder) for folder in own):
        return ""
    for folder in map(os.path.realpath, SYSTEM_FOLDERS):
        if root == folder or (_parts_below(root, folder) and not _has_git(root)):
            return "a folder of the system"
    return ""


def _parts_below(path: str, folder: str) -> list[str]:
    """Return the names that lead from a folder to a path below it; none for any other path."""
    inside = os.path.join(folder, "")
    return path[len(inside) :].split(os.path.sep) if folder and path.startswith(inside) else []


def _temporary_folders() -> set[str]:
    # tempfile.gettempdir() knows them too, but tries each by writing a file into it.
    own = [folder for name in ("TMPDIR", "TEMP", "TMP") if os.path.isabs(folder := os.environ.get(name, ""))]
    return {os.path.realpath(folder) for folder in (*own, *TEMPORARY_FOLDERS)}


def _is_large(folder: str) -> bool:
    """Whether more than `UNMARKED_ENTRIES_MAX` entries lie below a folder; counting stops there."""
    count, pending = 0, [folder]
    while pending and count <= UNMARKED_ENTRIES_MAX:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    count += 1
                    if count > UNMARKED_ENTRIES_MAX:
                        break
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
        except OSError:
            continue  # a folder that can't be listed isn't indexed either
    return count > UNMARKED_ENTRIES_MAX


def _upwards(folder: str) -> Iterator[str]:
    while True:
        yield folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def _has_foveal(folder: str) -> bool:
    return _is_folder(os.path.join(folder, ".foveal"))


def _has_git(folder: str) -> bool:
    try:
        mode = os.stat(os.path.join(folder, ".git")).st_mode
    except OSError:
        return False
    return stat.S_ISDIR(mode) or stat.S_ISREG(mode)


def _has_manifest(folder: str) -> bool:
    """Whether a folder has a build manifest; False for a folder that can't be listed."""
    if any(os.path.isfile(os.path.join(folder, name)) for name in MANIFESTS):
        return True
    try:
        with os.scandir(folder) as entries:
            return any(
                entry.name.endswith(MANIFEST_ENDINGS)
                for entry, _ in zip(entries, range(MAX_MANIFEST_ENTRIES), strict=False)
            )
    except OSError:
        return False


def _existing_folder(path: str, field: str) -> str:
    resolved = _resolve(path, field)
    return resolved if _is_folder(resolved) else os.path.dirname(resolved)


def _resolve(path: str, field: str) -> str:
    _check_text(path, field)
    if not os.path.isabs(path):
        raise InvalidRequest(
            f"{path!r} is relative: the daemon has another current folder, send it absolute", field
        )
    try:
        return os.path.realpath(path, strict=True)
    except FileNotFoundError as error:
        raise InvalidRequest(f"{path} doesn't exist", field) from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InvalidRequest(f"{path!r} can't be used: {reason}", field) from error


def _check_text(path: str, field: str) -> None:
    if not path:
        raise InvalidRequest(f"{field} is empty: send a path", field)
    if "\0" in path:
        raise InvalidRequest(f"{field} has a NUL character in it, which no path can have", field)
    try:
        size = len(path.encode())
    except UnicodeEncodeError as error:
        raise InvalidRequest(f"{field} is not valid Unicode", field) from error
    if size > MAX_PATH_BYTES:
        raise InvalidRequest(f"{field} is {size} bytes long, a path has at most {MAX_PATH_BYTES}", field)


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except OSError:
        return False


FOLDERS = ("lexical", "vectors", "cookies")
RECORD = "project.json"
LAST_CONFIG = "foveal.last.toml"
TRANSCRIPTS = "transcripts.db"
REST = (RECORD, LAST_CONFIG, TRANSCRIPTS)
"""Beginnings of the names of what says nothing without the rest of a project's folder."""
FILES = ("items.json", RECORD, LAST_CONFIG)
OWN_FILES = ("at_work",)
DERIVED = ("index.sqlite", *FOLDERS, *OWN_FILES)
"""Beginnings of the names of what can be made again in a project's folder."""
DATABASES = ("index.sqlite", TRANSCRIPTS)
"""Databases; their logs are checked too, since the databases are read before anybody opens them to write."""
POOL = "experiences"
"""The prefix of a pool's files. They can't be rebuilt, so links out of the folder aren't followed."""

RECORD_VERSION = 1
RECORD_BYTES = 64 * 1024
"""Maximum size of a record, which holds a path."""


def project_folder(state_dir: str, root: str) -> str:
    """Return a project's own folder in the state folder: its name, and a hash since names repeat."""
    digest = hashlib.blake2b(os.fsencode(root), digest_size=6).hexdigest()
    name = "".join(c if c.isalnum() or c in "-_." else "-" for c in os.path.basename(root))[:40] or "root"
    return os.path.join(state_dir, "projects", f"{name}-{digest}")


ANSWERED_MAX = 100
"""Maximum number of answers in a record, the latest."""

_WRITING = threading.Lock()
"""Held from reading a record to writing it: threads that each change a field would undo one another."""


class ProjectRecord(Struct, frozen=True):
    """What a project's folder says of it.

    `home` is the folder of its family, see `Worktree`; `repository` the git folder that a linked work tree
    shares with the others, "" for another folder; `first_commit` and `remote` are as `identity_of` has
    them; `answered` are the homes of like projects of which a person said what happens with their decisions.
    """

    root: str
    home: str = ""
    repository: str = ""
    first_commit: str = ""
    remote: str = ""
    answered: tuple[str, ...] = ()
    linked: tuple[str, ...] = ()
    """The roots that it links or once linked: what was recorded of them stays."""


def removed_work_trees(state_dir: str, system: System) -> list[str]:
    """Return the roots with a folder in the state folder whose work tree was removed with git, sorted.

    The repository must be there and not list the work tree: a root that is only gone may be on a drive that
    is not mounted.
    """
    return sorted(
        record.root
        for record in known_projects(state_dir, system)
        if (common := record.repository) and not os.path.lexists(record.root)
        if os.path.isfile(os.path.join(common, "HEAD")) and record.root not in git.work_trees(common, system)
    )


def known_projects(state_dir: str, system: System) -> list[ProjectRecord]:
    """Return the records of the projects that have a folder in the state folder, by root."""
    found = []
    with contextlib.suppress(OSError), os.scandir(os.path.join(state_dir, "projects")) as entries:
        for entry in entries:
            with contextlib.suppress(Exception):
                found.append(_read_record(entry.path, system))
    return sorted(found, key=lambda record: record.root)


def known_roots(state_dir: str, system: System) -> list[str]:
    """Return the roots that have a folder in the state folder."""
    return [record.root for record in known_projects(state_dir, system)]


def roots_linked(folder: str, system: System) -> frozenset[str] | None:
    """Return the roots that the project with a folder ever linked, None if there is no record of it."""
    try:
        return frozenset(_read_record(folder, system).linked)
    except FileNotFoundError:
        return None
    except Exception:  # noqa: BLE001 - whatever it raises, it is damaged: `write_record` sets it aside
        return frozenset()


def write_record(
    root: str,
    folder: str,
    system: System,
    *,
    answered: str = "",
    linked: Iterable[str] = (),
    **fields: str,
) -> None:
    """Write the record that says which root a folder belongs to, and of a linked work tree also the git
    folder of its repository, with other fields of it, where they differ."""
    if git.is_linked_worktree(root, system):
        fields["repository"] = git.common_folder(root, system) or ""
    elif os.path.lexists(root):
        fields["repository"] = ""
    with _WRITING:
        path = os.path.join(folder, RECORD)
        record = None
        try:
            record = _read_record(folder, system)
        except FileNotFoundError:
            pass
        except NewerVersion:
            return
        except Exception as error:  # noqa: BLE001 - whatever it raises, it is damaged: it can be written again
            if not isinstance(error, OSError):
                quarantine(path, system)
        wanted = replace(record or ProjectRecord(root), root=root, **fields)
        wanted = replace(wanted, linked=tuple(sorted({*linked, *wanted.linked})))
        if answered:
            others = [home for home in wanted.answered if home != answered]
            wanted = replace(wanted, answered=(*others, answered)[-ANSWERED_MAX:])
        if wanted != record:
            content = {name: value for name, value in asdict(wanted).items() if value}
            system.write_atomic(path, json.dumps({"version": RECORD_VERSION, **content}).encode())


def make_usable(folder: str, state: str, system: System) -> str:
    """Create a project's folder durably, and quarantine entries of the wrong kind in it.

    Returns what was quarantined or repaired, in words, or "". Raises `OSError` if the folder can't be used.
    """
    done = [clear_folder(os.path.dirname(folder), system), clear_folder(folder, system)]
    system.make_folder(folder, state)
    done += _cleared(folder, system)
    return "; ".join(filter(None, done))


def _cleared(folder: str, system: System) -> Iterator[str]:
    with system.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries)
    for name in names:
        path = os.path.join(folder, name)
        if ".damaged-" in name:
            continue
        if name in FOLDERS:
            yield clear_folder(path, system)
        elif name in FILES or name.startswith(DATABASES):
            yield clear_file(path, system)
        elif name in OWN_FILES or name.startswith(POOL):
            yield clear_own_file(path, system)


def _read_record(folder: str, system: System) -> ProjectRecord:
    """Read a record; the first ones named no version."""
    path = os.path.join(folder, RECORD)
    content: dict[str, Any] = json.loads(system.read(path, RECORD_BYTES)[0])
    if "root" not in content:
        refuse_newer(path, content["version"], RECORD_VERSION)
    return convert(content, ProjectRecord)
