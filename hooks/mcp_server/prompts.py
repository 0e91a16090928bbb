"""Owns the prompts that a person can choose: to go on with a session, and to review changes.

Knows no SDK: `server.py` turns this into its types.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...ipc.errors import NOT_FOUND, RpcError
from .arguments import Argument, Arguments, text
from .caller import Inquiry
from .context_tools import GET_CONTEXT
from .decision_tools import LIST_DECISIONS
from .marks import NOTE, block, inline

DECISION_TOKENS = 1500
_HOW_TO_REVIEW = """\
Read the changes themselves first (git diff). For each definition that changed, ask find_symbol who calls it,
and look whether its callers still fit. Hold the changes to the rules and to earlier decisions below.

Tell me what is wrong, the worst first: the file and line, what happens, how to mend it. Say so if nothing is.
Change nothing."""

CONTEXT_TOKENS = 6000
"""A review needs the changed files themselves, so half as much again as get_context gives."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt; `make` gives its text, which a person's host sends as theirs."""

    name: str
    title: str
    description: str
    arguments: Mapping[str, Argument]
    make: Callable[[Inquiry, dict[str, Any]], Awaitable[str]]

    async def text(self, inquiry: Inquiry, given: Mapping[str, str]) -> str:
        """Return the text to send. Raises `ToolError` for arguments that can't be used, and `RpcError`."""
        return await self.make(inquiry, Arguments(self.arguments).read(given))


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
    """Return what a session kept; of a session that is meant by default there may be none."""
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
        {"session_id": text("Which session; without it this one.", most=200)},
        _resume,
    ),
    Prompt(
        "review_changes",
        "Review changes",
        "Review changes against the project's rules, its earlier decisions and who uses what changed.",
        {
            "paths": text("Which files, separated by spaces; without it all that changed.", most=4000),
            "about": text("What to look at most of all.", most=2000),
        },
        _review,
    ),
)
