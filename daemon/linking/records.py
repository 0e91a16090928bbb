"""The values of `daemon/linking` that other rooms may hold."""

from __future__ import annotations

from .linker import LINKER_VERSION, LinkedFile
