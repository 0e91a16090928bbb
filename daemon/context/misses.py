"""What a context left out: its near misses, the limit that bound, and the verdict in one line.

The near misses are recorded when a context is built, from what its sources gave; nothing is searched again.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from ..rules.items import LeftOutItem, PlannedItem
from ..search.query import FoundDefinition
from .build_state import BuildState
from .hit_slices import DEFINITIONS_MAX, SHOWN_MIN, Found, found_in
from .reply import scarcer_limit
from .requests import ContextRequest
from .selection import Dropped, Form, Selection, Slice

NEAR_MAX = 10
"""Maximum number of places among the near misses."""

NEAR_ITEMS_MAX = 5
"""Maximum number of rules, references, tools, constraints and decisions among them."""

NAME_CHARACTERS = 200
"""Maximum characters of the name of a miss without a path; a decision is named by its text."""

Limit = Literal["", "max_tokens", "max_bytes", "deadline_ms"]

MissKind = Literal["place", "rule", "reference", "tool", "constraint", "decision"]

KINDS: Mapping[str, MissKind] = {
    "rule": "rule",
    "reference": "reference",
    "tool": "tool",
    "constraint": "constraint",
    "agent_history": "decision",
}
"""The kinds of misses that are no places, by the type of their slices."""

ITEM_REASONS: Mapping[str, str] = {
    "floor": "its score is too low: it is hardly about this prompt",
    "near_best": "another one fits much better",
    "top_n": "others scored higher, and no more are taken",
    "removed": "it was taken out of this session by hand",
    "denied": "the request asked to leave it out",
}
"""Why a search left an item out, in words."""


class NearMiss(Struct, frozen=True, kw_only=True):
    """Something that was considered and isn't shown.

    A place has a path, the line where it begins, its symbol if it is a definition, and a node id. Others have
    a `name`. `score` is the probability that it is needed, or an item's similarity; None without a search.
    """

    kind: MissKind = "place"
    path: str = ""
    line: int = 0
    symbol: str = ""
    score: float | None = None
    reason: str
    node_id: str = ""
    name: str | UnsetType = UNSET
    server_name: str | UnsetType = UNSET


def limit_of(request: ContextRequest, selection: Selection, reply: Mapping[str, Any], late: bool) -> Limit:
    """Return the limit that kept content out or shortened it, "" if none did.

    `late` says whether a source ran out of time.
    """
    left_tokens = request.context_tokens - reply["tokens"]
    left_bytes = request.max_bytes - reply["bytes"]
    room = min(
        left_tokens * reply["bytes"] // reply["tokens"] if reply["tokens"] else left_tokens, left_bytes
    )
    if not any(each.reason == "budget" for each in selection.dropped) and not any(
        form.compressed and piece.full_characters - len(form.text) > room for piece, form in selection.chosen
    ):
        return "deadline_ms" if late else ""
    return scarcer_limit(request, reply["tokens"], reply["bytes"])


def near_misses(
    state: BuildState,
    found: Sequence[Found],
    offered: Sequence[Slice],
    considered: Sequence[Slice],
    selection: Selection,
    missing: Sequence[PlannedItem],
    left_out: Sequence[LeftOutItem],
    reply: Mapping[str, Any],
) -> tuple[NearMiss, ...]:
    """Return the best places and items that aren't shown, each with the reason. Takes some tens of µs.

    `offered` are all slices, `considered` those that competed for the room, `missing` and `left_out` the
    items without room and those that the search for items passed over.
    """
    room = _Room(state, reply)
    dropped = [each for each in selection.dropped if each.reason == "budget"]
    asked = [each for each in dropped if each.slice.path and each.slice.type not in KINDS]
    before = [each for each in asked if not each.slice.competes and each.slice.type != "dependency"]
    after = [each for each in asked if each.slice.score is None and each not in before]
    places = [_of_slice(each.slice, room) for each in sorted(before, key=_by_weight)]
    places += _places(state, found, offered, considered, selection, room)[: NEAR_MAX - len(places)]
    places += [_of_slice(each.slice, room) for each in sorted(after, key=_by_weight)]
    others = [
        _of_slice(each.slice, room) for each in sorted(dropped, key=_by_weight) if each.slice.type in KINDS
    ]
    others += [_of_item(each, "their descriptions take more than max_bytes") for each in missing]
    others += [
        _of_item(each, ITEM_REASONS.get(each.reason, each.reason))
        for each in sorted(left_out, key=lambda each: -each.score)
    ]
    return (*places[:NEAR_MAX], *others[:NEAR_ITEMS_MAX])


class _Room(Struct):
    """The room that was left at the end of a selection."""

    state: BuildState
    reply: Mapping[str, Any]

    def reason(self, piece: Slice) -> str:
        """Return why there was no room for a slice."""
        request, form = self.state.request, piece.smallest
        tokens, size = self.state.counter.count(form.text), len(form.text.encode("utf-8", "replace"))
        left_tokens = max(request.context_tokens - self.reply["tokens"], 0)
        left_bytes = max(request.max_bytes - self.reply["bytes"], 0)
        if size > left_bytes and tokens <= left_tokens:
            most = request.max_bytes
            return f"no room: it takes {size:,} bytes, and {left_bytes:,} of {most:,} were left"
        if tokens > left_tokens:
            most = request.context_tokens
            return f"no room: it takes {tokens:,} tokens, and {left_tokens:,} of {most:,} were left"
        if piece.beside:
            return f"it is shown only beside {piece.beside.partition(':')[2]}, for which there was no room"
        return "no room: other slices came first"


def _places(
    state: BuildState,
    found: Sequence[Found],
    offered: Sequence[Slice],
    considered: Sequence[Slice],
    selection: Selection,
    room: _Room,
) -> list[NearMiss]:
    """Return the most probable places that were found and aren't shown, the best first."""
    gathered = state.gathered
    unneeded = found_in(gathered.unneeded, state.rule_files)
    best = heapq.nsmallest(2 * NEAR_MAX, [*found, *state.passed, *unneeded], key=_by_probability)
    if not best:
        return []
    chosen = {piece.id for piece, _ in selection.chosen}
    spans: dict[str, list[tuple[int, int]]] = {}
    for piece, form in selection.chosen:
        if piece.path and piece.lines is None and not form.compressed:
            spans.setdefault(piece.path, []).append((1, 1 << 30))
        elif piece.path and piece.lines is not None:
            spans.setdefault(piece.path, []).append(piece.lines)
    dropped = {each.slice.id: each for each in selection.dropped}
    slices = {piece.id: piece for piece in offered}
    competing = {piece.id for piece in considered}
    misses = []
    for _, match in best:
        identifier = slice_id_of(match)
        inside = spans.get(match.path, ())
        if {identifier, f"document:{match.path}"} & chosen or any(
            first <= match.first <= last for first, last in inside
        ):
            continue
        reason = _why_not(state, match, slices.get(identifier), identifier in competing, dropped, room)
        if reason:
            found_by = f"; found by {', '.join(match.reasons)}" if match.reasons else ""
            symbol = match.symbol.name if match.symbol is not None else ""
            misses.append(
                NearMiss(
                    path=match.path,
                    line=match.first,
                    symbol=symbol,
                    score=match.probability,
                    reason=f"{reason}{found_by}",
                    node_id=f"{match.path}#{symbol}" if symbol else match.path,
                )
            )
    return misses


def slice_id_of(match: FoundDefinition) -> str:
    """Return the id that the slice of a found definition has."""
    return (
        f"document:{match.path}{f'#{match.symbol.name}' if match.symbol is not None else f':{match.first}'}"
    )


def _why_not(
    state: BuildState,
    match: FoundDefinition,
    piece: Slice | None,
    competed: bool,
    dropped: Mapping[str, Dropped],
    room: _Room,
) -> str:
    """Return why a found definition isn't shown, "" if something else shows it."""
    need = state.gathered.need
    if state.gathered.unneeded and need is not None:
        return f"nothing that was found is sent: {need.reason}"
    if piece is not None and not competed:
        return f"too improbable to send unasked: {_percent(match.probability)}"
    if piece is not None:
        entry = dropped.get(piece.id)
        return "" if entry is None or entry.reason == "duplicate" else room.reason(piece)
    if match.probability < SHOWN_MIN:
        return (
            f"too improbable: {_percent(match.probability)}; from {_percent(SHOWN_MIN)} on places are shown"
        )
    if match.probability < state.least:
        least = f"{_percent(state.least)} is the least here"
        return f"too improbable beside the best: {_percent(match.probability)}, and {least}"
    if any(text.startswith(f"{match.path} was found for the prompt but is not shown") for text in state.gaps):
        return "its file can't be shown: see what is missing"
    return "" if match.path in state.left_out else f"{DEFINITIONS_MAX} others are worth more for their length"


def _of_slice(piece: Slice, room: _Room) -> NearMiss:
    kind = KINDS.get(piece.type, "place")
    rest = piece.id.partition(":")[2]
    reason = f"{room.reason(piece)}; {piece.source}" if piece.source else room.reason(piece)
    if kind == "place":
        symbol = rest[len(piece.path) + 1 :] if rest.startswith(f"{piece.path}#") else ""
        line = piece.lines[0] if piece.lines else 0
        node_id = f"{piece.path}#{symbol}" if symbol else piece.path
        return NearMiss(
            path=piece.path, line=line, symbol=symbol, score=piece.score, reason=reason, node_id=node_id
        )
    name = rest if kind in {"rule", "reference"} else _first_line(piece.smallest)
    return NearMiss(kind=kind, path=piece.path, name=name, score=piece.score, reason=reason)


def _of_item(entry: PlannedItem | LeftOutItem, reason: str) -> NearMiss:
    item = entry.item
    server = item.server_name or UNSET
    return NearMiss(
        kind=item.type, name=item.name, server_name=server, line=item.line, score=entry.score, reason=reason
    )


def _first_line(form: Form) -> str:
    return form.text.strip().partition("\n")[0].removeprefix("- ")[:NAME_CHARACTERS]


def _by_weight(entry: Dropped) -> tuple[object, ...]:
    return (-entry.slice.weight, entry.slice.id)


def _by_probability(pair: Found) -> tuple[object, ...]:
    match = pair[1]
    return (-match.probability, match.path, match.first, match.last)


def _percent(share: float) -> str:
    return f"{share * 100:.3g} %"


GROUPS: Sequence[tuple[tuple[str, ...], str, str]] = (
    (("focus", "expansion"), "in focus", "in focus"),
    (("document", "compressed_segment"), "found for the prompt", "found for the prompt"),
    (("session_set",), "file of the session", "files of the session"),
    (("dependency",), "neighbour", "neighbours"),
    (("rule",), "rule", "rules"),
    (("reference",), "reference", "references"),
    (("constraint",), "constraint", "constraints"),
    (("agent_history",), "decision", "decisions"),
)
"""The types of slices that a verdict counts, with the words for one and for several."""


def verdict_of(request: ContextRequest, reply: Mapping[str, Any], elapsed_ms: float) -> str:
    """Return in one line what was sent and why, what it cost, what it missed, and which limit bound."""
    took = f"{elapsed_ms:,.0f} ms" if elapsed_ms >= 10 else f"{elapsed_ms:.2g} ms"
    if not reply["slices"]:
        withheld = next((text for text in reply["gaps"] if text.startswith("what was found")), "")
        sent = f"Sent {reply['tokens']:,} tokens in {took}, no slice"
        why = withheld.partition(": ")[2] or ("nothing was new" if request.news else "")
        sent += f": {why}" if why else ""
    else:
        parts = ", ".join(_parts(reply["slices"]))
        count = len(reply["slices"])
        slices = f"{count:,} slices" if count > 1 else "1 slice"
        sent = f"Sent {reply['tokens']:,} tokens ({reply['bytes']:,} bytes) in {took}: {slices}"
        sent += f" ({parts})" if parts else ""
    ends = [sent, _missed(request, reply)]
    if reply["degraded"]:
        ends.append(f"Degraded: {reply['degraded'][0]}")
    elif reply["partial"]:
        ends.append("Partial: not everything was known yet")
    return ". ".join(ends) + "."


def _parts(slices: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for types, one, many in GROUPS:
        count = sum(part["type"] in types for part in slices)
        if count:
            yield f"{count:,} {one if count == 1 else many}"


def _missed(request: ContextRequest, reply: Mapping[str, Any]) -> str:
    """Return what had no room or was shortened, and the limit that bound with its number."""
    limit = reply.get("limit", "")
    near = sum(miss["kind"] == "place" for miss in reply.get("near", ()))
    if limit not in {"max_tokens", "max_bytes"}:
        late = "The deadline passed before all sources had answered" if limit else "No limit bound"
        places = "1 more place was" if near == 1 else f"{near}{' or more' * (near >= NEAR_MAX)} places were"
        return f"{late}; {places} found and not sent" if near else late
    # Definitions that only explain others had no chance of their own.
    budget = [part["id"] for part in reply.get("dropped", ()) if part["reason"] == "budget"]
    dropped = sum(not identifier.startswith("needed:") for identifier in budget)
    shortened = sum(part["compressed"] for part in reply["slices"])
    lost = [f"no room for {dropped:,} {'slice' if dropped == 1 else 'slices'}"] if dropped else []
    lost += [f"{shortened:,} shortened"] if shortened else []
    tokens = f"{max(request.context_tokens - reply['tokens'], 0):,} tokens"
    size = f"{max(request.max_bytes - reply['bytes'], 0):,} bytes"
    if limit == "max_tokens":
        reserved = f"{request.reserve_tokens:,} of them reserved, " if request.reserve_tokens else ""
        bound = f"max_tokens {request.max_tokens:,} bound ({reserved}{tokens} left, {size} free)"
    else:
        bound = f"max_bytes {request.max_bytes:,} bound ({size} left, {tokens} free)"
    return f"Missed: {', '.join(lost)}; {bound}" if lost else bound[:1].upper() + bound[1:]
