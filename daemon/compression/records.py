"""The values of `daemon/compression` that other rooms may hold."""

from __future__ import annotations

from .compress import MARK, Compress, Compressed
from .model_compressor import Wanted
