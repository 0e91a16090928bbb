"""What other rooms may call of `daemon/api`."""

from __future__ import annotations

from .handlers import Handlers, to_error
