"""Owns the signals: what makes a sentence of some language likely to be a decision, though none is enough."""

from __future__ import annotations

from ..core.lazy_dataclass import dataclass
from .phrases import NEVER


@dataclass(frozen=True, slots=True)
class Signals:
    """Regexes over the form of a sentence. Each says little; several together, said where files change, say
    what a phrase says alone."""

    acts: str
    """The speaker does something to the code, in any tense, or has just done it."""
    now: str
    """Something is so from now on."""
    contrast: str
    """What was not taken, in wider words than the phrases of a choice."""
    consequence: str
    """What follows: `so that`, `which means`, `that way`."""
    alternative: str
    """Begins a sentence on a way that wasn't taken, behind the one that was."""
    trade: str
    """What it costs, or that it is good enough."""
    symptom: str
    """Something is wrong."""
    links: str
    """Joins a fault and its cause: `because`, `comes from`, or a colon."""
    points: str
    """Says that the cause stands in the sentence: `this is why`, `turns out`."""
    complains: str
    """A user asks why something goes wrong."""
    judges: str
    """What was tried isn't good."""
    abandons: str
    """What was tried is given up or taken back, in any tense."""
    checks: str
    """Is about tests, builds and tools, of which faults are no news."""
    limits: str = NEVER
    """Sets a bound or another value: `at most 12`, `went from 32 to 8`."""
    beyond: str = NEVER
    """Begins a sentence on what is on the other side of a bound: `Beyond that`."""
    removes: str = NEVER
    """Something is taken out; an attempt if it is said to be no good."""


def signals_for(name: str) -> Signals:
    """Return the signals of a language by the name that its phrases have."""
    from .east_asian_signals import CHINESE_SIGNALS, JAPANESE_SIGNALS
    from .english_signals import ENGLISH_SIGNALS
    from .european_signals import FRENCH_SIGNALS, GERMAN_SIGNALS, SPANISH_SIGNALS

    return {
        "german": GERMAN_SIGNALS,
        "french": FRENCH_SIGNALS,
        "spanish": SPANISH_SIGNALS,
        "chinese": CHINESE_SIGNALS,
        "japanese": JAPANESE_SIGNALS,
    }.get(name, ENGLISH_SIGNALS)
