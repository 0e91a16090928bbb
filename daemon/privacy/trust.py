"""The files of a project that a person trusts, by their content, and those that need trust.

Without trust a cloned repository can only restrict what the daemon does. Trust is for the content that a
person saw: a changed file needs it again.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Literal

from msgspec import Struct, ValidationError, convert

from ..core.errors import InvalidRequest, NotFound
from ..core.json_file import JsonFile
from ..core.system import System

VERSION = 1
PROJECT_FILE = "foveal.toml"
TEMPLATE_FOLDER = ".foveal/templates"
TEMPLATES_MAX = 50
FILE_BYTES = 1_048_576
"""Maximum bytes of a file that can be trusted: nobody reads more."""
ROOTS_MAX = 5_000
DIGESTS_MAX = 20
"""Maximum number of trusted versions of a file, so that switching branches asks nothing again."""
STORE_BYTES = 16 * 1024 * 1024


class TrustFile(Struct, frozen=True):
    """A file of a project that needs trust, as it is now. `path` is relative to the root; `problem` says why
    it can't be trusted, empty if it can."""

    path: str
    digest: str
    size_bytes: int
    problem: str = ""


class Trusted(Struct, frozen=True):
    """The trusted digests of one project, by path."""

    digests: Mapping[str, frozenset[str]]

    def covers(self, path: str, data: bytes) -> bool:
        """Tell whether a file of this relative path is trusted with this content."""
        return content_digest(data) in self.digests.get(path, ())


NOTHING_TRUSTED = Trusted({})


def content_digest(data: bytes) -> str:
    """Return the digest by which content is trusted: BLAKE2b-256 in hexadecimal."""
    return hashlib.blake2b(data, digest_size=32).hexdigest()


def files_to_trust(root: str, system: System) -> tuple[TrustFile, ...]:
    """Return the files of a project that need trust: `foveal.toml`, which may name a shared pool, and the
    templates of prompts. Blocks."""
    return tuple(_look(root, path, system) for path in _paths(root, system))


class _StoredTrust(Struct, frozen=True):
    """The file's content: the trusted digests by path, by root."""

    version: Literal[1]
    trusted: dict[str, dict[str, list[str]]]


class TrustStore:
    """The JSON file at `path`, in the user's own state folder, for all projects.

    May be used from several threads. Raises `StateError` for a file that can't be read, used or written:
    then nothing counts as trusted.
    """

    def __init__(self, path: str, system: System) -> None:
        self._file = JsonFile(
            path,
            system,
            version=VERSION,
            max_bytes=STORE_BYTES,
            called=f"What is trusted, in {path},",
            decode=_trusted_in,
        )
        self._system = system
        self._lock = threading.Lock()

    def of(self, root: str) -> Trusted:
        """Return the trusted files of a project."""
        with self._lock:
            files = (self._file.read() or {}).get(root, {})
        return Trusted({path: frozenset(digests) for path, digests in files.items()})

    def trust(self, root: str, wanted: Mapping[str, str]) -> tuple[str, ...]:
        """Trust files with the digests that a person saw; returns the newly trusted paths.

        Durable on return. Raises `InvalidRequest` for a file that can't be trusted or has changed since: then
        none is trusted.
        """
        present = {file.path: file for file in files_to_trust(root, self._system)}
        for path, digest in wanted.items():
            file = present.get(path)
            if file is None:
                raise InvalidRequest(f"{path!r:.200} is no file of {root} that could be trusted", "files")
            if file.problem:
                raise InvalidRequest(f"{path} can't be trusted: {file.problem}", "files")
            if file.digest != digest:
                raise InvalidRequest(f"{path} has changed since it was shown: look at it again", "files")
        with self._lock:
            roots = self._file.read() or {}
            known = roots.pop(root, {})
            new = tuple(path for path, digest in wanted.items() if digest not in known.get(path, ()))
            for path in new:
                known[path] = [*known.get(path, []), wanted[path]][-DIGESTS_MAX:]
            if new:
                self._file.write({"trusted": dict([*roots.items(), (root, known)][-ROOTS_MAX:])})
        return new

    def forget(self, root: str) -> None:
        """Revoke the trust in a project's files, if there is any."""
        with suppress(NotFound):
            self.revoke(root)

    def revoke(self, root: str) -> int:
        """Revoke the trust in a project's files; returns their number. Raises `NotFound` if there was
        none."""
        with self._lock:
            roots = self._file.read() or {}
            known = roots.pop(root, {})
            if not known:
                raise NotFound(f"nothing of {root} is trusted")
            self._file.write({"trusted": roots})
        return len(known)


def _paths(root: str, system: System) -> Iterator[str]:
    if os.path.lexists(os.path.join(root, PROJECT_FILE)):
        yield PROJECT_FILE
    try:
        with system.scandir(os.path.join(root, TEMPLATE_FOLDER)) as entries:
            names = sorted(entry.name for entry in entries if entry.name.endswith(".j2"))
    except OSError:
        return  # there are none, or none can be read
    yield from (f"{TEMPLATE_FOLDER}/{name}" for name in names[:TEMPLATES_MAX])


def _look(root: str, path: str, system: System) -> TrustFile:
    full = os.path.join(root, path)
    if not os.path.realpath(full).startswith(os.path.join(os.path.realpath(root), "")):
        return TrustFile(path, "", 0, "it is a symlink that leads out of the project")
    try:
        data, status = system.read(full, FILE_BYTES + 1)
    except OSError as error:
        return TrustFile(path, "", 0, f"it can't be read ({error.strerror or error})")
    if len(data) > FILE_BYTES:
        return TrustFile(path, "", status.st_size, f"it is larger than {FILE_BYTES:,} bytes")
    return TrustFile(path, content_digest(data), len(data))


def _trusted_in(content: Mapping[str, object]) -> dict[str, dict[str, list[str]]]:
    try:
        return convert(content, _StoredTrust).trusted
    except ValidationError as error:
        raise ValueError("it is of another version, or has entries that aren't complete") from error
