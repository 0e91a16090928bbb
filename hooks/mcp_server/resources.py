"""Owns the resources: the project's map, rules and experiences, as Markdown of a limited size.

Knows no SDK: `server.py` turns this into its types.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

from .caller import Inquiry
from .decision_tools import LIST_DECISIONS
from .errors import ToolError
from .marks import NOTE, RULES_NOTE, block, inline
from .sizes import CHARACTERS_PER_TOKEN, fit

SCHEME = "foveal"

DEFAULT_TOKENS = 4000
"""As get_context: a person chose to put it into the conversation."""

MOST_TOKENS = 20_000

LEAST_TOKENS = 200

TRIES = 6
"""A map shrinks by whole folders, so that one that is a little too large may take a few."""

EXPERIENCES = 200
"""Maximum number of experiences asked for; what fits is shown."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource, `foveal://NAME` or with `?max_tokens=N`; `read` gives it within that many tokens."""

    name: str
    title: str
    description: str
    read: Callable[[Inquiry, int], Awaitable[str]]

    @property
    def uri(self) -> str:
        """The URI under which it has its usual size."""
        return f"{SCHEME}://{self.name}"

    @property
    def template(self) -> str:
        """The template of the URIs under which more, or less, of it is given."""
        return f"{self.uri}{{?max_tokens}}"


async def read_resource(inquiry: Inquiry, uri: str) -> str | None:
    """Return a resource's text, None if that URI names none. Raises `ToolError` for a bad max_tokens."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    resource = next((one for one in RESOURCES if one.name == parts.netloc), None)
    if resource is None or parts.scheme != SCHEME or parts.path not in {"", "/"}:
        return None
    return await resource.read(inquiry, _max_tokens(parts.query))


def _max_tokens(query: str) -> int:
    given = parse_qs(query).get("max_tokens", [str(DEFAULT_TOKENS)])[-1]
    if not given.isascii() or not given.isdigit() or not LEAST_TOKENS <= int(given[:9]) <= MOST_TOKENS:
        raise ToolError(
            f"max_tokens must be a number from {LEAST_TOKENS} to {MOST_TOKENS}, not {given!r:.40}",
            "correct it in the URI",
        )
    return int(given)


async def _map(inquiry: Inquiry, limit: int) -> str:
    budget = limit * 2  # the anchor takes its part of it
    for _ in range(TRIES):
        answer = await inquiry.ask("GetContext", format="json", max_tokens=budget, reserve_tokens=0)
        slices = json.loads(answer["context"])["slices"]
        shown = "\n\n".join(one["text"] for one in slices if one["layer"] == "horizon")
        text = f"{NOTE}\n\n{shown or 'The project is not known yet; ask again in a moment.'}"
        if len(text) <= limit * CHARACTERS_PER_TOKEN:
            return text
        budget = budget * limit * CHARACTERS_PER_TOKEN // len(text) - 20
    raise ToolError(f"the map doesn't fit into {limit} tokens", "ask with a larger max_tokens")


async def _rules(inquiry: Inquiry, limit: int) -> str:
    answer = await inquiry.ask("ListItems", types=["rule", "reference"])
    rules = [_rule(one, limit * CHARACTERS_PER_TOKEN // 2) for one in answer["items"]]
    return _render_rules(fit({"rules": rules, "warnings": answer["warnings"]}, _render_rules, limit))


def _rule(item: dict[str, Any], most: int) -> dict[str, Any]:
    """Return what is shown of a rule; of one text at most half of what may be shown of all."""
    text = item.get("text") or ""
    return {**{name: item.get(name) for name in ("type", "name", "include", "source")},
            "text": text[:most], "cut": len(text) > most}  # fmt: skip


def _render_rules(answer: dict[str, Any]) -> str:
    lines = [RULES_NOTE]
    for rule in answer["rules"]:
        lines += [
            "",
            f"{rule['type']} {inline(rule['name'])}, {rule['include']}, from {inline(rule['source'])}:",
        ]
        lines.append(block(rule["text"], "markdown"))
        if rule["cut"]:
            lines.append("(cut; the rest is in the file)")
    if not answer["rules"] and not answer.get("more"):
        lines.append("No rules are known here.")
    if answer.get("more"):
        lines += ["", f"{answer['more']} more: read it with a larger max_tokens."]
    return "\n".join([*lines, *map(inline, answer["warnings"])])


async def _experiences(inquiry: Inquiry, limit: int) -> str:
    return (await LIST_DECISIONS.call(inquiry, {"limit": EXPERIENCES, "max_tokens": min(limit, 10_000)}))[1]


RESOURCES = (
    Resource("map", "Map of the project", "What there is: files by folder, with what they define.", _map),
    Resource("rules", "Rules of the project", "Rules and references, with their modes and sources.", _rules),
    Resource(
        "experiences",
        "Decisions on the project",
        "What earlier agents decided, the newest first.",
        _experiences,
    ),
)
