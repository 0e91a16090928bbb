"""What other rooms may call of `daemon/compression`."""

from __future__ import annotations

from .compress import compress
from .document import kind_of
from .model_compressor import LaterCompressor, ModelCompressor
