"""Owns the record of what a language says when it decides, and which language a text is in."""

from __future__ import annotations

import re
from functools import cache

from ..core.lazy_dataclass import dataclass

NEVER = r"(?!)"
"""Matches nothing: a language has no such phrase, or none that is sure enough."""


@dataclass(frozen=True, slots=True)
class Phrases:
    """Regexes over the form of a sentence. Each is a table of phrases, not a grammar: what none of them meets
    is not taken."""

    language: str
    chose: str
    """A choice that the speaker says to have made; enough by itself."""
    did: str
    """Something that the speaker says to have done; a decision only with a reason or with what it wasn't."""
    changed: str
    """What the code does now by the speaker's work; a decision only with a reason and a contrast."""
    announced: str
    """What the speaker is about to do; with a reason or a contrast a decision, if files change afterwards."""
    cause: str
    """A fault has this cause, said for certain."""
    gave_up: str
    """Something was tried, rejected or found not to work."""
    undone: str
    """What had been done was taken back."""
    contrast: str
    """What was not taken: `instead of`, `rather than`."""
    reason: str
    """Stands before a reason: what precedes it is the decision."""
    leading_reason: str
    """A sentence that begins with its reason: groups `reason` and `decision`, or `cause` and `done`."""
    purpose: str
    """What something is for; says less than a reason."""
    meant: str
    """Done on purpose: `deliberately`."""
    unsure: str
    supposed: str
    """Stands before what isn't so: `if we`, `whether`."""
    told_by_others: str
    """What follows is said or was decided by somebody else."""
    advice: str
    """Is said to the reader about what could be done, or asks."""
    routine: str
    """How the work goes on: tests are run, files looked at."""
    to_do: str
    """Lies ahead or was left undone."""
    bare: str
    """Begins with a word that stands for what was said before: `It`, `This`."""
    bare_object: str
    """Does something to what was said before: `decided against it`."""
    therefore: str
    """Begins with a word by which the sentence before is the reason: `That's why`."""
    goes_on: str
    """A sentence that gives the reason of the one before."""
    user_decided: str
    """A standing decision as a user states it."""
    mistaken: str = NEVER
    """A cause that was a guess, and wrong."""
    contrast_may_lead: bool = True
    """What was not taken may stand before what was done; else only at the very beginning of a sentence."""
    trivial: str = NEVER
    """Done, and too small for a decision even with a reason: a typo, a changelog."""
    describes: str = NEVER
    """How something is. Where source files were edited before, it is what the speaker made of it."""
    does: str = NEVER
    """What the speaker does, in the present: `I return 409`; only with a reason and a contrast."""
    speaker: str = NEVER
    """Says `I` or `we`: with a reason and a contrast on the way any such sentence is taken."""
    instead: str = NEVER
    """Begins with `Instead`: what was said before was not taken."""
    removed: str = NEVER
    """What was tried was taken out again."""
    found: str = NEVER
    """All of a sentence that only says that the cause is known: `Found it.`, `That's the leak.`"""
    forbids: str = NEVER
    """A user says what must never be, and why; a standing decision wherever it stands."""
    given_up_now: str = NEVER
    """What had been announced is dropped: `that doesn't work`."""


def words(text: str) -> frozenset[str]:
    """Return the words of a table of words."""
    return frozenset(text.split())


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Return a regex compiled at its first use; only for patterns that stand in the code."""
    return re.compile(pattern)


def meets(pattern: str, form: str) -> bool:
    """Whether a phrase stands in a form."""
    return compiled(pattern).search(form) is not None


def phrases_for(text: str) -> Phrases:
    """Return the phrases of the language that a text is in, English where none is told."""
    from .east_asian_phrases import CHINESE, JAPANESE
    from .english_phrases import ENGLISH
    from .french_phrases import FRENCH
    from .german_phrases import GERMAN
    from .spanish_phrases import SPANISH

    beginning = text[:4_000].lower()
    if len(compiled(_KANA).findall(beginning)) > _FEW:
        return JAPANESE
    if len(compiled(_HAN).findall(beginning)) > _FEW:
        return CHINESE
    said = compiled(r"[^\W\d_]+").findall(beginning)
    counts = {name: sum(word in common for word in said) for name, common in _COMMON.items()}
    best = max(counts, key=lambda name: counts[name])
    return {"english": ENGLISH, "german": GERMAN, "french": FRENCH, "spanish": SPANISH}[best]


_FEW = 5
_KANA = r"[\u3041-\u30fa]"
_HAN = r"[\u4e00-\u9fff]"
_COMMON = {
    "english": words(
        "the and of to is was i we it in that for with because instead not so on this but an as by no from"
    ),
    "german": words(
        """
        der die das und ist war ich wir nicht ein eine einen den dem mit weil statt für auf es im zu wurde
        habe da sich wird
        """
    ),
    "french": words(
        """
        le la les et est était je nous pas un une des avec parce que pour dans du au j ai il plutôt car ne sur
        """
    ),
    "spanish": words(
        """
        el la los las y es era no un una con porque para en del que se he lo por vez al más sin su
        """
    ),
}
"""Frequent words by which languages are told apart; those of one may occur in another."""
