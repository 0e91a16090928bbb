"""The content that each conversation already holds, so that it isn't sent again.

A conversation is the context window of one agent of a session. Its content is remembered while the daemon
runs and until a compaction; after that everything is sent again, which only costs tokens.
"""

from __future__ import annotations

import hashlib
import sys
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from msgspec import Struct, field
from msgspec.structs import replace

from . import render
from .selection import Form, Slice, SliceType

WINDOWS_MAX = 1_000
"""Maximum number of conversations."""

SLICES_MAX = 2_000
"""Maximum number of slices of one conversation; more than fit into a context window at 60 tokens each."""

HELD_MAX = 20_000
"""Maximum number of slices of all conversations, at about 250 bytes each."""

STANDING: frozenset[SliceType] = frozenset({"rule", "reference", "constraint", "agent_history", "place"})
"""Types of slices that count as held once they were sent in any form."""

RESIDENT_ORDER = 1_000_000
"""Order of slices that are only named: they come after the shown slices of their section."""


class SentSlice(Struct, frozen=True):
    """A slice as sent: digests of its text and of its whole content, and its tokens."""

    digest: bytes
    whole: bytes
    tokens: int


class ConversationContent(Struct, frozen=True, dict=True):
    """The content of one conversation: slices by id. Immutable: each reply makes a new one."""

    slices: Mapping[str, SentSlice] = field(default_factory=dict)
    last: str = ""
    """The id of the context that was sent last."""

    @cached_property
    def key(self) -> bytes:
        """A digest that is equal for equal content: a part of the key in the cache of contexts."""
        digest = hashlib.blake2b(digest_size=16)
        for identifier, held in sorted(self.slices.items()):
            digest.update(identifier.encode("utf-8", "surrogatepass") + b"\0" + held.digest)
        return digest.digest()

    @property
    def tokens(self) -> int:
        """The tokens of all held slices."""
        return sum(held.tokens for held in self.slices.values())


NOTHING_HELD = ConversationContent()


class Unsent(Struct, frozen=True):
    """The chosen forms without held content, the ids of slices that are only named, and of all held slices.

    Held slices that are shorter than their naming line are sent again."""

    chosen: tuple[tuple[Slice, Form], ...]
    named: frozenset[str] = frozenset()
    held: frozenset[str] = frozenset()


def named_if_held(chosen: Sequence[tuple[Slice, Form]], resident: ConversationContent) -> Unsent:
    """Replace the forms that a conversation holds by a line that names them, one for each file.

    This runs after the selection, which is the same whatever is held: repeating a request doesn't fill the
    context with less and less relevant content.
    """
    held = frozenset(piece.id for piece, form in chosen if holds(resident, piece, form))
    by_name: dict[str, list[tuple[Slice, Form]]] = {}
    for pair in chosen:
        if pair[0].id in held:
            by_name.setdefault(_name(pair[0]), []).append(pair)
    lines: dict[str, str] = {}
    for name, pairs in by_name.items():
        line = _line(name, [pair for pair, _ in pairs])
        if len(line) < sum(len(form.text) for _, form in pairs):
            lines |= {pair.id: "" for pair, _ in pairs} | {pairs[0][0].id: line}
    kept = []
    for piece, form in chosen:
        if piece.id in lines:
            order = (piece.order[0], RESIDENT_ORDER, *piece.order[1:])
            kept.append((replace(piece, order=order, frame=None), Form(lines[piece.id])))
        else:
            kept.append((piece, form))
    return Unsent(tuple(kept), frozenset(lines), held)


def held_of(piece: Slice, form: Form, tokens: int) -> tuple[str, SentSlice]:
    """Return the id and the record of a slice that is sent in this form."""
    whole = form
    if form.compressed and piece.type in STANDING:  # a file may be long: its shown text stands for it
        whole = piece.grow(piece.full_characters)
    return sys.intern(piece.id), SentSlice(_digest(form.text), _digest(whole.text), tokens)


def holds(resident: ConversationContent, piece: Slice, form: Form) -> bool:
    """Whether the conversation was sent a slice in this form."""
    held = resident.slices.get(piece.id)
    return held is not None and held.digest == _digest(form.text)


def holds_whole(resident: ConversationContent, piece: Slice) -> bool:
    """Whether the conversation was sent a slice in any form, and the slice's content hasn't changed since."""
    held = resident.slices.get(piece.id)
    return held is not None and held.whole == _digest(piece.grow(piece.full_characters).text)


class ContextWindows:
    """The content that the context windows of all sessions hold. On the event loop only."""

    def __init__(self) -> None:
        self._windows: OrderedDict[tuple[str, str], ConversationContent] = OrderedDict()
        self._held = 0

    def of(self, session_id: str, agent_id: str) -> ConversationContent:
        """Return the content that an agent's window in a session holds; empty for an unknown agent."""
        return self._windows.get((session_id, agent_id), NOTHING_HELD)

    def sent(
        self, session_id: str, agent_id: str, slices: Iterable[tuple[str, SentSlice]], context_id: str = ""
    ) -> ConversationContent:
        """Record the content sent to an agent; return all content that its window holds now."""
        slices_by_id = dict(self._pop((session_id, agent_id)).slices)
        for identifier, held in slices:
            slices_by_id.pop(identifier, None)  # so that the latest are last
            slices_by_id[identifier] = held
        while len(slices_by_id) > SLICES_MAX:
            del slices_by_id[next(iter(slices_by_id))]
        resident = self._windows[session_id, agent_id] = ConversationContent(slices_by_id, context_id)
        self._held += len(slices_by_id)
        while len(self._windows) > WINDOWS_MAX or self._held > HELD_MAX:
            self._pop(next(iter(self._windows)))
        return resident

    def forget(self, session_id: str, agent_id: str | None = None) -> None:
        """Forget the conversations of a session, or of one agent, after a compaction or a new start."""
        for window in [
            window for window in self._windows if window[0] == session_id and agent_id in {None, window[1]}
        ]:
            self._pop(window)

    def _pop(self, window: tuple[str, str]) -> ConversationContent:
        resident = self._windows.pop(window, NOTHING_HELD)
        self._held -= len(resident.slices)
        return resident


def _name(piece: Slice) -> str:
    """Return the name of a slice in a naming line; definitions of one file share a line."""
    return (piece.path or piece.id.partition(":")[2] or piece.id) + (
        "\0" if piece.path and piece.lines else ""
    )


def _line(name: str, slices: Iterable[Slice]) -> str:
    """Return the line that names held slices with the same name."""
    ranges: list[tuple[int, int]] = []
    for first, last in sorted({piece.lines for piece in slices if piece.path and piece.lines}):
        if ranges and first <= ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], max(ranges[-1][1], last))
        else:
            ranges.append((first, last))
    places = f", lines {', '.join(f'{first}-{last}' for first, last in ranges)}" if ranges else ""
    return f"- `{render.inline(name)}`{places}: unchanged, as sent before\n"


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
