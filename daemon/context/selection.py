"""Slices, the candidates for a context, and the selection of those that fit its budget.

What it promises, whatever the slices are:

- The sum of all costs is never above the limits.
- With a larger limit no slice is lost that doesn't compete: these enter in their smallest form, in an order
  that doesn't depend on the limits, up to the first that doesn't fit; only then what remains lets them grow.
- What competes was found rather than asked for: it enters by its weight where what was asked for, which grows
  before it, leaves room.
- What is required comes before all else. Beside that nothing is dropped as long as `LEAST_TOKENS` remain
  when its turn comes: a smallest form takes no more, and one that does stands behind all others.
- Nothing is in twice: by its id, by its path and lines, or by its content.
- The same slices give the same choice, in whatever order they are given.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from .tokens import CHARACTERS_PER_TOKEN, TokenCounter

Layer = Literal["anchor", "focus", "horizon"]
LAYERS: tuple[Layer, ...] = ("anchor", "focus", "horizon")

SliceType = Literal[
    "project_meta",
    "rule",
    "constraint",
    "agent_history",
    "reference",
    "focus",
    "expansion",
    "session_set",
    "document",
    "compressed_segment",
    "dependency",
    "hot",
    "skeleton",
]


class Form(Struct, frozen=True):
    """One way to show a slice: its text as rendered, and whether something of it was left out.

    `body` is what a compressed item shows of its text, without what stands around it; else it is empty.
    """

    text: str
    compressed: bool = False
    body: str = ""


GrowForm = Callable[[int], Form]
"""Give the fullest form whose text fits a number of characters; larger if none is that small."""


class Slice(Struct, frozen=True):
    """A candidate for the context.

    `id` is unique within a context. `smallest` is the form that enters first, of at most 100 tokens; `grow`
    gives a fuller one for a number of characters, up to `full_characters`. `order` places it within its
    section; `weight` (0..1) decides who comes first when the budget is short, after what is `required`.

    For the record `source` says where it came from, `score` how near it is to the prompt, `path` and `lines`
    (from 1, both inclusive, None for the whole file) what it shows, and `content_characters` how much there
    is of it where that is more than `full_characters`. Of slices with one `content` (any key of what they
    show, "" for none), or with one path and lines, one enters. What `competes` was found: it enters in a form
    of any size, by its weight, where what was asked for leaves room. Slices that follow each other and have
    one `frame`, the texts before and behind, stand in it together. With `beside` it enters only where the
    slice of that id did.
    """

    id: str
    type: SliceType
    layer: Layer
    weight: float
    order: tuple[int | str, ...]
    smallest: Form
    grow: GrowForm
    full_characters: int
    path: str = ""
    source: str = ""
    score: float | None = None
    required: bool = False
    lines: tuple[int, int] | None = None
    content: str = ""
    content_characters: int = 0
    competes: bool = False
    frame: tuple[str, str] | None = None
    beside: str = ""


def fixed(form: Form) -> tuple[Form, GrowForm, int]:
    """Return the three fields of a slice that has one form only."""
    return form, lambda _: form, len(form.text)


SHARES: Mapping[SliceType, float] = {
    "project_meta": 0.10,
    "rule": 0.35,
    "constraint": 0.15,
    "reference": 0.30,
    "focus": 1.00,
    "expansion": 0.80,
    "session_set": 0.50,
    "document": 0.40,
    "compressed_segment": 0.25,
    "dependency": 0.25,
    "agent_history": 0.10,
    "hot": 0.04,
    "skeleton": 0.12,
}
"""How much of the budget the slices of a type may take together in the first round, so that one huge file
doesn't leave the agent without a map. What others don't use is given out in a second round, without shares.
They add up to more than 1 on purpose: few contexts have slices of every type."""

ASKED_FOR: frozenset[SliceType] = frozenset(
    {"project_meta", "rule", "constraint", "reference", "agent_history", "focus", "expansion", "session_set"}
)
"""What grows before anything that was found enters whole."""

LEAST_TOKENS = 100
"""Remaining tokens above which the next slice is shortened rather than dropped."""

ATTEMPTS = 4
"""Attempts to shrink a slice that came out larger than expected; few need three."""

WEIGHT_MIN = 0.05
"""A slice without weight still gets a small part of the room."""


GROWTH_POWER = 2.5
"""What remains is shared by this power of the weights. Measured by the needed definitions shown (101 prompts,
7 projects): 1 shows .51, .58 and .70 of the needed definitions in 2,000, 4,000 and 8,000 tokens, 2 shows
.55, .61 and .74, 3 shows .54, .67 and .76, but a little fewer of the needed files."""

ROUNDING = 1e-6
"""Parts are floating-point numbers: the last one is to get all that is left."""


class Cost(Struct, frozen=True):
    """What a slice takes of a context, or what a context may take at the most."""

    tokens: int
    bytes: int


NOTHING = Cost(0, 0)
Limits = Cost
Measure = Callable[[Slice, Form], Cost]
"""Say what a slice costs in a form, as the context will hold it."""

Reason = Literal["budget", "duplicate"]


class Dropped(Struct, frozen=True):
    """A slice that didn't enter, and why: for want of room, or as another shows the same."""

    slice: Slice
    reason: Reason


class Selection(Struct, frozen=True):
    """What entered, and what didn't, each in the order of the given slices; `costs` are by id."""

    chosen: tuple[tuple[Slice, Form], ...]
    costs: Mapping[str, Cost]
    dropped: tuple[Dropped, ...]


def plain_measure(counter: TokenCounter) -> Measure:
    """Return the measure of a context that holds its slices as they are."""
    return lambda _, form: Cost(counter.count(form.text), len(form.text.encode("utf-8", "replace")))


def select(
    slices: Sequence[Slice],
    limits: Limits,
    counter: TokenCounter,
    measure: Measure | None = None,
    withheld: Cost = NOTHING,
) -> Selection:
    """Choose slices and their forms within the limits.

    `measure` says what a form costs, by default what the counter says of its text. So much of the limits as
    is `withheld` lets nothing grow, but doesn't keep anything out.
    """
    measure = measure or plain_measure(counter)
    smallest = {id(piece): measure(piece, piece.smallest) for piece in slices}
    ranked = sorted(slices, key=lambda piece: _rank(piece, smallest[id(piece)]))
    unique = _unique(ranked)
    remaining = _Remaining(limits, counter, measure)
    given = [item for item in unique if not item.competes]
    is_whole = all(remaining.admit(piece, piece.smallest, smallest[id(piece)]) for piece in given)
    remaining.withhold(withheld)
    # Where the bytes bind before the tokens do, shares of the tokens would give all to who comes first.
    room = min(limits.tokens, limits.bytes // CHARACTERS_PER_TOKEN)

    def grow(types: Collection[SliceType], shares: Mapping[SliceType, float]) -> None:
        chosen = [item for item in unique if item.id in remaining.chosen and item.type in types]
        for group in _groups(chosen):
            share = shares.get(group[0].type)
            _grow(group, remaining, limits.tokens if share is None else int(room * share))

    grow(ASKED_FOR, SHARES)
    if is_whole:
        _compete([item for item in unique if item.competes], smallest, remaining)
    grow(SHARES.keys(), SHARES)
    grow(SHARES.keys(), {})
    admitted = [item for item in unique if item.id in remaining.chosen]
    inside, known = {id(item) for item in admitted}, {id(item) for item in unique}
    return Selection(
        tuple((piece, remaining.chosen[piece.id]) for piece in slices if id(piece) in inside),
        remaining.costs,
        tuple(
            Dropped(piece, "budget" if id(piece) in known else "duplicate")
            for piece in slices
            if id(piece) not in inside
        ),
    )


class _Remaining:
    """What is left of the limits, and what was bought."""

    def __init__(self, limits: Limits, counter: TokenCounter, measure: Measure) -> None:
        self.tokens = limits.tokens
        self.bytes = limits.bytes
        self.chosen: dict[str, Form] = {}
        self.costs: dict[str, Cost] = {}
        self.frames: set[tuple[str, str]] = set()
        self.spent = 0
        self._counter = counter
        self._measure = measure

    def price(self, piece: Slice, cost: Cost) -> Cost:
        """Return what it takes to admit a slice: its frame is paid for once."""
        if piece.frame is None or piece.frame in self.frames:
            return cost
        text = "".join(piece.frame)
        size = len(text.encode("utf-8", "replace"))
        return Cost(cost.tokens + self._counter.count(text), cost.bytes + size)

    def admit(self, piece: Slice, form: Form, cost: Cost) -> bool:
        """Take a slice in a form if there is room."""
        price = self.price(piece, cost)
        if price.tokens > self.tokens or price.bytes > self.bytes:
            return False
        self.tokens -= price.tokens
        self.bytes -= price.bytes
        self.spent += price.tokens
        if piece.frame is not None:
            self.frames.add(piece.frame)
        self.chosen[piece.id], self.costs[piece.id] = form, cost
        return True

    def admit_part(self, piece: Slice) -> bool:
        """Take a slice in a form for what room there is, if it has one."""
        around = self.price(piece, NOTHING)
        part = piece.grow(
            min(self._counter.characters(self.tokens - around.tokens), self.bytes - around.bytes)
        )
        return self.admit(piece, part, self._measure(piece, part))

    def withhold(self, cost: Cost) -> None:
        """Reserve a part of the budget."""
        self.tokens = max(self.tokens - cost.tokens, 0)
        self.bytes = max(self.bytes - cost.bytes, 0)

    def can_grow(self, piece: Slice) -> bool:
        """Whether there is more of a slice than is shown."""
        form = self.chosen[piece.id]
        return form.compressed or len(form.text) < piece.full_characters

    def grow(self, piece: Slice, room: int) -> int:
        """Give a slice a fuller form that costs at most so many tokens more; returns how many it does.

        A form is asked for by characters: one that is too large in tokens or bytes shows how many fit.
        """
        old, paid = self.chosen[piece.id], self.costs[piece.id]
        room = min(room, self.tokens)
        most = Cost(paid.tokens + room, paid.bytes + self.bytes)
        limit = min(self._counter.characters(most.tokens), most.bytes)
        for _ in range(ATTEMPTS):
            new = piece.grow(limit)
            cost = self._measure(piece, new)
            if cost.tokens <= most.tokens and cost.bytes <= most.bytes:
                if cost.tokens <= paid.tokens and not (old.compressed and not new.compressed):
                    return 0
                self.tokens -= cost.tokens - paid.tokens
                self.bytes -= cost.bytes - paid.bytes
                self.spent += cost.tokens - paid.tokens
                self.chosen[piece.id], self.costs[piece.id] = new, cost
                return cost.tokens - paid.tokens
            if new.text == old.text or limit <= 0:
                return 0
            by_tokens = limit * most.tokens // max(cost.tokens, 1)
            by_bytes = limit * most.bytes // max(cost.bytes, 1)
            limit = min(limit - 1, by_tokens, by_bytes)
        return 0


def _rank(piece: Slice, cost: Cost) -> tuple[object, ...]:
    """Return what decides who comes first; nothing of it depends on the limits or on the order given."""
    bulky = not piece.required and cost.tokens > LEAST_TOKENS
    place = (
        piece.layer,
        piece.order,
        piece.id,
        piece.path,
        piece.lines or (),
        piece.full_characters,
        piece.smallest.text,
    )
    return (piece.competes, not piece.required, bulky and not piece.competes, -piece.weight, *place)


def _compete(ranked: Sequence[Slice], smallest: Mapping[int, Cost], remaining: _Remaining) -> None:
    """Let slices enter by their rank; what doesn't fit any more is passed over with what stands beside it.

    Of the first at least a part enters: what is most probably needed must not be missing for its length.
    """
    for item in ranked:
        if not item.beside or item.beside in remaining.chosen:
            remaining.admit(item, item.smallest, smallest[id(item)])
    if ranked and ranked[0].id not in remaining.chosen:
        remaining.admit_part(ranked[0])


def _unique(ranked: Iterable[Slice]) -> list[Slice]:
    """Return the slices without those that show what one before them shows."""
    unique: list[Slice] = []
    seen: set[tuple[object, ...]] = set()
    for item in ranked:
        keys: list[tuple[object, ...]] = [("id", item.id)]
        if item.path:
            keys.append(("place", item.path, item.lines))
        if item.content:
            keys.append(("content", item.content))
        if seen.isdisjoint(keys):
            unique.append(item)
            seen.update(keys)
    return unique


def _groups(admitted: Iterable[Slice]) -> list[list[Slice]]:
    """Return the slices by type, types in the order of their first slice."""
    groups: dict[str, list[Slice]] = {}
    for item in admitted:
        groups.setdefault(item.type, []).append(item)
    return list(groups.values())


def _grow(group: Sequence[Slice], remaining: _Remaining, allowance: int) -> None:
    """Let the slices of a group grow within an allowance of tokens for all of them together.

    The smaller ones first, each a part of what is left by its weight, so that several files share the room
    fairly and a small one is shown whole.
    """
    spent = sum(remaining.costs[item.id].tokens for item in group)
    waiting = [item for item in group if remaining.can_grow(item)]
    waiting.sort(key=lambda item: item.full_characters)
    weights = sum(_share(item) for item in waiting)
    for item in waiting:
        room = int(max(min(allowance - spent, remaining.tokens), 0) * _share(item) / weights + ROUNDING)
        weights = max(weights - _share(item), WEIGHT_MIN)
        # What is whole may be no larger than a smallest form, which has to say that it isn't.
        if room > 0 or item.full_characters <= len(remaining.chosen[item.id].text):
            spent += remaining.grow(item, room)


def _share(piece: Slice) -> float:
    return float(max(piece.weight, WEIGHT_MIN) ** GROWTH_POWER)
