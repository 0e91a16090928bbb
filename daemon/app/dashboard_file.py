"""Owns dashboard.json in the state folder: the dashboard's port, and who is signed in, by hashes only."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field, to_builtins

from ..core.errors import StateError
from ..core.quarantine import clear_own_file, set_aside
from ..core.system import System

NAME = "dashboard.json"
VERSION = 1
FILE_BYTES = 64 * 1024
"""It takes 6 KB with all sessions."""

_HASH = re.compile(r"[0-9a-f]{64}")


class KeptSession(Struct, frozen=True):
    """A browser that is signed in: the SHA-256 of its cookie in hexadecimal, and when that ends, in seconds
    since the epoch."""

    digest: str
    expires: float


class DashboardState(Struct, frozen=True):
    """What outlives the daemon. `port` is 0 before there was one; `secret` makes anti-forgery tokens."""

    port: int = 0
    secret: str = field(default_factory=lambda: secrets.token_hex(32))
    sessions: tuple[KeptSession, ...] = ()


class DashboardFile:
    """The file in a state folder, 0600, replaced as a whole. Both methods block."""

    def __init__(self, state_dir: str, system: System) -> None:
        self._path = os.path.join(state_dir, NAME)
        self._system = system

    def read(self) -> tuple[DashboardState, str]:
        """Return what was kept, and a sentence about what is wrong with it or nothing.

        A file that can't be used is set aside: then nobody is signed in, which a new login mends.
        """
        try:
            if problem := clear_own_file(self._path, self._system):
                return DashboardState(), self._problem(f"can't be used ({problem})")
            data, _ = self._system.read(self._path, FILE_BYTES + 1)
        except FileNotFoundError:
            return DashboardState(), ""
        except OSError as error:
            return DashboardState(), self._problem(f"can't be read ({error.strerror or error})")
        try:
            return _state_in(json.loads(data)), ""
        except Exception as error:  # noqa: BLE001 - whatever it raises, it is damaged
            return DashboardState(), self._problem(f"can't be used ({error}){self._set_aside()}")

    def write(self, state: DashboardState) -> None:
        """Replace the file. Raises `StateError`."""
        data = json.dumps({"version": VERSION, **to_builtins(state)}, indent=1).encode() + b"\n"
        try:
            self._system.write_atomic(self._path, data)
        except OSError as error:
            raise StateError(
                f"{self._path} can't be written ({error.strerror or error}), so that nobody can sign in to "
                "the dashboard or out of it; see: foveal doctor"
            ) from error

    def _set_aside(self) -> str:
        try:
            return f" and is kept as {set_aside(self._path, self._system)}"
        except OSError as error:
            return f" nor set aside ({error.strerror or error})"

    def _problem(self, what: str) -> str:
        return f"{self._path} {what}: open the dashboard anew with: foveal dashboard"


def check(data: bytes) -> None:
    """Raise whatever a file with this content that can't be used leads to."""
    _state_in(json.loads(data))


def _state_in(content: Mapping[str, Any]) -> DashboardState:
    """Check what stood in the file; raises what a wrong shape leads to."""
    if content["version"] != VERSION:
        raise ValueError(f"its version is {content['version']!r:.20}, not {VERSION}")
    port, secret = content["port"], content["secret"]
    if type(port) is not int or not 0 <= port < 1 << 16:
        raise ValueError(f"port is {port!r:.20}")
    if not isinstance(secret, str) or not _HASH.fullmatch(secret):
        raise ValueError("secret is none")
    kept = tuple(KeptSession(one["digest"], float(one["expires"])) for one in content["sessions"])
    if not all(isinstance(one.digest, str) and _HASH.fullmatch(one.digest) for one in kept):
        raise ValueError("a session has no digest")
    return DashboardState(port, secret, kept)
