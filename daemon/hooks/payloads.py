"""Hook payloads on arrival: their fields, the sending host, and detection of repeated events."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Mapping

from msgspec import Struct

from ...hooks.hosts.events import Event
from ...hooks.hosts.fields import Fields, parsed
from ...hooks.hosts.host import Hooks
from ...hooks.hosts.registry import HOSTS, host_named
from ..core.errors import InvalidRequest, TooLarge

MAX_CHARACTERS = 8 * 1024 * 1024
"""Maximum characters of a payload given as text, the maximum that a hook reads."""

REPEAT_S = 5.0
"""Seconds in which the same event counts as a repetition: two hooks of one event run at the same time."""
SAME_MS = 500
"""Maximum milliseconds between a host's times in two payloads of one event; nobody resumes a session twice in
that time."""
EVENTS_MAX = 1_024
"""Maximum number of events remembered."""


def fields_in(payload: object) -> Fields:
    """Return the fields of a payload, which is an object or its JSON text. Raises `InvalidRequest`."""
    if isinstance(payload, str):
        if len(payload) > MAX_CHARACTERS:
            raise TooLarge(f"payload has {len(payload):,} characters; at most {MAX_CHARACTERS:,} are taken")
        if not payload.strip():
            return Fields({})
        payload = parsed(payload)
    if not isinstance(payload, Mapping):
        raise InvalidRequest("payload must be a map, or the text of a JSON object", "payload")
    return Fields(payload)


class HookFormats(Struct, frozen=True):
    """The formats of an event: `host` sent it in the format of `reads`; the hook must answer in that of
    `writes`."""

    host: str
    reads: Hooks
    writes: Hooks


def formats_of(host: str, fields: Fields, name: str, variables: Mapping[str, str]) -> HookFormats:
    """Return the formats of an event sent to the hook of `host`. Raises `InvalidRequest` for an unknown host.

    Some hosts run hooks that were registered with another host. Such a host reads the answer in the other's
    format, unless the event has the host's own name.
    """
    found = host_named(host)
    if found is None or found.hooks is None:
        names = ", ".join(host.name for host in HOSTS if host.hooks)
        raise InvalidRequest(f"there is no host {host!r:.60}; there are {names}", "host")
    for other in HOSTS:
        if other.runs_hooks_of == found.name and other.hooks and other.sent(fields, variables):
            writes = other.hooks if name[:1].islower() else found.hooks
            return HookFormats(other.name, other.hooks, writes)
    return HookFormats(found.name, found.hooks, found.hooks)


def host_version(host: str, variables: Mapping[str, str]) -> str:
    """Return the version of a host, as its own variables tell it, or ""."""
    found = host_named(host)
    return found.version(variables) if found is not None else ""


class RecentEvents:
    """A bounded table of the events of the last seconds. `clock` gives monotonic seconds.

    Hosts run each other's hooks, so one event may arrive twice.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._seen: OrderedDict[str, tuple[float, int]] = OrderedDict()
        """When each event arrived, and the host's time in it."""

    def is_repeated(self, event: Event) -> bool:
        """Whether an event arrived just before; if not, it is remembered.

        The same event at another time of the host's is another one, such as a second resume.
        """
        now, at_ms = self._clock(), event.origin.at_ms
        while self._seen and now - next(iter(self._seen.values()))[0] >= REPEAT_S:
            self._seen.popitem(last=False)
        key = _key(event)
        known = self._seen.get(key)
        if known is not None and (not (known[1] and at_ms) or abs(known[1] - at_ms) <= SAME_MS):
            return True
        if len(self._seen) >= EVENTS_MAX:
            self._seen.popitem(last=False)
        self._seen[key] = now, at_ms
        self._seen.move_to_end(key)
        return False


def _key(event: Event) -> str:
    """Return the fields that two payloads of one event share, without the host."""
    origin = event.origin
    prompt = event.prompt if event.kind == "prompt" else ""
    parts = (event.kind, origin.session_id, origin.agent_id, origin.moment, prompt)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
