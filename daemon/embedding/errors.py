"""Owns the exceptions of this room: the embedding model can't be had, or can't be rebuilt."""

from __future__ import annotations

from ..core.errors import FovealError


class ModelUnavailable(FovealError):
    """There is no embedding model: it isn't installed, isn't known, or can't be fetched.

    The message says what to do. Lexical and structural answers need no model and go on.
    """


class ModelNotReady(FovealError):
    """The embedding model is being fetched, rebuilt or loaded, which nobody should wait for."""


class RebuildFailed(FovealError):
    """The bundled model can't be rebuilt here; it can still be used as it is, several times slower."""
