"""The values of `daemon/memory` that other rooms may hold."""

from __future__ import annotations

from .edits import Edit
from .experience import Draft, Experience, OutcomeKind, Provenance
from .experiences import WAIT_S, Meanings, PoolOwner
from .lines import LINE_VERSION
from .pool_filters import Criteria, ExperienceListing
from .pool_records import Known
from .pools import POOL_FILE
from .recall import Chosen
from .worktree_view import Place
