"""Owns the fitting: slices are selected and rendered within the limits, which is checked on the whole."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from . import render
from .budget import NOTHING, Cost, Dropped, Selection, plain_measure, select
from .requests import ContextRequest
from .sent_content import LinesOf, Resident, Unsent, named_if_held
from .slices import Slice
from .tokens import TokenCounter

REFITS_MAX = 4
"""Attempts with a smaller budget where the text came out larger than its slices promised."""


def fit(
    slices: Sequence[Slice], request: ContextRequest, project: str, counter: TokenCounter
) -> tuple[Selection, str]:
    """Return what is selected and the context, which is never above the limits of the request.

    Which slices are in depends on the limits and the slices alone; only how far they grow may take a second
    attempt, since a vocabulary may count a whole a little above its parts.
    """
    frame = render.frame_cost(counter, request.format, project, {one.type for one in slices})
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
    return Selection((), {}, tuple(Dropped(one, "budget") for one in slices)), ""


def without_held(
    selection: Selection,
    resident: Resident,
    lines_of: LinesOf,
    request: ContextRequest,
    project: str,
    counter: TokenCounter,
) -> tuple[Selection, str, Unsent]:
    """Return a selection and its context without what the conversation holds already, and what that is."""
    unsent = named_if_held(selection.chosen, resident, lines_of)
    measure = render.json_measure(counter) if request.format == "json" else plain_measure(counter)
    costs = {
        one.id: measure(one, form)
        for (one, form), (_, old) in zip(unsent.chosen, selection.chosen, strict=True)
        if form is not old
    }
    fewer = replace(selection, chosen=unsent.chosen, costs={**selection.costs, **costs})
    return fewer, _rendered(fewer, request, project), unsent


def _rendered(selection: Selection, request: ContextRequest, project: str) -> str:
    if request.format == "json":
        return render.render_json(project, selection.chosen)
    return render.render_markdown(selection.chosen)
