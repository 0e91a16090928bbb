"""The resources (map, rules and decisions of the project) and the prompts that a person can choose.

`server.py` turns them into the SDK's types.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...ipc.errors import NOT_FOUND, RpcError
from .caller import DaemonSession
from .context_tools import GET_CONTEXT
from .session_tools import RECALL
from .tool import CHARACTERS_PER_TOKEN, NOTE, RULES_NOTE, Arguments, block, cut, fitted, inline, text

TOKENS = 4000
"""Maximum tokens of a resource, as of get_context by default."""

EXPERIENCES = 200
"""Maximum number of experiences requested; those that fit are shown."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource, `foveal://NAME`; `read` returns its text."""

    name: str
    title: str
    description: str
    read: Callable[[DaemonSession], Awaitable[str]]

    @property
    def uri(self) -> str:
        """The URI of the resource."""
        return f"foveal://{self.name}"


async def _map(session: DaemonSession) -> str:
    answer = await session.ask("GetContext", format="json", max_tokens=TOKENS, reserve_tokens=0)
    slices = json.loads(answer["context"])["slices"]
    shown = "\n\n".join(part["text"] for part in slices if part["layer"] == "horizon")
    text = f"{NOTE}\n\n{shown or 'The project is not known yet; ask again in a moment.'}"
    return cut(text, TOKENS * CHARACTERS_PER_TOKEN)


async def _rules(session: DaemonSession) -> str:
    answer = await session.ask("ListItems", types=["rule", "reference"])
    rules = [_rule(item) for item in answer["items"]]
    return fitted(
        [RULES_NOTE, *(rules or ["No rules are known here."]), *map(inline, answer["warnings"])], TOKENS
    )


def _rule(item: dict[str, Any]) -> str:
    """Return a rule for an answer; its text takes at most half of it."""
    whole = item.get("text") or ""
    shown = cut(whole, TOKENS * CHARACTERS_PER_TOKEN // 2)
    head = f"\n{item['type']} {inline(item['name'])}, {item['include']}, from {inline(item['source'])}:"
    rest = "" if shown == whole else "\n(cut; the rest is in the file)"
    return f"{head}\n{block(shown, 'markdown')}{rest}"


async def _experiences(session: DaemonSession) -> str:
    return await RECALL.call(session, {"limit": EXPERIENCES, "max_tokens": TOKENS})


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
Read the changes themselves first (git diff). For each definition that changed, ask search_code who calls it,
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
    make: Callable[[DaemonSession, dict[str, Any]], Awaitable[str]]

    async def text(self, session: DaemonSession, given: Mapping[str, str]) -> str:
        """Return the text to send. Raises `ToolError` for arguments that can't be used, and `RpcError`."""
        return await self.make(session, self.arguments.read(given))


async def _resume(session: DaemonSession, given: dict[str, Any]) -> str:
    kept = await _kept_text(session, given["session_id"])
    decisions = await RECALL.call(session, {"max_tokens": DECISION_TOKENS})
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


async def _kept_text(session: DaemonSession, session_id: str | None) -> str:
    """Return a session's context sets as text, "" if the default session doesn't exist."""
    try:
        answer = await session.ask_plain("ResumeSession", session_id=session_id or session.session_id)
    except RpcError as error:
        if error.code != NOT_FOUND or session_id:
            raise
        return ""
    return str(answer["text"])


async def _review(session: DaemonSession, given: dict[str, Any]) -> str:
    paths = [part for part in (given["paths"] or "").replace(",", " ").split() if part]
    about = given["about"] or ""
    wanted = {"prompt": f"review of changes. {about}".strip(), "max_tokens": CONTEXT_TOKENS}
    context = await GET_CONTEXT.call(session, {**wanted, **({"focus_paths": paths} if paths else {})})
    what = f"the changes in {', '.join(map(inline, paths))}" if paths else "the changes since the last commit"
    most = f" Look at this most of all: {inline(about, 2000)}" if about else ""
    return f"Review {what} in this project.{most}\n\n{_HOW_TO_REVIEW}\n\n{context}"


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
