"""The resources (map, rules and decisions of the project) and the prompts that a person can choose.

`server.py` turns them into the SDK's types.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ...ipc.errors import NOT_FOUND, RpcError
from .caller import Inquiry, ToolError
from .context_tools import GET_CONTEXT
from .decision_tools import LIST_DECISIONS
from .tool import CHARACTERS_PER_TOKEN, NOTE, RULES_NOTE, Arguments, block, fit, inline, text

SCHEME = "foveal"

DEFAULT_TOKENS = 4000
"""Maximum tokens of a resource by default, as of get_context."""

MOST_TOKENS = 20_000

LEAST_TOKENS = 200

TRIES = 6
"""Maximum tries to fit a map, which shrinks by whole folders."""

EXPERIENCES = 200
"""Maximum number of experiences requested; those that fit are shown."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource, `foveal://NAME` or with `?max_tokens=N`; `read` returns it within that many tokens."""

    name: str
    title: str
    description: str
    read: Callable[[Inquiry, int], Awaitable[str]]

    @property
    def uri(self) -> str:
        """The URI of the resource in its default size."""
        return f"{SCHEME}://{self.name}"

    @property
    def template(self) -> str:
        """The template of the URIs with another size."""
        return f"{self.uri}{{?max_tokens}}"


async def read_resource(inquiry: Inquiry, uri: str) -> str | None:
    """Return a resource's text, None for an unknown URI. Raises `ToolError` for a bad max_tokens."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    resource = next((known for known in RESOURCES if known.name == parts.netloc), None)
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
    budget = limit * 2  # other layers of the context take a part of the limit
    for _ in range(TRIES):
        answer = await inquiry.ask("GetContext", format="json", max_tokens=budget, reserve_tokens=0)
        slices = json.loads(answer["context"])["slices"]
        shown = "\n\n".join(part["text"] for part in slices if part["layer"] == "horizon")
        text = f"{NOTE}\n\n{shown or 'The project is not known yet; ask again in a moment.'}"
        if len(text) <= limit * CHARACTERS_PER_TOKEN:
            return text
        budget = budget * limit * CHARACTERS_PER_TOKEN // len(text) - 20
    raise ToolError(f"the map doesn't fit into {limit} tokens", "ask with a larger max_tokens")


async def _rules(inquiry: Inquiry, limit: int) -> str:
    answer = await inquiry.ask("ListItems", types=["rule", "reference"])
    rules = [_rule(item, limit * CHARACTERS_PER_TOKEN // 2) for item in answer["items"]]
    return _render_rules(fit({"rules": rules, "warnings": answer["warnings"]}, _render_rules, limit))


def _rule(item: dict[str, Any], most: int) -> dict[str, Any]:
    """Return a rule for an answer; its text takes at most half of it."""
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


DECISION_TOKENS = 1500
_HOW_TO_REVIEW = """\
Read the changes themselves first (git diff). For each definition that changed, ask find_symbol who calls it,
and look whether its callers still fit. Hold the changes to the rules and to earlier decisions below.

Tell me what is wrong, the worst first: the file and line, what happens, how to mend it. Say so if nothing is.
Change nothing."""

CONTEXT_TOKENS = 6000
"""Tokens of a review's context: half as much again as get_context, for the changed files."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt; `make` returns its text, which the host sends as the user's message."""

    name: str
    title: str
    description: str
    arguments: Arguments
    make: Callable[[Inquiry, dict[str, Any]], Awaitable[str]]

    async def text(self, inquiry: Inquiry, given: Mapping[str, str]) -> str:
        """Return the text to send. Raises `ToolError` for arguments that can't be used, and `RpcError`."""
        return await self.make(inquiry, self.arguments.read(given))


async def _resume(inquiry: Inquiry, given: dict[str, Any]) -> str:
    kept = await _kept_text(inquiry, given["session_id"])
    _, decisions = await LIST_DECISIONS.call(inquiry, {"max_tokens": DECISION_TOKENS})
    return "\n\n".join(
        [
            "Go on with the work on this project where it stopped.",
            f"What the session kept:\n{block(kept, 'text')}" if kept else NOTE,
            f"Decisions so far:\n{decisions}",
            (
                "Read what is named there as far as you need it. Then say in two sentences where the work "
                "stands and what comes next, call get_context for that, and wait for my word before you "
                "change anything."
            ),
        ]
    )


async def _kept_text(inquiry: Inquiry, session_id: str | None) -> str:
    """Return a session's context sets as text, "" if the default session doesn't exist."""
    try:
        answer = await inquiry.ask_plain("ResumeSession", session_id=session_id or inquiry.session_id)
    except RpcError as error:
        if error.code != NOT_FOUND or session_id:
            raise
        return ""
    return str(answer["text"])


async def _review(inquiry: Inquiry, given: dict[str, Any]) -> str:
    paths = [part for part in (given["paths"] or "").replace(",", " ").split() if part]
    about = given["about"] or ""
    wanted = {"prompt": f"review of changes. {about}".strip(), "max_tokens": CONTEXT_TOKENS}
    _, context = await GET_CONTEXT.call(inquiry, {**wanted, **({"focus_paths": paths} if paths else {})})
    what = f"the changes in {', '.join(map(inline, paths))}" if paths else "the changes since the last commit"
    most = f" Look at this most of all: {inline(about, 2000)}" if about else ""
    return "\n\n".join(
        [
            f"Review {what} in this project.{most}",
            _HOW_TO_REVIEW,
            context,
        ]
    )


PROMPTS = (
    Prompt(
        "resume_session",
        "Go on with a session",
        "Go on where a session stopped: what it kept, and what was decided.",
        Arguments({"session_id": text("Which session; without it this one.", most=200)}),
        _resume,
    ),
    Prompt(
        "review_changes",
        "Review changes",
        "Review changes against the project's rules, its earlier decisions and who uses what changed.",
        Arguments(
            {
                "paths": text("Which files, separated by spaces; without it all that changed.", most=4000),
                "about": text("What to look at most of all.", most=2000),
            }
        ),
        _review,
    ),
)
