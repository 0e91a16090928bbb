"""What a context left out: its near misses, the limit that bound, and the verdict in one line.

The near misses are recorded when a context is built, from what its sources gave; nothing is searched again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from ..rules.items import LeftOutItem, PlannedItem
from ..search.query import FoundDefinition
from .build_state import BuildState
from .built import Limit
from .hit_slices import DEFINITIONS_MAX, SHOWN_MIN, found_in
from .reply import scarcer_limit
from .requests import ContextRequest
from .selection import Form, Selection, Slice

NEAR_MAX = 10
"""Maximum number of places among the near misses."""

NEAR_ITEMS_MAX = 5
"""Maximum number of rules, references, tools, constraints and decisions among them."""

NAME_CHARACTERS = 200
"""Maximum characters of the name of a miss without a path; a decision is named by its text."""

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
    `found_by` is what found it, which ends the reason too.
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
    found_by: str | UnsetType = UNSET


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
    offered: Sequence[Slice],
    considered: Sequence[Slice],
    selection: Selection,
    missing: Sequence[PlannedItem],
    reply: Mapping[str, Any],
) -> tuple[NearMiss, ...]:
    """Return the best places and items that aren't shown, each with the reason. Takes some tens of µs.

    `offered` are all slices, `considered` those that competed for the room, and `missing` the tools without
    room.
    """
    room = _Room(state, reply)
    asked, found, related, others = list[Slice](), list[_Place](), list[Slice](), list[Slice]()
    for entry in selection.dropped:
        piece = entry.slice
        if entry.reason == "duplicate":
            continue
        if piece.type in KINDS:
            others.append(piece)
        elif piece.type == "document":
            if not piece.id.startswith("members:"):
                found.append((-(piece.score or 0.0), piece.path, (piece.lines or (0,))[0], piece, ""))
        elif piece.path:
            (related if piece.type == "dependency" else asked).append(piece)
    found += _passed(state, offered, considered, selection)
    places = [_of_slice(piece, room) for piece in sorted(asked, key=_by_weight)[:NEAR_MAX]]
    places += [
        _of_place(place, room) for place in sorted(found, key=itemgetter(0, 1, 2))[: NEAR_MAX - len(places)]
    ]
    wanted = sorted(related, key=_by_weight)[: NEAR_MAX - len(places)]
    places += [_of_slice(piece, room) for piece in wanted]
    misses = [_of_slice(piece, room) for piece in sorted(others, key=_by_weight)[:NEAR_ITEMS_MAX]]
    misses += [_of_item(each, "their descriptions take more than max_bytes") for each in missing]
    misses += [
        _of_item(each, ITEM_REASONS.get(each.reason, each.reason))
        for each in sorted(state.plan.left_out, key=lambda each: -each.score)[:NEAR_ITEMS_MAX]
    ]
    return (*places, *misses[:NEAR_ITEMS_MAX])


_Place = tuple[float, str, int, "Slice | FoundDefinition", str]
"""A found place: its negative probability, path and line, which order it, then what it is and why it isn't
shown; "" for want of room."""


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


def _passed(
    state: BuildState, offered: Sequence[Slice], considered: Sequence[Slice], selection: Selection
) -> list[_Place]:
    """Return the places that were found and didn't compete for the room, without those in shown lines."""
    need, unneeded = state.gathered.need, state.gathered.unneeded
    if unneeded and need is not None:
        reason = f"nothing that was found is sent: {need.reason}"
        hits = found_in(unneeded, state.rule_files)
        return [(-match.probability, match.path, match.first, match, reason) for _, match in hits]
    found: list[_Place] = []
    if state.request.news:
        competing = {piece.id for piece in considered}
        for piece in offered:
            if piece.type == "document" and piece.score is not None and piece.id not in competing:
                reason = f"too improbable to send unasked: {_percent(piece.score)}"
                found.append((-piece.score, piece.path, (piece.lines or (0,))[0], piece, reason))
    spans: dict[str, list[tuple[int, int]]] = {}
    for piece, _ in selection.chosen:
        if piece.path and piece.lines is not None:
            spans.setdefault(piece.path, []).append(piece.lines)
    for _, match in state.passed:
        inside = spans.get(match.path)
        if inside is None or not any(first <= match.first <= last for first, last in inside):
            found.append((-match.probability, match.path, match.first, match, "passed"))
    return found


def _why_passed(state: BuildState, probability: float) -> str:
    if probability < SHOWN_MIN:
        return f"too improbable: {_percent(probability)}; places from {_percent(SHOWN_MIN)} on are shown"
    if probability < state.least:
        least = _percent(state.least)
        return f"too improbable beside the best: {_percent(probability)}, and {least} is the least here"
    return f"{DEFINITIONS_MAX} others are worth more for their length"


def _of_place(place: _Place, room: _Room) -> NearMiss:
    negative, path, line, subject, reason = place
    if isinstance(subject, Slice):
        rest = subject.id.partition(":")[2]
        symbol = rest[len(path) + 1 :] if rest.startswith(f"{path}#") else ""
        reason = reason or room.reason(subject)
        found_by = subject.source.partition(": ")[2].partition("; ")[0]
    else:
        symbol = subject.symbol.name if subject.symbol is not None else ""
        reason = _why_passed(room.state, -negative) if reason == "passed" else reason
        found_by = ", ".join(subject.reasons)
    return NearMiss(
        path=path,
        line=line,
        symbol=symbol,
        score=-negative,
        reason=f"{reason}; found by {found_by}" if found_by else reason,
        found_by=found_by or UNSET,
        node_id=f"{path}#{symbol}" if symbol else path,
    )


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


def _by_weight(piece: Slice) -> tuple[float, str]:
    return (-piece.weight, piece.id)


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
    others = len(slices)
    for types, one, many in GROUPS:
        count = sum(part["type"] in types for part in slices)
        others -= count
        if count:
            yield f"{count:,} {one if count == 1 else many}"
    if 0 < others < len(slices):
        yield f"{others:,} other" if others == 1 else f"{others:,} others"


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
