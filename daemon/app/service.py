"""What other rooms may call of `daemon/app`."""

from __future__ import annotations

from .server import prepare, serve
from .state_check import check_state_files, repair
