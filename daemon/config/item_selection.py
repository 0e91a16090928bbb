"""How items of mode `agent` are chosen, as set by a project, an agent name, a session or a request."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Literal, cast, get_args

from msgspec import Meta, Struct
from msgspec.structs import asdict, replace

from ..core.errors import InvalidRequest
from ..core.parameters import read_request

Preset = Literal["aggressive", "normal", "conservative"]

MAX_TOP_K = 1_000
MAX_TOP_N = 200


Score = Annotated[float, Meta(ge=-1, le=2)]
"""A possible score: a cosine plus the words' share."""


class KindSettings(Struct, frozen=True):
    """The settings of one level for one kind of items; None inherits from the level below."""

    preset: Literal["aggressive", "normal", "conservative", "off"] | None = None
    top_k: Annotated[int, Meta(ge=0, le=MAX_TOP_K)] | None = None
    top_n: Annotated[int, Meta(ge=0, le=MAX_TOP_N)] | None = None
    include_score: Score | None = None
    floor: Score | None = None


class ItemSelection(Struct, frozen=True):
    """The settings of one level (a project, an agent name, a session, a request) for both kinds."""

    rules: KindSettings = KindSettings()
    tools: KindSettings = KindSettings()


def parse_selection(value: object, field: str = "selection") -> ItemSelection:
    """Read the settings of one level.

    A preset's name or `off` means `{preset: …}`. A map has `preset`, `top_k`, `top_n`, `include_score` and
    `floor` for both kinds, and maps `rules` (also for references) and `tools` with the same fields, which
    take precedence. Unknown fields are ignored. Raises `InvalidRequest` that names the field.
    """
    if isinstance(value, str):
        both = _parse_kind(value, field)
        return ItemSelection(both, both)
    if not isinstance(value, Mapping):
        raise InvalidRequest(f"{field} must be a map, a preset's name or off", field)
    both = _parse_kind(value, field)
    rules, tools = (
        over(both, _parse_kind(value[name], f"{field}.{name}")) if value.get(name) is not None else both
        for name in ("rules", "tools")
    )
    return ItemSelection(rules, tools)


def over(below: KindSettings, above: KindSettings) -> KindSettings:
    """Return the settings of one level with those of the level above it; a preset above replaces all."""
    if above.preset is not None:
        return above
    given = {name: value for name, value in asdict(above).items() if value is not None}
    return replace(below, **given)


def _parse_kind(value: object, field: str) -> KindSettings:
    if isinstance(value, str):
        if value not in (known := (*get_args(Preset), "off")):
            raise InvalidRequest(f"{field} must be one of {', '.join(known)}, not {value!r:.60}", field)
        return KindSettings(cast("Preset | Literal['off']", value))
    if not isinstance(value, Mapping):
        raise InvalidRequest(f"{field} must be a map, a preset's name or off", field)
    settings = read_request(KindSettings, value, f"{field}.")
    for name in ("include_score", "floor"):
        if (score := getattr(settings, name)) is not None and math.isnan(score):
            raise InvalidRequest(f"{field}.{name} must be a number from -1 to 2", f"{field}.{name}")
    return settings
