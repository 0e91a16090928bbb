"""The values of `daemon/embedding` that other rooms may hold."""

from __future__ import annotations

from .embedder_client import INCOMPLETE
from .messages import SearchVectors, VectorProgress
