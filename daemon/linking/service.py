"""What other rooms may call of `daemon/linking`."""

from __future__ import annotations

from .linker import link_file, link_named
