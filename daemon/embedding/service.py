"""What other rooms may call of `daemon/embedding`."""

from __future__ import annotations

from .embedder_client import EmbedderClient
from .vector_file import check_vector_file
