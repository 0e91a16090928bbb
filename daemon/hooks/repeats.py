"""Owns which events were heard already: hosts run each other's hooks, so that one event may come twice."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable

from .events import Event, PromptSubmitted

KEPT_S = 5.0
"""Two hooks of one event are run at once; what comes later than this is another event that says the same."""
KEPT_MAX = 1_024


class Repeats:
    """A bounded table of the events of the last seconds. `clock` gives monotonic seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._heard: OrderedDict[str, float] = OrderedDict()

    def is_repeated(self, event: Event) -> bool:
        """Whether an event was heard just before; if not, it is from now on."""
        now = self._clock()
        while self._heard and now - next(iter(self._heard.values())) >= KEPT_S:
            self._heard.popitem(last=False)
        key = _key(event)
        if key in self._heard:
            return True
        if len(self._heard) >= KEPT_MAX:
            self._heard.popitem(last=False)
        self._heard[key] = now
        return False


def _key(event: Event) -> str:
    """Return what two tellings of one event share: the host isn't part of it."""
    origin = event.origin
    said = event.prompt if isinstance(event, PromptSubmitted) else ""
    parts = (type(event).__name__, origin.session_id, origin.agent_id, origin.moment, said)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
