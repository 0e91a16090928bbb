"""The reply to GetContext: the text within the limits, and the record of its slices."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Literal

from msgspec.structs import replace

from ..rules.records import ItemKey, PlannedItem
from ..sessions.records import ItemPart, Sent
from ..sessions.service import sent
from . import render
from .requests import ContextRequest
from .selection import NOTHING, Cost, Dropped, Form, Selection, Slice, plain_measure, select
from .sent_content import ConversationContent, Unsent, named_if_held
from .tokens import TokenCounter

GAPS_MAX = 20
"""Maximum number of gaps in a reply; the last one counts the rest."""

NO_ROOM_MAX = 5
"""Maximum number of slices named in a gap about missing room."""

DROPPED_MAX = 50
"""Maximum number of dropped slices recorded, those of the greatest weight."""


def sent_of(
    prompts: Callable[[str], tuple[str, str]],
    request: ContextRequest,
    chosen: Sequence[tuple[Slice, Form]],
    context: str,
    items: Sequence[PlannedItem],
    held: Collection[str],
) -> Sent:
    """Return all that is sent for the chosen slices, as messages.

    `prompts` renders the two prompts around a context. In the format `prompts` the system prompt holds the
    whole context; else items become messages of their own. `held` are the ids of slices that the conversation
    already holds, which are only named.
    """
    tools = [item.item for item in items if item.item.type == "tool"]
    whole = sent(tools, context=context, history=request.history)
    if request.format == "prompts":
        system, user = prompts(context)
        return replace(whole, system_prompt=system, user_prompt=user)
    system, user = prompts(
        render.render_markdown(
            [pair for pair in chosen if pair[0].type not in render.ITEM_TYPES or pair[0].id in held]
        )
    )
    forms = {candidate.id: form for candidate, form in chosen if candidate.id not in held}
    parts = [
        ItemPart(
            ItemKey(each.item.type, each.item.name), render.item_message(each.item, forms[each.slice_id])
        )
        for each in items
        if each.slice_id in forms
    ]
    return replace(
        whole,
        system_prompt=system,
        user_prompt=user,
        references=tuple(part for part in parts if part.key.type == "reference"),
        rules=tuple(part for part in parts if part.key.type == "rule"),
    )


def reply_of(
    scope_id: str,
    request: ContextRequest,
    selection: Selection,
    context: str,
    items: Iterable[tuple[PlannedItem, bool]],
    gaps: Sequence[str],
    degraded: Sequence[str],
    texts: Sent | None,
    counter: TokenCounter,
) -> dict[str, Any]:
    """Return the reply to GetContext without messages and the fields that differ from call to call.

    Each item has True if it is in the context, and False if it should be and there was no room for it.
    """
    layers = {"anchor": 0, "focus": 0, "horizon": 0}
    for candidate, _ in selection.chosen:
        layers[candidate.layer] += selection.costs[candidate.id].tokens
    tokens, size = counter.count(context), len(context.encode("utf-8", "replace"))
    limit, shown = scarcer_limit(request, tokens, size), {candidate.path for candidate, _ in selection.chosen}
    no_room = [dropped_slice.slice for dropped_slice in selection.dropped if dropped_slice.reason == "budget"]
    # For want of tokens most of a context is shortened, and its parts say so.
    for_bytes = _for_bytes(selection, request.max_bytes, size) if limit == "max_bytes" else []
    reply: dict[str, Any] = {
        "scope_id": scope_id,
        "context": context,
        "tokens": tokens,
        "bytes": size,
        "truncated": bool(no_room) or any(_shortened(selection, request.max_bytes)),
        "gaps": _capped([*gaps, *_no_room(no_room, shown, limit), *for_bytes]),
        "degraded": list(degraded),
        "layers": layers,
        "slices": _slices(selection, request, context),
        "items": [_item_map(item, dropped=not fits) for item, fits in items],
    }
    if selection.dropped:
        reply["dropped"] = _dropped(selection.dropped)
    if texts is not None and request.format in {"prompts", "messages"}:
        reply["system_prompt"], reply["user_prompt"] = texts.system_prompt, texts.user_prompt
    return reply


def _slices(selection: Selection, request: ContextRequest, context: str) -> list[dict[str, Any]]:
    """Return the slices for the reply, with the span of their text except in the format `json`."""
    spans = {} if request.format == "json" else render.spans(selection.chosen, context)
    summaries = []
    for candidate, form in selection.chosen:
        summary = render.slice_summary(candidate, form, selection.costs[candidate.id].tokens)
        if candidate.id in spans:
            summary["span"] = list(spans[candidate.id])
        summaries.append(summary)
    return summaries


def _item_map(planned: PlannedItem, *, dropped: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"type": planned.item.type, "name": planned.item.name}
    if planned.item.server_name:
        found["server_name"] = planned.item.server_name
    found["include_mode"] = planned.include
    if planned.score is not None:
        found["similarity_score"] = planned.score
    if dropped:
        found["dropped"] = True
    return found


def _dropped(dropped: Sequence[Dropped]) -> list[dict[str, Any]]:
    heaviest = sorted(dropped, key=lambda dropped_slice: -dropped_slice.slice.weight)[:DROPPED_MAX]
    return [
        {"id": item.slice.id, "type": item.slice.type, "weight": item.slice.weight, "reason": item.reason}
        for item in heaviest
    ]


def scarcer_limit(request: ContextRequest, tokens: int, size: int) -> Literal["max_tokens", "max_bytes"]:
    """Return the limit of which a context of this size uses the larger share: slices grow until one of the
    two is used up."""
    share = tokens / max(request.context_tokens, 1)
    return "max_bytes" if size / max(request.max_bytes, 1) > share else "max_tokens"


def _no_room(dropped: Sequence[Slice], shown: Collection[str], limit: str) -> list[str]:
    """Return the gap that names slices without room, each file once; `shown` files are shown in part."""
    if not dropped:
        return []
    # Required slices come first.
    ranked = sorted(dropped, key=lambda dropped_slice: not dropped_slice.required)
    names = [
        f"more of {item.path}" if item.path and item.path in shown else item.path or item.id
        for item in ranked
    ]
    return [f"no room in the budget for {_listed(names)}: ask with a larger {limit}"]


def _shortened(selection: Selection, max_bytes: int) -> Iterator[tuple[Slice, int]]:
    """Yield the slices that have longer forms than those shown, with the bytes that the longest one takes
    more. A twin that is only named has none."""
    for candidate, form in selection.chosen:
        full = candidate.full_characters
        if not form.compressed or full <= len(form.text):
            continue
        # A file that is longer than the context needn't be divided for that.
        longest = "" if full > max_bytes else candidate.grow(full).text
        if longest != form.text:
            more = len(longest.encode("utf-8", "replace")) or full
            yield candidate, more - len(form.text.encode("utf-8", "replace"))


def _for_bytes(selection: Selection, max_bytes: int, size: int) -> list[str]:
    """Return the gap that names what is shown shortened for the bytes of a context of this size."""
    shortened = _shortened(selection, max_bytes)
    names = [item.path or item.id for item, more in shortened if more > max_bytes - size]
    return [f"shortened to fit max_bytes: {_listed(names)}; ask with a larger max_bytes"] if names else []


def _listed(names: Iterable[str]) -> str:
    unique = list(dict.fromkeys(names))
    more = f" and {len(unique) - NO_ROOM_MAX:,} more" if len(unique) > NO_ROOM_MAX else ""
    return f"{', '.join(unique[:NO_ROOM_MAX])}{more}"


def _capped(gaps: Sequence[str]) -> list[str]:
    unique = list(dict.fromkeys(gaps))
    if len(unique) <= GAPS_MAX:
        return unique
    return [*unique[: GAPS_MAX - 1], f"{len(unique) - GAPS_MAX + 1:,} more gaps"]


REFITS_MAX = 4
"""Maximum attempts with a smaller budget if the text is larger than the sum of its slices."""


def fit(
    slices: Sequence[Slice], request: ContextRequest, project: str, counter: TokenCounter
) -> tuple[Selection, str]:
    """Return the selection and the context, which never exceeds the limits of the request.

    A tokenizer may count slightly more tokens for the whole text than for its parts; then it is tried again
    with less room for slices to grow.
    """
    frame = render.frame_cost(counter, request.format, project, {piece.type for piece in slices})
    limits = Cost(max(request.context_tokens - frame.tokens, 0), max(request.max_bytes - frame.bytes, 0))
    measure = render.json_measure(counter) if request.format == "json" else None
    withheld = NOTHING
    for _ in range(REFITS_MAX):
        selection = select(slices, limits, counter, measure, withheld)
        context = _rendered(selection, request, project)
        tokens = counter.count(context) - request.context_tokens
        size = len(context.encode("utf-8", "replace")) - request.max_bytes
        if tokens <= 0 and size <= 0:
            return selection, context
        withheld = Cost(withheld.tokens + max(2 * tokens, 0), withheld.bytes + max(2 * size, 0))
    return Selection((), {}, tuple(Dropped(piece, "budget") for piece in slices)), ""


def without_held(
    selection: Selection,
    resident: ConversationContent,
    request: ContextRequest,
    project: str,
    counter: TokenCounter,
) -> tuple[Selection, str, Unsent]:
    """Return the selection and the context without content that the conversation holds, and that content.

    The second part is an `Unsent`, which has the ids of the slices that aren't sent again.
    """
    unsent = named_if_held(selection.chosen, resident)
    measure = render.json_measure(counter) if request.format == "json" else plain_measure(counter)
    costs = {
        candidate.id: measure(candidate, form)
        for (candidate, form), (_, old) in zip(unsent.chosen, selection.chosen, strict=True)
        if form is not old
    }
    fewer = replace(selection, chosen=unsent.chosen, costs={**selection.costs, **costs})
    return fewer, _rendered(fewer, request, project), unsent


def _rendered(selection: Selection, request: ContextRequest, project: str) -> str:
    if request.format == "json":
        return render.render_json(project, selection.chosen)
    return render.render_markdown(selection.chosen)
