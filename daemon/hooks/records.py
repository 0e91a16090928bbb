"""The values of `daemon/hooks` that other rooms may hold."""

from __future__ import annotations

from .answer import INCOMPLETE_CHARACTERS
from .responder import HookContext, HookContextRequest, OpenedSession
