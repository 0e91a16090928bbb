"""What other rooms may call of `daemon/engine`."""

from __future__ import annotations

from .engine import Engine, EngineMethods
