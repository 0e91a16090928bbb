"""The values of `daemon/embedding` that other rooms may hold."""

from __future__ import annotations

from .embedder_client import INCOMPLETE
from .embedding_tables import EMBEDDING_SCHEMA, EMBEDDING_SCHEMA_VERSION
from .messages import SearchVectors, VectorProgress
