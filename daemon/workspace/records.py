"""The values of `daemon/workspace` that other rooms may hold."""

from __future__ import annotations

from .hot_files import BUFFER_CHARACTERS, HotNode
from .index_view import IndexSize, ProjectSnapshot
