"""Slices, which are the candidates for a context, and the selection of the slices that fit its budget.

Guarantees:

- The sum of all costs never exceeds the limits.
- Slices that were asked for enter first by their weights, each in its shortest form and in an order that
  doesn't depend on the limits, up to the first that doesn't fit. If something is in focus, found ones
  (`competes`) above `HEAVY` enter among them. So a larger limit never loses one, and none is dropped while
  another one is whole.
- With nothing in focus found ones above `HEAVY` enter so after `BODIES_CHARACTERS` of whole ones.
- Then found slices become whole and anchors grow, by steps in an order that doesn't depend on the limits
  either, up to the first step that doesn't fit. Meanwhile `FOCUS_SHARE` of the room is kept for files in
  focus, as far as they need it, and they become whole in it, the smallest first, each within its part. So
  what is whole within a limit is whole within a larger one.
- The room that is left then goes to the next slices, in part.
- Required slices come before all others. No other slice is dropped while `LEAST_TOKENS` remain, since
  shortest forms take no more; slices with a larger shortest form come last.
- No slice occurs twice: ids, paths with lines, and contents are unique.
- The same slices give the same selection in any order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, takewhile
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

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
    "place",
    "compressed_segment",
    "dependency",
    "hot",
    "skeleton",
]


class Form(Struct, frozen=True):
    """One way to show a slice: its rendered text, and whether it leaves something out (`compressed`).

    `body` is the shown text of a compressed item without its heading and fence; else it is "".
    """

    text: str
    compressed: bool = False
    body: str = ""


GrowForm = Callable[[int], Form]
"""Returns the longest form within a number of characters, or the smallest form if none fits."""


class Slice(Struct, frozen=True):
    """A candidate for the context.

    - `id`: unique within a context.
    - `smallest`: the form that enters first, of at most 100 tokens; `grow` returns a longer one for a number
      of characters, up to `full_characters`.
    - `order`: the place within its section.
    - `weight` (0 to 1): which slices come first when the budget is short, after the `required` ones.
    - `source`, `score`: for the record, where it came from and how near it is to the prompt.
    - `path`, `lines`: what it shows; lines from 1, both inclusive, None for the whole file.
    - `content_characters`: the size of its content if that is more than `full_characters`.
    - `content`: a key of the shown text, or ""; only one of the slices with the same content enters, and one
      of those with the same path and lines.
    - `competes`: it was found rather than asked for; it enters in a form of any size if there is room.
    - `tier`: found slices of a higher tier enter after all of the lower ones are whole.
    - `frame`: the texts before and after it; consecutive slices with the same frame share it.
    - `beside`: the id of the slice without which it doesn't enter.
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
    tier: int = 0
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
    "place": 0.10,
    "compressed_segment": 0.25,
    "dependency": 0.25,
    "agent_history": 0.10,
    "hot": 0.04,
    "skeleton": 0.12,
}
"""Maximum share of the budget for each type of slices in the first round of growing, so that one huge file
leaves room for the map. A second round without shares gives out the rest. The shares add up to more than 1,
since few contexts have slices of every type."""

ANCHORS: frozenset[SliceType] = frozenset(
    {"project_meta", "rule", "constraint", "reference", "agent_history"}
)
"""Types that grow by steps of `STEP_CHARACTERS` beside the other slices, each type within its share."""

OPENED: frozenset[SliceType] = frozenset({"focus", "expansion", "session_set"})
"""Types of files that were asked for: they become whole one after the other, the smallest first."""

STEP_CHARACTERS = 1_200
"""Characters by which rules and references grow at once, 300 tokens."""

PART_TOKENS_MIN = 60
"""Minimum tokens left for showing a part of the next found slice; fewer hold little more than its head."""

PARTS_MAX = 3
"""Maximum number of found slices shown in part only because no more room is left."""

HEAVY = 0.4
"""Weight above which a found slice enters in its shortest form before any slice grows, so that it is rather
shortened than left out."""

BODIES_CHARACTERS = 2_000
"""Maximum characters of found slices that are shown whole before all above `HEAVY` enter in their shortest
forms, if nothing is in focus: those of a context of 500 tokens. Of what commits edited in benchmarks/needed
such a context shows .04 less if they enter first, and larger ones as much."""

FOCUS_SHARE = 0.5
"""Share of the room that is kept for files in focus while found slices become whole: what the prompt needs
comes before the rest of a file."""

LEAST_TOKENS = 100
"""Remaining tokens above which the next slice is shortened rather than dropped."""

ATTEMPTS = 4
"""Attempts to shrink a slice that came out larger than expected; few need three."""

WEIGHT_MIN = 0.05
"""Minimum weight for sharing room, so that a slice without weight gets a little."""


GROWTH_POWER = 2.5
"""Remaining room is shared in proportion to this power of the weights. Share of the needed definitions that a
context of 2,000, 4,000 and 8,000 tokens shows (101 prompts, 7 projects): .51, .58 and .70 with the power 1;
.55, .61 and .74 with 2; .54, .67 and .76 with 3, but slightly fewer of the needed files."""

ROUNDING = 1e-6
"""Compensates for floating-point errors, so that the last slice gets all remaining tokens."""


class Cost(Struct, frozen=True):
    """The size of a slice in a context, or the limits of a context."""

    tokens: int
    bytes: int


NOTHING = Cost(0, 0)
Limits = Cost
Measure = Callable[[Slice, Form], Cost]
"""Returns the cost of a slice in a form, as rendered in the context."""

Reason = Literal["budget", "duplicate"]


class Dropped(Struct, frozen=True):
    """A slice that didn't enter: there was no room, or another slice shows the same."""

    slice: Slice
    reason: Reason


class Selection(Struct, frozen=True):
    """The chosen and the dropped slices, in the order given; `costs` are by id."""

    chosen: tuple[tuple[Slice, Form], ...]
    costs: Mapping[str, Cost]
    dropped: tuple[Dropped, ...]


def plain_measure(counter: TokenCounter) -> Measure:
    """Return the measure for Markdown, which holds the forms as they are."""
    return lambda _, form: Cost(counter.count(form.text), len(form.text.encode("utf-8", "replace")))


def select(
    slices: Sequence[Slice],
    limits: Limits,
    counter: TokenCounter,
    measure: Measure | None = None,
    withheld: Cost = NOTHING,
) -> Selection:
    """Choose slices and their forms within the limits.

    `measure` returns the cost of a form, by default that of its text. `withheld` is a part of the limits that
    slices may enter with but not grow into.
    """
    measure = measure or plain_measure(counter)
    shortest = {id(piece): _shortest(piece) for piece in slices}
    focused = any(piece.type in OPENED for piece in slices)

    def is_first(piece: Slice) -> bool:
        return not piece.competes or (focused and _is_heavy(piece))

    def rank(piece: Slice) -> tuple[object, ...]:
        return (not is_first(piece), *_rank(piece, measure(piece, shortest[id(piece)])))

    # Of two slices that show the same, the one that was asked for stays.
    unique = _unique(sorted(slices, key=lambda piece: (piece.competes, *rank(piece))))
    unique.sort(key=rank)
    remaining = _Remaining(limits, counter, measure)
    is_open = all(
        remaining.admit(piece, shortest[id(piece)], measure(piece, shortest[id(piece)]))
        for piece in filter(is_first, unique)
        if not piece.beside or piece.beside in remaining.chosen
    )
    remaining.withhold(withheld)
    # If bytes are scarcer than tokens, shares of the tokens would give all bytes to the first slices.
    room = min(limits.tokens, limits.bytes // CHARACTERS_PER_TOKEN)
    chosen = [item for item in unique if item.id in remaining.chosen]
    found = [item for item in unique if item.competes] if is_open else []
    opened = [item for item in chosen if item.type in OPENED] if found else []
    need = sum(item.full_characters for item in opened)
    kept = remaining.keep(need)
    asked = [item for item in chosen if not item.competes and not (found and item.type in OPENED)]
    is_complete = _Steps(asked, found, remaining, room, need).take()
    remaining.give_back(kept)
    _open(opened, remaining)
    # What grows now would be smaller again in a larger context if more steps could follow.
    last = [item for item in unique if item.id in remaining.chosen and (is_complete or not item.competes)]
    anchors = [item for item in last if item.type in ANCHORS and (item.type != "rule" or not found)]
    others = [item for item in last if item.type not in ANCHORS]
    rest = sorted([*anchors, *others], key=lambda item: bool(found) and item.type in OPENED)
    related = [item for item in rest if not (found and item.type in OPENED)]
    for items, shares in ((others, SHARES), (anchors, SHARES), (related, {}), (rest, {})):
        for group in _groups(items):
            share = shares.get(group[0].type)
            each = limits.tokens
            if opened and group[0].type in OPENED and any(map(remaining.can_grow, related)):
                each = int(room * FOCUS_SHARE)
            _grow(group, remaining, limits.tokens if share is None else int(room * share), each)
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
    """The remaining tokens and bytes, and the slices admitted so far with their forms and costs."""

    def __init__(self, limits: Limits, counter: TokenCounter, measure: Measure) -> None:
        self.tokens = limits.tokens
        self.bytes = limits.bytes
        self.chosen: dict[str, Form] = {}
        self.costs: dict[str, Cost] = {}
        self.frames: set[tuple[str, str]] = set()
        self.spent = 0
        self._counter = counter
        self.measure = measure

    def price(self, piece: Slice, cost: Cost) -> Cost:
        """Return the cost of admitting a slice, including its frame if no admitted slice shares it."""
        if piece.frame is None or piece.frame in self.frames:
            return cost
        text = "".join(piece.frame)
        size = len(text.encode("utf-8", "replace"))
        return Cost(cost.tokens + self._counter.count(text), cost.bytes + size)

    def admit(self, piece: Slice, form: Form, cost: Cost) -> bool:
        """Admit a slice in a form if there is room; return whether there was."""
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
        """Admit a slice in the longest form that fits and isn't whole; return whether one did."""
        around = self.price(piece, NOTHING)
        room = min(self._counter.characters(self.tokens - around.tokens), self.bytes - around.bytes)
        part = piece.grow(min(room, piece.full_characters - 1))
        return part.compressed and self.admit(piece, part, self.measure(piece, part))

    def longer(self, piece: Slice, sizes: Iterable[int]) -> tuple[Form, Cost] | None:
        """Return the next longer form of an admitted slice with its cost, None if there is none."""
        for size in sizes:
            form = piece.grow(size)
            if form.text != self.chosen[piece.id].text:
                return form, self.measure(piece, form)
        return None

    def replace(self, piece: Slice, form: Form, cost: Cost) -> bool:
        """Give an admitted slice another form if there is room; return whether there was."""
        paid = self.costs[piece.id]
        if cost.tokens - paid.tokens > self.tokens or cost.bytes - paid.bytes > self.bytes:
            return False
        self.tokens -= cost.tokens - paid.tokens
        self.bytes -= cost.bytes - paid.bytes
        self.spent += cost.tokens - paid.tokens
        self.chosen[piece.id], self.costs[piece.id] = form, cost
        return True

    def may_hold(self, characters: int) -> bool:
        """Whether a text of this length may fit; a much longer one isn't worth counting."""
        return characters <= self.most_characters(self.tokens)

    def most_characters(self, tokens: int) -> int:
        """Return the characters above which a text surely takes more than these tokens."""
        return 4 * self._counter.characters(tokens + LEAST_TOKENS)

    def withhold(self, cost: Cost) -> None:
        """Reserve a part of the budget."""
        self.tokens = max(self.tokens - cost.tokens, 0)
        self.bytes = max(self.bytes - cost.bytes, 0)

    def keep(self, characters: int) -> Cost:
        """Reserve room for so many characters, at most `FOCUS_SHARE` of what is left; return what was
        reserved."""
        tokens = min(self.tokens_of(characters), int(self.tokens * FOCUS_SHARE))
        kept = Cost(tokens, min(characters, int(self.bytes * FOCUS_SHARE)))
        self.withhold(kept)
        return kept

    def give_back(self, kept: Cost) -> None:
        """End a reservation."""
        self.tokens += kept.tokens
        self.bytes += kept.bytes

    def tokens_of(self, characters: int) -> int:
        """Return about how many tokens a text of this length has."""
        return characters * 1_000 // max(self._counter.characters(1_000), 1)

    def can_grow(self, piece: Slice) -> bool:
        """Whether a slice isn't shown whole yet."""
        form = self.chosen[piece.id]
        return form.compressed or len(form.text) < piece.full_characters

    def grow(self, piece: Slice, room: int, *, whole: bool = True) -> int:
        """Give a slice a longer form for at most `room` more tokens, the `whole` one only if that is allowed;
        return the tokens used.

        Forms are requested by characters. If a form is too large, its cost tells how many characters fit.
        """
        old, paid = self.chosen[piece.id], self.costs[piece.id]
        room = min(room, self.tokens)
        most = Cost(paid.tokens + room, paid.bytes + self.bytes)
        limit = min(self._counter.characters(most.tokens), most.bytes)
        if not whole:
            limit = min(limit, piece.full_characters - 1)
        for _ in range(ATTEMPTS):
            new = piece.grow(limit)
            cost = self.measure(piece, new)
            if cost.tokens <= most.tokens and cost.bytes <= most.bytes:
                if cost.tokens <= paid.tokens and not (old.compressed and not new.compressed):
                    return 0
                self.replace(piece, new, cost)
                return cost.tokens - paid.tokens
            if new.text == old.text or limit <= 0:
                return 0
            by_tokens = limit * most.tokens // max(cost.tokens, 1)
            by_bytes = limit * most.bytes // max(cost.bytes, 1)
            limit = min(limit - 1, by_tokens, by_bytes)
        return 0


def _shortest(piece: Slice) -> Form:
    """Return the form in which a slice may enter before it grows."""
    form = piece.grow(0) if piece.competes and _is_heavy(piece) else piece.smallest
    return form if len(form.text) < len(piece.smallest.text) else piece.smallest


def _is_heavy(piece: Slice) -> bool:
    """Whether a slice is rather shortened than left out."""
    return piece.weight > HEAVY and not piece.tier


def _rank(piece: Slice, cost: Cost) -> tuple[object, ...]:
    """Return the sort key of a slice, which depends neither on the limits nor on the given order."""
    bulky = not piece.required and not piece.competes and cost.tokens > LEAST_TOKENS
    place = (
        piece.layer,
        piece.order,
        piece.id,
        piece.path,
        piece.lines or (),
        piece.full_characters,
        piece.smallest.text,
    )
    late = piece.tier if piece.competes else bulky
    return (not piece.required, late, -piece.weight, bool(piece.beside), *place)


def decided(slices: Sequence[Slice]) -> list[Slice]:
    """Return the slices with weights that fall in the order in which they enter, within what was asked for
    and within what was found.

    A required slice has the weight 1, one of a higher tier less than all of the lower ones, and one that
    enters only beside another no more than that one.
    """
    weights = {id(piece): 1.0 if piece.required else piece.weight for piece in slices}
    least = HEAVY
    for tier in sorted({piece.tier for piece in slices if piece.competes}):
        group = [piece for piece in slices if piece.competes and piece.tier == tier]
        most = max(piece.weight for piece in group)
        if tier and most > least:
            for piece in group:
                weights[id(piece)] = round(least * (1 + piece.weight / most) / 2, 6)
        least = min(least, *(weights[id(piece)] for piece in group))
    by_id = {piece.id: weights[id(piece)] for piece in slices}
    return [replace(piece, weight=min(weights[id(piece)], by_id.get(piece.beside, 1.0))) for piece in slices]


class _Steps:
    """The steps by which a context grows, in an order that doesn't depend on its limits.

    A step admits a found slice, makes one whole, or gives one that was asked for its next longer form. Types
    with a share take a step when it keeps them within that share of all that is shown with the step that
    would follow it. `beside` are the characters of files in focus, which get as much room meanwhile as the
    steps take.
    """

    def __init__(
        self,
        asked: Sequence[Slice],
        found: Sequence[Slice],
        remaining: _Remaining,
        room: int,
        beside: int,
    ) -> None:
        self._remaining = remaining
        self._room = room
        self._most = remaining.most_characters(room)
        self._beside = remaining.tokens_of(beside)
        self._before = remaining.spent
        # How many dependencies there are depends on the limits, which the order of the steps must not.
        self._asked = sum(remaining.costs[item.id].tokens for item in asked if item.type != "dependency")
        self._found = deque(_in_order(found, remaining.chosen))
        self._queues = {
            group[0].type: deque(
                sorted(group, key=lambda item: item.full_characters) if group[0].type in OPENED else group
            )
            for group in _groups(item for item in asked if item.type in ANCHORS | OPENED)
        }
        self._opened = [list(group) for name, group in self._queues.items() if name in OPENED]
        self._spent = {
            name: sum(remaining.costs[item.id].tokens for item in group)
            for name, group in self._queues.items()
        }
        self._heads: dict[SliceType, tuple[Form, Cost]] = {}

    def take(self) -> bool:
        """Take all steps that fit; return whether no step is left. The room left goes to slices in part."""
        while (kind := self._next_type()) is not None or self._found:
            fits = self._advance(kind) if kind is not None else self._admit()
            if not fits:
                self._fill()
                return False
        return True

    def _next_type(self) -> SliceType | None:
        """Return the type whose slice takes the next step; None if a found slice does, or none is left."""
        remaining = self._remaining
        steps = {kind: step for kind in self._queues if (step := self._step(kind)) is not None}
        found = self._price_of_found()
        taken = remaining.spent - self._before
        beside = min(self._beside, taken) if self._found else self._beside
        opened = next((cost for kind, cost in steps.items() if kind in OPENED), found)
        for kind, cost in steps.items():
            shown = self._asked + taken + beside + cost + (opened if kind in ANCHORS else found)
            if self._spent[kind] + cost <= SHARES[kind] * shown:
                return kind
        return None

    def _step(self, kind: SliceType) -> int | None:
        """Return the tokens of the next step of a type; None if all of its slices are whole."""
        queue, remaining = self._queues[kind], self._remaining
        while queue and kind not in self._heads:
            piece, full = queue[0], queue[0].full_characters
            step: tuple[Form, Cost] | None = None
            grows = remaining.can_grow(piece)
            if grows and kind in OPENED and not remaining.may_hold(full):
                # Its size tells enough: it will be shown in part.
                step = remaining.chosen[piece.id], Cost(full // CHARACTERS_PER_TOKEN, full)
            elif grows:
                at = len(remaining.chosen[piece.id].text)
                sizes = () if kind in OPENED else range(at + STEP_CHARACTERS, full, STEP_CHARACTERS)
                largest = at + self._most
                step = remaining.longer(piece, takewhile(largest.__ge__, (*sizes, full)))
                if step is None and full > largest:
                    # Its next form is longer than the context: a step that never fits and so is the last.
                    paid, more = remaining.costs[piece.id], self._most
                    cost = Cost(paid.tokens + more // CHARACTERS_PER_TOKEN, paid.bytes + more)
                    step = remaining.chosen[piece.id], cost
            if step is None:
                queue.popleft()
            else:
                self._heads[kind] = step
        if kind not in self._heads:
            return None
        return max(self._heads[kind][1].tokens - remaining.costs[queue[0].id].tokens, 0)

    def _advance(self, kind: SliceType) -> bool:
        """Take the next step of a type if it fits."""
        tokens = self._step(kind) or 0
        if SHARES[kind] < 1 and self._spent[kind] + tokens > SHARES[kind] * self._room:
            return False
        form, cost = self._heads[kind]
        if not self._remaining.replace(self._queues[kind][0], form, cost):
            return False
        self._spent[kind] += tokens
        del self._heads[kind]
        return True

    def _price_of_found(self) -> int:
        """Return the tokens of the next step of the found slices, 0 if there is none."""
        if not self._found:
            return 0
        (piece, form), remaining = self._found[0], self._remaining
        if piece.id not in remaining.chosen:
            return remaining.price(piece, remaining.measure(piece, form or piece.smallest)).tokens
        size = piece.full_characters if form is None else len(form.text)
        return max(size // CHARACTERS_PER_TOKEN - remaining.costs[piece.id].tokens, 0)

    def _admit(self) -> bool:
        """Take the next step of the found slices if it fits."""
        (piece, form), remaining = self._found[0], self._remaining
        if piece.id not in remaining.chosen:
            form = form or piece.smallest
            fits = remaining.admit(piece, form, remaining.measure(piece, form))
        elif not remaining.can_grow(piece) or (form and form.text == remaining.chosen[piece.id].text):
            fits = True
        elif form is not None:
            fits = remaining.replace(piece, form, remaining.measure(piece, form))
        elif remaining.may_hold(piece.full_characters):
            longer = remaining.longer(piece, (piece.full_characters,))
            fits = longer is None or remaining.replace(piece, *longer)
        else:
            fits = False
        if fits:
            self._found.popleft()
        return fits

    def _fill(self) -> None:
        """Give the room that is left to the next slices. None becomes whole: a larger context may need the
        room for the step that didn't fit here."""
        for group in self._opened:
            allowance = int(self._room * SHARES[group[0].type])
            _grow(group, self._remaining, allowance, allowance, whole=False)
        remaining, left = self._remaining, list({piece.id: piece for piece, _ in self._found}.values())
        for piece in filter(_is_heavy, left):
            form = _shortest(piece)
            if form.compressed and piece.id not in remaining.chosen:
                remaining.admit(piece, form, remaining.measure(piece, form))
        for piece in left[:PARTS_MAX]:
            if remaining.tokens < PART_TOKENS_MIN:
                break
            if piece.id in remaining.chosen:
                remaining.grow(piece, remaining.tokens, whole=False)
            else:
                remaining.admit_part(piece)


def _open(opened: Iterable[Slice], remaining: _Remaining) -> None:
    """Make files in focus whole, the smallest first, up to the first that needs more than its part of the
    room: the others would show less than in a smaller context."""
    waiting = sorted(filter(remaining.can_grow, opened), key=lambda item: item.full_characters)
    for taken, piece in enumerate(waiting):
        if not remaining.may_hold(piece.full_characters):
            return
        paid, files = remaining.costs[piece.id], len(waiting) - taken
        longer = remaining.longer(piece, (piece.full_characters,))
        if longer is None:
            continue
        tokens, size = longer[1].tokens - paid.tokens, longer[1].bytes - paid.bytes
        is_fair = tokens * files <= remaining.tokens and size * files <= remaining.bytes
        if not is_fair or not remaining.replace(piece, *longer):
            return


def _in_order(found: Iterable[Slice], chosen: Collection[str]) -> Iterator[tuple[Slice, Form | None]]:
    """Yield found slices by rank with the forms in which they enter, each after the one without which it
    doesn't; those of a tier again behind it with None, to become whole.

    Those above `HEAVY` enter in their shortest forms before the one that brings what is shown above
    `BODIES_CHARACTERS`.
    """
    placed = set(chosen)
    for _, group in groupby(found, key=lambda item: item.tier):
        waiting: dict[str, list[Slice]] = {}
        entering: list[Slice] = []
        for item in group:
            if item.beside and item.beside not in placed:
                waiting.setdefault(item.beside, []).append(item)
            else:
                entering += (item, *waiting.pop(item.id, ()))
                placed.add(item.id)
        shown, are_short = 0, False
        for at, item in enumerate(entering):
            shown += len(item.smallest.text)
            if shown > BODIES_CHARACTERS and not are_short:
                are_short = True
                yield from ((other, _shortest(other)) for other in entering[at:] if _is_heavy(other))
            yield item, item.smallest
        yield from ((item, None) for item in entering)


def _unique(ranked: Iterable[Slice]) -> list[Slice]:
    """Return the slices without duplicates of earlier ones."""
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
    """Group slices by type, in the order of the first slice of each type."""
    groups: dict[str, list[Slice]] = {}
    for item in admitted:
        groups.setdefault(item.type, []).append(item)
    return list(groups.values())


def _grow(
    group: Sequence[Slice], remaining: _Remaining, allowance: int, each: int, *, whole: bool = True
) -> None:
    """Let the slices of a group grow within a common allowance of tokens, `each` to no more than so many.

    Smaller slices come first, and each may use a part of the rest by its weight. So several files share the
    room fairly, and small ones are shown whole.
    """
    spent = sum(remaining.costs[item.id].tokens for item in group)
    waiting = [item for item in group if remaining.can_grow(item)]
    waiting.sort(key=lambda item: item.full_characters)
    weights = sum(_share(item) for item in waiting)
    for item in waiting:
        room = int(max(min(allowance - spent, remaining.tokens), 0) * _share(item) / weights + ROUNDING)
        room = min(room, each - remaining.costs[item.id].tokens)
        weights = max(weights - _share(item), WEIGHT_MIN)
        # The whole text may be no longer than the smallest form, which has a note.
        if room > 0 or item.full_characters <= len(remaining.chosen[item.id].text):
            spent += remaining.grow(item, room, whole=whole)


def _share(piece: Slice) -> float:
    return float(max(piece.weight, WEIGHT_MIN) ** GROWTH_POWER)
