"""A JSON file of the user's state that names its version, and that a person may mend."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from .errors import NewerVersion, StateError, refuse_newer
from .system import System

T = TypeVar("T")


class JsonFile(Generic[T]):
    """The file at `path`, a map with its `version`. Blocks; the caller locks.

    `decode` makes a value of the map, or raises any error for one that is damaged. `called` is the file in
    messages. Every method raises `StateError` for a file that can't be read, used or written; such a file is
    never written over.
    """

    def __init__(
        self,
        path: str,
        system: System,
        *,
        version: int,
        max_bytes: int,
        called: str,
        decode: Callable[[Mapping[str, Any]], T],
    ) -> None:
        self.path = path
        self._system = system
        self._version = version
        self._max_bytes = max_bytes
        self._called = called
        self._decode = decode

    def read(self) -> T | None:
        """Return the content, None if there is no file."""
        try:
            data, _ = self._system.read(self.path, self._max_bytes + 1)
        except FileNotFoundError:
            if os.path.islink(self.path):
                raise self._unusable("is a symlink that leads nowhere") from None
            return None
        except OSError as error:
            raise self._unusable(f"can't be read ({error.strerror or error})") from error
        try:
            content = json.loads(data)
            refuse_newer(self.path, content["version"], self._version)
            return self._decode(content)
        except NewerVersion:
            raise
        except Exception as error:  # any exception means damage
            raise self._unusable(f"can't be used ({error})") from error

    def write(self, content: Mapping[str, object]) -> None:
        """Replace the file, durably, by this map and the version."""
        data = json.dumps({"version": self._version, **content}, indent=1).encode()
        try:
            self._system.write_atomic(self.path, data + b"\n")
        except OSError as error:
            raise self._unusable(f"can't be written ({error.strerror or error})") from error

    def _unusable(self, problem: str) -> StateError:
        return StateError(f"{self._called} {problem}. Mend the file or remove it.")
