"""A check of `foveal doctor` and `foveal hooks check`: a mark, what was found, what to run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from .terminal import styled
from .text import clean

Level = Literal["ok", "warning", "wrong"]


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the report: `fix` is what to run about it, `detail` what only those see who ask."""

    name: str
    level: Level
    text: str
    fix: str = ""
    detail: str = ""


def to_map(check: Check) -> dict[str, str]:
    """Return a check as JSON shows it."""
    return {name: value for name, value in asdict(check).items() if value}


def to_text(check: Check, *, verbose: bool = False) -> str:
    """Return a check as a person reads it: a mark, what was found, below it details and what to run."""
    mark, colour = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "wrong": ("✗", "red")}[check.level]
    line = f"{styled(mark, fg=colour, bold=True)} {clean(check.text)}"
    below = (verbose and check.detail, check.fix and f"run: {check.fix}")
    return "\n    ".join((line, *(clean(text) for text in below if text)))


def ok(name: str, text: str, detail: str = "") -> Check:
    """Return a check that found nothing wrong."""
    return Check(name, "ok", text, detail=detail)


def warning(name: str, text: str, fix: str = "") -> Check:
    """Return a check that found something that foveal works in spite of."""
    return Check(name, "warning", text, fix)


def wrong(name: str, text: str, fix: str = "") -> Check:
    """Return a check that found a problem."""
    return Check(name, "wrong", text, fix)
