"""The text of answers to hooks: the tag around it, its limits, and the lines beside a context.

Injected text states facts: orders in it make models distrust it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ...hooks.hosts.hook_answer import OutputLimit

CONTEXT_TAG = "foveal-context"
"""The element around everything that foveal injects; the reader of transcripts removes exactly it."""

INCOMPLETE_CHARACTERS = 320
"""Maximum characters of the line about parts missing from a context: the three longest reasons."""

_OPENING, _CLOSING = f"<{CONTEXT_TAG}>\n", f"\n</{CONTEXT_TAG}>"
_FORGED = re.compile(rf"<(?=[\s/]*{CONTEXT_TAG}\b)", re.IGNORECASE)
_CUT = "\n(The rest was left out for its length.)"

Sets = Mapping[str, tuple[str, ...]]


def text_limit(limit: OutputLimit) -> int:
    """Return the number of characters left for the text between the tags."""
    return max(0, limit.characters - len(_opening(limit)) - len(_CLOSING) - len(_CUT))


def wrapped(text: str, limit: OutputLimit) -> str:
    """Return a text between the tags, cut at a line if it is too long; "" for no text.

    Tags inside the text, which may come from anywhere, are escaped: they can't end the element.
    """
    text = _FORGED.sub("&lt;", text.strip("\n"))
    most = text_limit(limit)
    if not text.strip() or not most:
        return ""
    if len(text) > most:
        head = text[:most]
        text = (head.rpartition("\n")[0] or head) + _CUT
    return f"{_opening(limit)}{text}{_CLOSING}"


def _opening(limit: OutputLimit) -> str:
    return f"{_OPENING}{limit.lead}\n\n" if limit.lead else _OPENING


def session_section(session_id: str) -> str:
    """Return the section on session context: its meaning, how to set and read it, and when."""
    return (
        "## Session context\n\n"
        "foveal keeps small named sets for this session (files, endpoints, ports, or any other name) and"
        " gives them back when the session is resumed or its window was compacted.\n"
        "- Set: the MCP tool `set_relevant_context` (set_name, items, mode replace or merge)."
        " Read: `recall` (about session).\n"
        "- When: work starts from a specification or notes file; the user asks to remember a file;"
        " endpoints or ports are in use that later turns need.\n"
        f"- This session's id there: `{session_id}`."
    )


def fork_section(session_id: str) -> str:
    """Return the section for the copy of a session, whose window holds the text of the first one's start."""
    return (
        "## Session context\n\n"
        "This conversation is a copy of an earlier one."
        f" Its session's id for foveal's tools is now: `{session_id}`."
    )


def incomplete_line(reasons: Sequence[str]) -> str:
    """Return the line that tells the model which parts its context lacks."""
    line = f"(This context is incomplete: {'; '.join(reasons)}.)"
    return line if len(line) <= INCOMPLETE_CHARACTERS else f"{line[: INCOMPLETE_CHARACTERS - 3]}…)"


def resumed_line(sets: Sets) -> str:
    """Return the line for a user whose session continues with its context sets."""
    return f"foveal: context restored ({_counted(sets)})" if sets else "foveal: context restored"


def changed_line(before: Sets, after: Sets) -> str:
    """Return the line for a user whose session's context sets changed; "" if they didn't."""
    parts: list[str] = []
    for name in dict.fromkeys((*before, *after)):
        old, new = set(before.get(name, ())), set(after.get(name, ()))
        if old != new:
            counts = [f"+{len(new - old)}"] * bool(new - old) + [f"-{len(old - new)}"] * bool(old - new)
            parts.append(f"{_shown(name)} {' '.join(counts)}")
    return f"foveal: session context changed ({', '.join(parts)})" if parts else ""


def _counted(sets: Sets) -> str:
    return ", ".join(f"{len(entries)} {_shown(name)}" for name, entries in sets.items())


def _shown(name: str) -> str:
    """Return a set's name without characters that a terminal can't show."""
    return "".join(character if character.isprintable() else "?" for character in name)
