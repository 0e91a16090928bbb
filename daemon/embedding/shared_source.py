"""What a store of shared embeddings is, and the form in which vectors lie in one.

Another engine than Redis is another file with an `EmbeddingSource`.
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
from .exact import Floats, stored_halves

LENGTH_TOLERANCE = 2e-3
"""How far the length of a stored vector may be from 1. Rounding to 16 bits moves it by 2^-11 at most."""

_PREFIX = b"foveal:1:"
_MARK = b"F1"
_TAG_BYTES = 16
_HALF = np.dtype("<f2")


class SourceError(FovealError):
    """The store can't be used now; the message says why, without any credential."""


def read_credential(written: str, environment: Mapping[str, str], system: System) -> str:
    """Return a password or secret from where a setting says that it is: `env:NAME`, `file:PATH`, or nowhere.

    Raises `SourceError` if it isn't there; the message holds the place only.
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
    raise SourceError("a password or secret of embedding.shared is neither env:NAME nor file:PATH")


class Fetched(Struct, frozen=True):
    """The values of keys, None for one that is missing; `problem` says why some could not be asked for."""

    values: Sequence[bytes | None]
    problem: str = ""


class EmbeddingSource(Protocol):
    """A store of values by key, shared by machines. For one thread.

    Each method waits a bounded time and raises `SourceError` where nothing of the store can be used. Where a
    part of it can't, the rest is done and the problem returned.
    """

    @property
    def place(self) -> str:
        """Where the store is, for people: never with a credential."""

    def get(self, keys: Sequence[bytes]) -> Fetched:
        """Return values, and have their keys expire later."""

    def renew(self, keys: Sequence[bytes]) -> Sequence[bool]:
        """Have keys expire later; tells which exist."""

    def put(self, values: Mapping[bytes, bytes]) -> str:
        """Store values; returns the problem with those that could not be, or nothing."""

    def close(self) -> None:
        """Close all connections."""


class VectorCodec:
    """Turns the vectors of one model into values and back.

    A key is a digest of the model's key and the content's digest: HMAC-SHA256 with the team's secret, so that
    who reads the store can't test whether it holds a text that they have. A value is a mark, a tag over all
    else and the key (blake2b, keyed by the secret), the model's digest, the dimensions, and the vector in
    16-bit floats: 796 bytes for 384 dimensions.
    """

    def __init__(self, model_key: str, secret: str) -> None:
        self._secret = hashlib.sha256(secret.encode()).digest() if secret else b""
        self._model = hashlib.sha256(model_key.encode()).digest()[:8]
        self._model_key = model_key.encode()

    def key(self, digest: bytes) -> bytes:
        """Return the key of a content."""
        named = self._model_key + b"\0" + digest
        if self._secret:
            hashed = hmac.digest(self._secret, named, "sha256")
        else:
            hashed = hashlib.sha256(named).digest()
        return _PREFIX + hashed[:20].hex().encode()

    def pack(self, key: bytes, vector: Floats) -> bytes:
        """Return the value of a unit vector (dim,) under a key."""
        halves = stored_halves(vector, len(vector))[0].astype(_HALF)
        data: bytes = halves.tobytes()
        body = self._model + len(vector).to_bytes(2, "little") + data
        return _MARK + self._tag(key, body) + body

    def unpack(self, key: bytes, value: bytes, dim: int) -> Floats | None:
        """Return the vector (dim,) of a value, None for a value that can't be believed: another model's, of
        another size or length, of another key, changed, or made with another secret."""
        start = len(_MARK) + _TAG_BYTES
        tag, body = value[len(_MARK) : start], value[start:]
        head, data = body[: len(self._model) + 2], body[len(self._model) + 2 :]
        if not value.startswith(_MARK) or not hmac.compare_digest(tag, self._tag(key, body)):
            return None
        if head != self._model + dim.to_bytes(2, "little") or len(data) != dim * _HALF.itemsize:
            return None
        vector = np.frombuffer(data, _HALF).astype(np.float32)
        length = float(np.linalg.norm(vector))
        # Not a number is no number near 1 either.
        return vector if abs(length - 1) < LENGTH_TOLERANCE else None

    def _tag(self, key: bytes, body: bytes) -> bytes:
        tag: bytes = hashlib.blake2b(key + body, digest_size=_TAG_BYTES, key=self._secret).digest()
        return tag
