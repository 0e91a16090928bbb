"""Owns how a place of the project stands in an answer, and what the daemon says beside the places."""

from __future__ import annotations

import re
from typing import Any

from .caller import Inquiry
from .marks import inline, plain
from .tool import TEXT, TEXTS, WHOLE, kept

MOST_TOKENS = 10_000
"""Above it Claude Code warns; more places than that are better asked for more narrowly."""

PLACE: dict[str, Any] = {"node_id": TEXT, "path": TEXT, "start_line": WHOLE, "end_line": WHOLE, "kind": TEXT}

REMARKS = {**TEXTS, "description": "what a name was taken for, how much more there is"}

WHY_READ_SO = ("asks ", "names ", "holds ", "commands ", "the caller chose ")
"""How a question's evidence begins where it only says why its route was taken."""


_NAMES = re.compile(r"(?<=its node id): .*", re.DOTALL)
"""The names that a remark lists: the places have them too."""


def told(found: dict[str, Any]) -> dict[str, Any]:
    """Return what the daemon says of an answer: how much more there is, what a name was taken for, what to do
    where nothing was found. Why a question was read so isn't told: that is for people."""
    hint = plain(found.get("hint") or "")
    remarks = [plain(_NAMES.sub("", one)) for one in found["evidence"] if not one.startswith(WHY_READ_SO)]
    return kept({"hint": hint, "remarks": [one for one in remarks if one not in hint]}, "hint", "remarks")


async def why_nothing(inquiry: Inquiry) -> list[str]:
    """Return what to say where nothing was found although there may be something: it isn't read yet."""
    projects = (await inquiry.ask("Status"))["projects"]
    if all(project["state"] not in {"scanning", "indexing"} for project in projects):
        return []
    return ["the project is still being indexed, so that it may be there all the same; ask again in a moment"]


def headline(place: dict[str, Any]) -> str:
    """Return the line about a place: where it is, what stands there, how sure that is, and why it is here."""
    where = inline(f"{place['path']}:{place['start_line']}-{place['end_line']}")
    name = f" {inline(place['symbol'], 200)}" if place.get("symbol") else ""
    unsure = " (by its name only)" if place.get("certainty") == "name" else ""
    why = f" - {inline(place['why'], 200)}" if place.get("why") else ""
    begins = f", from line {place['snippet_line']}" if place.get("snippet_line") else ""
    return f"{where} {plain(place['kind'], 40)}{name}{unsure}{why}{begins}"
