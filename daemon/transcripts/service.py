"""What other rooms may call of `daemon/transcripts`."""

from __future__ import annotations

from . import cursor
from .extraction import placed
from .grafting import GraftService
from .injections import asked
