"""What a context left out: its near misses, the limit that bound, and the verdict in one line.

The near misses are recorded when a context is built, from what its sources gave; nothing is searched again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from ..rules.records import LeftOutItem, PlannedItem
from ..search.records import FoundDefinition
from .build_state import BuildState
from .built import Limit
from .hit_slices import DEFINITIONS_MAX, SHOWN_MIN, found_in
from .reply import scarcer_limit
from .requests import ContextRequest
from .selection import Selection, Slice, SliceType

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

FOUND: frozenset[SliceType] = frozenset({"document", "place"})
"""Types of slices that were found for the prompt, whole or as a line."""

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
    state: BuildState, selection: Selection, missing: Sequence[PlannedItem], reply: Mapping[str, Any]
) -> tuple[NearMiss, ...]:
    """Return the best places and items that aren't shown, each with the reason. Takes some tens of µs.

    `missing` are the tools without room.
    """
    room = partial(_no_room, state, reply)
    dropped = [each.slice for each in selection.dropped if each.reason != "duplicate"]
    dropped.sort(key=lambda piece: (-piece.weight, piece.id))
    others = [piece for piece in dropped if piece.type in KINDS]
    found: list[_Unshown] = [(piece, "") for piece in dropped if piece.type in FOUND]
    found += _passed(state, selection)
    found.sort(key=_by_probability)
    files = [piece for piece in dropped if piece.path and piece.type not in {*KINDS, *FOUND}]
    ranked = [
        *((piece, "") for piece in files if piece.type != "dependency"),
        *found,
        *((piece, "") for piece in files if piece.type == "dependency"),
    ]
    places = (
        _of_slice(subject, reason or room(subject))
        if isinstance(subject, Slice)
        else _of_definition(subject, reason)
        for subject, reason in ranked[:NEAR_MAX]
    )
    misses = [
        *(_of_slice(piece, room(piece)) for piece in others[:NEAR_ITEMS_MAX]),
        *(_of_item(each, "their descriptions take more than max_bytes") for each in missing),
        *(
            _of_item(each, ITEM_REASONS.get(each.reason, each.reason))
            for each in sorted(state.plan.left_out, key=lambda each: -each.score)
        ),
    ]
    return (*places, *misses[:NEAR_ITEMS_MAX])


_Unshown = tuple["Slice | FoundDefinition", str]
"""A found place, and why it isn't shown; "" for want of room."""


def _by_probability(found: _Unshown) -> tuple[float, str, int]:
    subject = found[0]
    if isinstance(subject, Slice):
        return -(subject.score or 0.0), subject.path, (subject.lines or (0,))[0]
    return -subject.probability, subject.path, subject.first


def _no_room(state: BuildState, reply: Mapping[str, Any], piece: Slice) -> str:
    """Return why there was no room for a slice at the end of the selection."""
    request, text = state.request, piece.smallest.text
    tokens, size = state.counter.count(text), len(text.encode("utf-8", "replace"))
    left_tokens = max(request.context_tokens - reply["tokens"], 0)
    left_bytes = max(request.max_bytes - reply["bytes"], 0)
    if tokens > left_tokens:
        most = request.context_tokens
        return f"no room: it takes {tokens:,} tokens, and {left_tokens:,} of {most:,} were left"
    if size > left_bytes:
        return f"no room: it takes {size:,} bytes, and {left_bytes:,} of {request.max_bytes:,} were left"
    return "no room: other slices came first"


def _passed(state: BuildState, selection: Selection) -> Iterator[_Unshown]:
    """Yield the places that were found and didn't compete for the room, without those in shown lines."""
    need, unneeded = state.gathered.need, state.gathered.unneeded
    if unneeded and need is not None:
        reason = f"nothing that was found is sent: {need.reason}"
        yield from ((match, reason) for _, match in found_in(unneeded, state.rule_files))
        return
    spans: dict[str, list[tuple[int, int]]] = {}
    for piece, _ in selection.chosen:
        if piece.lines is not None:
            spans.setdefault(piece.path, []).append(piece.lines)
    for _, match in state.passed:
        if not any(first <= match.first <= last for first, last in spans.get(match.path, ())):
            yield match, _why_passed(state, match.probability)


def _why_passed(state: BuildState, probability: float) -> str:
    if probability < SHOWN_MIN:
        return f"too improbable: {_percent(probability)}; places from {_percent(SHOWN_MIN)} on are shown"
    if probability < state.least:
        least = _percent(state.least)
        return f"too improbable beside the best: {_percent(probability)}, and {least} is the least here"
    if probability < state.least_whole:
        return f"too improbable to be shown whole: {_percent(probability)}; likelier places are named"
    return f"{DEFINITIONS_MAX} others are worth more for their length"


def _of_definition(match: FoundDefinition, reason: str) -> NearMiss:
    symbol = match.symbol.name if match.symbol is not None else ""
    return _place(match.path, match.first, symbol, match.probability, reason, ", ".join(match.reasons))


def _of_slice(piece: Slice, reason: str) -> NearMiss:
    rest = piece.id.partition(":")[2]
    if piece.type in KINDS:
        first = piece.smallest.text.strip().partition("\n")[0].removeprefix("- ")[:NAME_CHARACTERS]
        name = rest if piece.type in {"rule", "reference"} else first
        reason = f"{reason}; {piece.source}"
        return NearMiss(kind=KINDS[piece.type], path=piece.path, name=name, score=piece.score, reason=reason)
    symbol = rest[len(piece.path) + 1 :] if rest.startswith(f"{piece.path}#") else ""
    line = piece.lines[0] if piece.lines else 0
    if piece.type in FOUND:
        found_by = piece.source.partition(": ")[2].partition("; ")[0]
        return _place(piece.path, line, symbol, piece.score, reason, found_by)
    return _place(piece.path, line, symbol, piece.score, f"{reason}; {piece.source}")


def _place(
    path: str, line: int, symbol: str, score: float | None, reason: str, found_by: str = ""
) -> NearMiss:
    return NearMiss(
        path=path,
        line=line,
        symbol=symbol,
        score=score,
        reason=f"{reason}; found by {found_by}" if found_by else reason,
        found_by=found_by or UNSET,
        node_id=f"{path}#{symbol}" if symbol else path,
    )


def _of_item(entry: PlannedItem | LeftOutItem, reason: str) -> NearMiss:
    item = entry.item
    server = item.server_name or UNSET
    return NearMiss(
        kind=item.type, name=item.name, server_name=server, line=item.line, score=entry.score, reason=reason
    )


def _percent(share: float) -> str:
    return f"{share * 100:.3g} %"


def verdict_of(request: ContextRequest, reply: Mapping[str, Any], elapsed_ms: float) -> str:
    """Return in one line what was sent and why, what it cost, what it missed, and which limit bound."""
    took = f"{elapsed_ms:,.0f} ms" if elapsed_ms >= 10 else f"{elapsed_ms:.2g} ms"
    sent = f"Sent {reply['tokens']:,} tokens in {took}: "
    if count := len(reply["slices"]):
        sent += f"{count:,} {'slice' if count == 1 else 'slices'}"
    else:
        withheld = next((text for text in reply["gaps"] if text.startswith("what was found")), "")
        why = withheld.partition(": ")[2] or ("nothing was new" if request.news else "")
        sent += f"nothing, as {why}" if why else "nothing"
    ends = [sent, _missed(request, reply)]
    if reply["degraded"]:
        ends.append(f"Partial: {reply['degraded'][0]}")
    elif reply["partial"]:
        ends.append("Partial: not everything was known yet")
    return ". ".join(ends) + "."


def _missed(request: ContextRequest, reply: Mapping[str, Any]) -> str:
    """Return what had no room or was shortened, and the limit that bound with its number."""
    limit = reply.get("limit", "")
    near = sum(miss["kind"] == "place" for miss in reply.get("near", ()))
    if limit not in {"max_tokens", "max_bytes"}:
        said = "Time ran out before everything was asked" if limit else "Nothing was cut for lack of room"
        found, was = ("1 other place", "was") if near == 1 else (f"{near:,} other places", "were")
        return f"{said}; {found} fit less well and {was} not sent" if near else said
    # Definitions that only explain others had no chance of their own.
    budget = [part["id"] for part in reply.get("dropped", ()) if part["reason"] == "budget"]
    dropped = sum(not identifier.startswith(("needed:", "sibling:")) for identifier in budget)
    shortened = sum(part["compressed"] for part in reply["slices"])
    lost = [f"{dropped:,} {'slice' if dropped == 1 else 'slices'} had no room"] if dropped else []
    lost += [f"{shortened:,} {'was' if shortened == 1 else 'were'} shortened"] if shortened else []
    room = f"{getattr(request, limit):,} {limit.removeprefix('max_')}"
    if limit == "max_tokens" and request.reserve_tokens:
        room += f", {request.reserve_tokens:,} of them reserved,"
    return f"The {room} are used up{': ' if lost else ''}{', '.join(lost)}"
