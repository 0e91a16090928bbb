"""Owns the words that are put before agents beside their context, and the lines that their users see.

They state facts: orders in injected text make models distrust it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Sets = Mapping[str, tuple[str, ...]]

INCOMPLETE_CHARACTERS = 320
"""Maximum length of the line about what a context lacks: the three longest reasons."""


def session_section(session_id: str) -> str:
    """Return the section on session context: what it is, how it is set and read, and when."""
    return (
        "## Session context\n\n"
        "foveal keeps small named sets for this session (files, endpoints, ports, or any other name) and"
        " gives them back when the session is resumed or its window was compacted.\n"
        "- Set: the MCP tool `set_relevant_context` (set_name, items, mode replace or merge)."
        " Read: `get_relevant_context` (set_name, or none for all).\n"
        "- When: work starts from a specification or notes file; the user asks to remember a file;"
        " endpoints or ports are in use that later turns need.\n"
        f"- This session's id there: `{session_id}`."
    )


def incomplete_line(reasons: Sequence[str]) -> str:
    """Return the line for the model whose context was asked for before all of it could be had."""
    line = f"(This context is incomplete: {'; '.join(reasons)}.)"
    return line if len(line) <= INCOMPLETE_CHARACTERS else f"{line[: INCOMPLETE_CHARACTERS - 3]}…)"


def resumed_line(sets: Sets) -> str:
    """Return the line for a user whose session goes on with what it had."""
    return f"foveal: context restored ({_counted(sets)})" if sets else "foveal: context restored"


def changed_line(before: Sets, after: Sets) -> str:
    """Return the line for a user whose session's context changed; "" where it is as it was."""
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
    """Return a set's name fit for a terminal."""
    return "".join(character if character.isprintable() else "?" for character in name)
