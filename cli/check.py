"""Owns the form of one check: what was found, whether that is wrong, and what to run about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from . import terminal

Level = Literal["ok", "warning", "wrong"]


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the report: `fix` is what to run about it."""

    name: str
    level: Level
    text: str
    fix: str = ""


def to_map(check: Check) -> dict[str, str]:
    """Return a check as JSON shows it."""
    found = {"name": check.name, "level": check.level, "text": check.text}
    return {**found, "fix": check.fix} if check.fix else found


def to_text(check: Check) -> str:
    """Return a check as a person reads it: a mark, what was found, and below it what to run."""
    mark, colour = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "wrong": ("✗", "red")}[check.level]
    line = f"{terminal.styled(mark, fg=colour, bold=True)} {terminal.clean(check.text)}"
    return f"{line}\n    run: {terminal.clean(check.fix)}" if check.fix else line
