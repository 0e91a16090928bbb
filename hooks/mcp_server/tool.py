"""Owns what a tool is: what a model reads of it, and how a call becomes an answer of the right size.

Knows no SDK: `server.py` turns this into its types.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .arguments import Arguments
from .caller import Inquiry
from .sizes import Render, fit

Effect = Literal["reads", "adds", "replaces"]
"""What a call does: nothing but read, add to what is there, or take the place of something."""

ANSWER_TOKENS = 1000
"""The limit of answers that have no max_tokens: a few lines each."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool. `run` gives the structured answer, `render` the same as text; `reply` is its JSON schema."""

    name: str
    title: str
    description: str
    arguments: Arguments
    reply: Mapping[str, Any]
    effect: Effect
    run: Callable[[Inquiry, dict[str, Any]], Awaitable[dict[str, Any]]]
    render: Render
    first: bool = False

    async def call(self, inquiry: Inquiry, given: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        """Return the structured answer and its text, both within the limit. Raises `ToolError`."""
        arguments = self.arguments.read(given)
        answer = await self.run(inquiry, arguments)
        answer = fit(answer, self.render, arguments.get("max_tokens") or ANSWER_TOKENS)
        return answer, self.render(answer)


def reply(required: Mapping[str, Any], **optional: Any) -> dict[str, Any]:
    """Return the JSON schema of a tool's answer; what was left out for want of room is in all of them."""
    more = {"type": "integer", "description": "entries that were left out; ask with a larger max_tokens"}
    cut = {**TEXTS, "description": "texts that were cut; ask with a larger max_tokens"}
    return {
        "type": "object",
        "properties": {**required, **optional, "more": more, "cut": cut},
        "required": list(required),
        "additionalProperties": False,
    }


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
TRUTH = {"type": "boolean"}
TEXTS = {"type": "array", "items": TEXT}


def rows(required: Mapping[str, Any], **optional: Any) -> dict[str, Any]:
    """Return the JSON schema of a list of records."""
    return {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {**required, **optional},
            "required": list(required),
            "additionalProperties": False,
        },
    }


def kept(fields: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return those of the fields that have a value: what is empty costs a model tokens."""
    return {name: fields[name] for name in names if fields.get(name) not in (None, "", [], {})}


def left_out(answer: Mapping[str, Any]) -> list[str]:
    """Return the lines about what had no room in an answer."""
    lines = []
    if answer.get("more"):
        lines.append(f"{answer['more']} more: ask with a larger max_tokens, or more narrowly.")
    if answer.get("cut"):
        lines.append(f"Cut: {', '.join(answer['cut'])}; ask with a larger max_tokens.")
    return lines
