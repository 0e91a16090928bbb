"""Owns what a conversation still holds of what it was sent, so that it needn't be sent again.

A conversation is one window: an agent of a session. What it holds is known here only as long as the daemon
runs, and forgotten with a compaction: then everything is sent afresh, which costs tokens and loses nothing.
"""

from __future__ import annotations

import hashlib
import sys
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property

from ..lazy_dataclass import dataclass
from . import render
from .slices import Form, Slice, SliceType

WINDOWS_MAX = 1_000
SLICES_MAX = 2_000
"""Of one window; a slice has 60 tokens at least with its heading, so that no window in use holds more."""

HELD_MAX = 20_000
"""Maximum of slices that all windows together hold, at some 250 bytes: hundreds of conversations of some
contexts each."""

STANDING: frozenset[SliceType] = frozenset({"rule", "reference", "constraint", "agent_history"})
"""What is held for good once it was sent, in whatever form."""

RESIDENT_ORDER = 1_000
"""What is named only stands behind what is shown in its section."""


@dataclass(frozen=True, slots=True)
class Held:
    """A slice as it was sent: digests of its text and of all that there is of it, the text's characters and
    tokens."""

    digest: bytes
    whole: bytes
    characters: int
    tokens: int


@dataclass(frozen=True)
class Resident:
    """What one window holds, by the ids of slices. Frozen: a later reply makes another one."""

    slices: Mapping[str, Held] = field(default_factory=dict)

    @cached_property
    def key(self) -> bytes:
        """A digest by which equal windows meet the same rendered context."""
        digest = hashlib.blake2b(digest_size=16)
        for identifier, held in sorted(self.slices.items()):
            digest.update(identifier.encode("utf-8", "surrogatepass") + b"\0" + held.digest)
        return digest.digest()

    @property
    def tokens(self) -> int:
        """All tokens that the window holds of what it was sent."""
        return sum(held.tokens for held in self.slices.values())


NOTHING_HELD = Resident()


def named_if_held(
    chosen: Sequence[tuple[Slice, Form]], resident: Resident
) -> tuple[list[tuple[Slice, Form]], frozenset[str]]:
    """Put a line in the place of each form that a window holds as it is; returns all in order, and which.

    It is done after the selection, which so is the same whatever is held: a conversation that asks the same
    again isn't filled up with ever less that matters.
    """
    kept: list[tuple[Slice, Form]] = []
    named: set[str] = set()
    for one, form in chosen:
        held, line = resident.slices.get(one.id), _line(one)
        if held is None or held.digest != _digest(form.text) or len(line.text) >= len(form.text):
            kept.append((one, form))
        else:
            order = (one.order[0], RESIDENT_ORDER, *one.order[1:])
            kept.append((replace(one, order=order, frame=None), line))
            named.add(one.id)
    return kept, frozenset(named)


def held_of(one: Slice, form: Form, tokens: int) -> tuple[str, Held]:
    """Return what a window holds of a slice that was sent in this form."""
    held = Held(_digest(form.text), _whole(one, form), len(form.text), tokens)
    return sys.intern(one.id), held


def holds_whole(resident: Resident, one: Slice) -> bool:
    """Whether a window was sent a slice, in whatever form, and there is now no more or other of it."""
    held = resident.slices.get(one.id)
    return held is not None and held.whole == _digest(one.grow(one.full_characters).text)


class Windows:
    """What the windows of all sessions hold. On the event loop only."""

    def __init__(self) -> None:
        self._windows: OrderedDict[tuple[str, str], Resident] = OrderedDict()
        self._held = 0

    def of(self, session_id: str, agent_id: str) -> Resident:
        """Return what an agent of a session holds, nothing for an unknown one."""
        return self._windows.get((session_id, agent_id), NOTHING_HELD)

    def sent(self, session_id: str, agent_id: str, slices: Iterable[tuple[str, Held]]) -> Resident:
        """Note what an agent was sent; returns what it holds now."""
        known = dict(self._pop((session_id, agent_id)).slices)
        for identifier, held in slices:
            known.pop(identifier, None)  # so that the latest stand last
            known[identifier] = held
        while len(known) > SLICES_MAX:
            del known[next(iter(known))]
        resident = Resident(known)
        self._windows[session_id, agent_id] = resident
        self._held += len(known)
        while len(self._windows) > WINDOWS_MAX or self._held > HELD_MAX:
            self._pop(next(iter(self._windows)))
        return resident

    def forget(self, session_id: str, agent_id: str | None = None) -> None:
        """Forget what a session's windows hold, or one agent's: it was compacted, or begins anew."""
        for window in [one for one in self._windows if one[0] == session_id and agent_id in {None, one[1]}]:
            self._pop(window)

    def _pop(self, window: tuple[str, str]) -> Resident:
        resident = self._windows.pop(window, NOTHING_HELD)
        self._held -= len(resident.slices)
        return resident


def _whole(one: Slice, form: Form) -> bytes:
    """Return the digest of all that there is of a slice; of a file, which may be long, of what is shown."""
    if form.compressed and one.type in STANDING:
        form = one.grow(one.full_characters)
    return _digest(form.text)


def _line(one: Slice) -> Form:
    name = one.path or one.id.partition(":")[2] or one.id
    return Form(f"- `{render.inline(name)}`: unchanged, as sent before\n")


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
