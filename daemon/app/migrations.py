"""The migrations of the state folder from each version to the next."""

from __future__ import annotations

from collections.abc import Mapping

from ..core.state_folder import Migration
from ..sessions.former_stores import move_former

MIGRATIONS: Mapping[int, Migration | None] = {1: None, 2: move_former}
"""None changes the mark alone: then only an earlier program needs to know, because the owners of the files
bring them up themselves."""
