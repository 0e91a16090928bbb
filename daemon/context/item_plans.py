"""Plans the items of a request: the session's, those that match the focus, and those that a search finds.

The budget is applied later and may leave some of them out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from ..config.item_selection import ItemSelection, parse_selection
from ..config.settings import ProjectConfig
from ..core.errors import InvalidRequest
from ..rules.records import (
    AgentItems,
    IncludeMode,
    Item,
    ItemKey,
    ItemMatches,
    ItemPlan,
    LeftOutItem,
    PlannedItem,
    Profiles,
)
from ..rules.service import ItemSearch, resolve
from ..sessions.records import Session
from .requests import ContextRequest

ITEMS_WAIT_S = 2.0
"""Maximum seconds an answer waits for the item search: loading the model takes .5 s, the first time 1.2 s."""

MISSING_MAX = 5
"""Maximum number of missing items named."""

_NO_SELECTION = ItemSelection()


def profiles_for(config: ProjectConfig, agent_name: str, own: ItemSelection = _NO_SELECTION) -> Profiles:
    """Return the selection profiles from the levels user, project, agent name and session."""
    return resolve(*config.selection.levels(agent_name), own)


def selection_of(session: Session | None) -> tuple[ItemSelection, str]:
    """Return the selection settings of a session, and a sentence if they can't be used.

    Methods check settings, so only a file edited by hand can hold unusable ones; then the other levels count.
    """
    if session is None:
        return _NO_SELECTION, ""
    try:
        return parse_selection(session.selection), ""
    except InvalidRequest as error:
        return _NO_SELECTION, f"the selection of the session {session.id} is ignored: {error}"


async def plan_items(
    items: AgentItems,
    session: Session | None,
    request: ContextRequest,
    profiles: Profiles,
    search: ItemSearch,
    within_s: float,
) -> ItemPlan:
    """Return the items of a request in their order; the session stays as it is.

    They are the items of mode `always`, those of mode `glob` that match, and with a prompt those of mode
    `agent` that a search finds, by today's modes. A session adds items added by hand, whatever their mode,
    and takes away items removed from it.
    """
    chosen: dict[ItemKey, tuple[IncludeMode, float | None]] = {}
    removed: Collection[ItemKey] = frozenset(() if session is None else session.removed)
    if session is not None:
        chosen |= {item.key: ("manual", None) for item in session.items if item.include == "manual"}
    for key, item in items.by_key.items():
        if item.include in {"always", "glob"} and key not in chosen and key not in removed:
            chosen[key] = (item.include, None)
    # Also items that came in by their mode, so that a missing one is reported.
    in_session = [] if session is None else [item.key for item in session.items]
    wanted = [ItemKey(*key) for key in request.include_items]
    unwanted = [ItemKey(*key) for key in request.exclude_items]
    chosen |= {key: (_asked_mode(items, key), None) for key in wanted if key not in chosen}
    for key in unwanted:
        chosen.pop(key, None)
    barred: dict[ItemKey, Literal["removed", "denied"]] = dict.fromkeys(removed, "removed")
    barred |= dict.fromkeys(unwanted, "denied")
    result = await _search(items, chosen, barred, request, profiles, search, within_s)
    chosen |= {score.key: ("agent", score.score) for score in result.taken}
    return ItemPlan(
        tuple(PlannedItem(item, *chosen[key]) for key, item in items.by_key.items() if key in chosen),
        tuple(LeftOutItem(score.item, score.score, score.reason) for score in result.considered),
        () if session is None else session.context.get("files", ()),
        (*items.warnings, *_missing(items, [*in_session, *chosen, *unwanted])),
        result.degraded,
        tuple(item for key, item in items.by_key.items() if key in removed and key not in chosen),
    )


async def _search(
    known: AgentItems,
    chosen: Mapping[ItemKey, object],
    barred: Mapping[ItemKey, Literal["removed", "denied"]],
    request: ContextRequest,
    profiles: Profiles,
    search: ItemSearch,
    within_s: float,
) -> ItemMatches:
    """Search the items of mode `agent` that aren't chosen yet; without a prompt nothing is found."""
    candidates: Sequence[Item] = [
        item for key, item in known.by_key.items() if item.include == "agent" and key not in chosen
    ]
    if not candidates or not request.prompt.strip():
        return ItemMatches()
    history = [{"role": message.role, "content": message.content} for message in request.history]
    return await search.search(
        candidates, request.prompt, profiles, within_s=within_s, history=history, barred=barred
    )


def _asked_mode(known: AgentItems, key: ItemKey) -> IncludeMode:
    """Return the mode of an item that the request names: `manual`, unless its mode is `agent`."""
    item = known.get(key)
    return "agent" if item is not None and item.include == "agent" else "manual"


def _missing(known: AgentItems, keys: Sequence[ItemKey]) -> list[str]:
    gone = [key for key in dict.fromkeys(keys) if known.get(key) is None]
    said = [f"the {key} isn't there (any more)" for key in gone[:MISSING_MAX]]
    if len(gone) > MISSING_MAX:
        said.append(f"{len(gone) - MISSING_MAX:,} more items aren't there")
    return said
