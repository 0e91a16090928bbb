"""The interface of a shared embedding store, and the format of the vectors in it.

To support another engine than Redis, add a file with another `EmbeddingSource`.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from msgspec import Struct

from ..core.errors import FovealError
from ..core.system import System
from .unit_vectors import Floats, unit_halves

LENGTH_TOLERANCE = 2e-3
"""Maximum difference of a stored vector's length from 1. Rounding to 16 bits changes it by 2^-11 at most."""

_PREFIX = b"foveal:1:"
_MARK = b"F1"
_TAG_BYTES = 16
_HALF = np.dtype("<f2")


class SourceError(FovealError):
    """The store can't be used now; the message says why, without any credential."""


def read_credential(written: str, environment: Mapping[str, str], system: System) -> str:
    """Return the password or secret that a setting refers to by `env:NAME` or `file:PATH`; "" if it is empty.

    Raises `SourceError` if it can't be read; the message names only the variable or the path.
    """
    kind, _, place = written.partition(":")
    match kind:
        case "":
            return ""
        case "env":
            if not environment.get(place):
                raise SourceError(f"the environment variable {place} isn't set, in which the daemon started")
            return environment[place]
        case "file":
            try:
                data, _ = system.read(os.path.expanduser(place))
                text = data.decode().strip()
            except (OSError, UnicodeDecodeError) as error:
                raise SourceError(f"{place} can't be read: {type(error).__name__}") from None
            if not text:
                raise SourceError(f"{place} is empty")
            return text
    raise SourceError("the key, password or secret is neither env:NAME nor file:PATH")


class Fetched(Struct, frozen=True):
    """The values of keys, None for a missing one. `problem` says why some keys couldn't be requested."""

    values: Sequence[bytes | None]
    problem: str = ""


class EmbeddingSource(Protocol):
    """A key-value store that several machines share. Not safe across threads.

    Each method waits a bounded time, and raises `SourceError` if the whole store is unusable. If only a part
    of the store fails, the method handles the other keys and returns the problem.
    """

    @property
    def place(self) -> str:
        """The address of the store to show to users, never with a credential."""

    def get(self, keys: Sequence[bytes]) -> Fetched:
        """Return values, and renew the expiry of their keys."""

    def renew(self, keys: Sequence[bytes]) -> Sequence[bool]:
        """Renew the expiry of keys; return for each whether it exists."""

    def put(self, values: Mapping[bytes, bytes]) -> str:
        """Store values; return why some couldn't be stored, or an empty string."""

    def close(self) -> None:
        """Close all connections."""


class VectorCodec:
    """Encodes the vectors of one model as values of the store, and decodes them.

    A key is a hash of the model's key and the content's digest. With a team secret it is an HMAC-SHA256, so
    that a reader of the store without the secret can't test whether the store contains a known text. A value
    consists of a magic number, an authentication tag, the model's digest, the number of dimensions, and the
    vector in 16-bit floats: 796 bytes for 384 dimensions. The tag is a blake2b over the store's key and the
    rest of the value, keyed by the secret.
    """

    def __init__(self, model_key: str, secret: str) -> None:
        self._secret = hashlib.sha256(secret.encode()).digest() if secret else b""
        self._model = hashlib.sha256(model_key.encode()).digest()[:8]
        self._model_key = model_key.encode()

    def key(self, digest: bytes) -> bytes:
        """Return the store's key for a content digest."""
        named = self._model_key + b"\0" + digest
        if self._secret:
            hashed = hmac.digest(self._secret, named, "sha256")
        else:
            hashed = hashlib.sha256(named).digest()
        return _PREFIX + hashed[:20].hex().encode()

    def pack(self, key: bytes, vector: Floats) -> bytes:
        """Return the value to store for a unit vector (dim,) under a key."""
        halves = unit_halves(vector, len(vector))[0].astype(_HALF)
        data: bytes = halves.tobytes()
        body = self._model + len(vector).to_bytes(2, "little") + data
        return _MARK + self._tag(key, body) + body

    def unpack(self, key: bytes, value: bytes, dim: int) -> Floats | None:
        """Return the vector (dim,) in a value, None if the value isn't valid.

        A valid value belongs to this model, key and secret, is unchanged, has `dim` dimensions, and holds a
        vector of length 1.
        """
        start = len(_MARK) + _TAG_BYTES
        tag, body = value[len(_MARK) : start], value[start:]
        head, data = body[: len(self._model) + 2], body[len(self._model) + 2 :]
        if not value.startswith(_MARK) or not hmac.compare_digest(tag, self._tag(key, body)):
            return None
        if head != self._model + dim.to_bytes(2, "little") or len(data) != dim * _HALF.itemsize:
            return None
        vector = np.frombuffer(data, _HALF).astype(np.float32)
        length = float(np.linalg.norm(vector))
        # NaN fails this comparison too.
        return vector if abs(length - 1) < LENGTH_TOLERANCE else None

    def _tag(self, key: bytes, body: bytes) -> bytes:
        tag: bytes = hashlib.blake2b(key + body, digest_size=_TAG_BYTES, key=self._secret).digest()
        return tag
