"""Owns the budget: which slices enter the context and in which form. Knows nothing of what they say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .slices import CHARACTERS_PER_TOKEN, Form, Slice, SliceType

SHARES: Mapping[SliceType, float] = {
    "rule": 0.35,
    "constraint": 0.15,
    "reference": 0.30,
    "focus": 0.50,
    "expansion": 0.50,
    "document": 0.30,
    "dependency": 0.25,
    "agent_history": 0.10,
    "hot": 0.04,
    "skeleton": 0.12,
}
"""How much of the budget the slices of a type may take together in the first round, so that one huge file
doesn't leave the agent without a map. What others don't use is given out in a second round, without shares.
They add up to more than 1 on purpose: few contexts have slices of every type."""


BYTE_ATTEMPTS = 4
"""So often a slice is asked for less when its bytes don't fit; few texts are uneven enough to need three."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a context may cost at the most."""

    tokens: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Selection:
    """What entered, in the order of the given slices, and what didn't."""

    chosen: tuple[tuple[Slice, Form], ...]
    dropped: tuple[Slice, ...]


def select(slices: Sequence[Slice], limits: Limits) -> Selection:
    """Choose slices and their forms within the limits.

    First all slices in their smallest form, the heaviest first, up to the first that doesn't fit: the order
    doesn't depend on the limits, so a larger budget never loses a slice. Then what remains lets them grow.
    """
    ranked = sorted(slices, key=lambda one: (-one.weight, one.layer, one.order, one.id))
    purse = _Purse(limits)
    admitted: dict[str, Slice] = {}
    chosen: dict[str, Form] = {}
    for one in ranked:
        if one.id in admitted:
            continue
        if not purse.take(one.smallest):
            break
        admitted[one.id] = one
        chosen[one.id] = one.smallest
    for shares in (SHARES, None):
        for group in _groups(admitted.values()):
            allowance = limits.tokens if shares is None else int(limits.tokens * shares[group[0].type])
            _grow(group, chosen, purse, allowance)
    return Selection(
        tuple((one, chosen[one.id]) for one in slices if admitted.get(one.id) is one),
        tuple(one for one in slices if one.id not in admitted),
    )


class _Purse:
    """What is left of the limits."""

    def __init__(self, limits: Limits) -> None:
        self.tokens = limits.tokens
        self.bytes = limits.bytes

    def take(self, form: Form, instead_of: Form | None = None) -> bool:
        tokens = form.tokens - (instead_of.tokens if instead_of else 0)
        size = form.bytes - (instead_of.bytes if instead_of else 0)
        if tokens > self.tokens or size > self.bytes:
            return False
        self.tokens -= tokens
        self.bytes -= size
        return True


def _groups(admitted: Iterable[Slice]) -> list[list[Slice]]:
    """Return the slices by type, types in the order of their heaviest slice."""
    groups: dict[str, list[Slice]] = {}
    for one in admitted:
        groups.setdefault(one.type, []).append(one)
    return list(groups.values())


def _grow(group: Sequence[Slice], chosen: dict[str, Form], purse: _Purse, allowance: int) -> None:
    """Let the slices of a group grow within an allowance of tokens for all of them together.

    The smaller ones first and each an equal part of what is left, so that several files share the room
    fairly and a small one is shown whole.
    """
    spent = sum(chosen[one.id].tokens for one in group)
    waiting = [one for one in group if _can_grow(one, chosen[one.id])]
    waiting.sort(key=lambda one: one.full_characters)
    for position, one in enumerate(waiting):
        old = chosen[one.id]
        room = min(allowance - spent, purse.tokens) // (len(waiting) - position)
        # What is whole may be no larger than a smallest form, which has to say that it isn't.
        if room <= 0 and one.full_characters > len(old.text):
            continue
        new = _fitting(one, old, max(room, 0), purse)
        if new is not None and purse.take(new, old):
            chosen[one.id] = new
            spent += new.tokens - old.tokens


def _can_grow(one: Slice, form: Form) -> bool:
    return form.compressed or len(form.text) < one.full_characters


def _fitting(one: Slice, old: Form, room: int, purse: _Purse) -> Form | None:
    """Return a fuller form that costs at most so many tokens more, or None.

    A form is asked for by characters, of which a byte limit takes up to four bytes each: a form that is too
    large in bytes shows how many characters fit.
    """
    most = old.bytes + purse.bytes
    limit = min((old.tokens + room) * CHARACTERS_PER_TOKEN, most)
    for _ in range(BYTE_ATTEMPTS):
        new = one.grow(limit)
        if new.tokens > old.tokens + room:
            return None
        if new.bytes <= most:
            fuller = new.tokens > old.tokens or (old.compressed and not new.compressed)
            return new if fuller else None
        limit = min(limit - 1, limit * most // new.bytes)
    return None
