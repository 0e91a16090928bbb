"""Estimates the probability that a prompt needs code of the project, from its tokens and the search results.

Whether `how do I exit vim` is about this project depends on what the search finds in it, so the words of a
prompt count only by what the index knows of them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from heapq import nlargest
from itertools import islice
from math import exp, fsum, log
from typing import TYPE_CHECKING, Final

from ..index.service import document_terms
from .mentions import MEMBER, SHAPED
from .query import Need
from .question import Question
from .stop_words import FOREIGN_STOP_WORDS, STOP_WORDS

if TYPE_CHECKING:
    from ..index.service import LexicalReader

DEFINITIONS_MAX: Final = 10
"""Maximum number of found definitions, the most probable ones, that enter the estimate."""

WORDS_MAX: Final = 100
"""Maximum number of terms of a prompt looked up, at 5 microseconds each."""

PLACES_LEAST: Final = 0.01
"""Added to the sum of the definitions' probabilities before taking the logarithm, because the sum may be
0."""

SAID_MAX: Final = 5
"""Maximum number of a prompt's words in the reason."""

NEAREST_USUAL: Final = 0.3
"""Cosine of the chunk nearest to a prompt that counts neither for nor against its need."""

WEIGHTS: Final[Mapping[str, float]] = {
    "constant": -3.337,
    "asks": 2.718,
    "known in names": 2.377,
    "meaning": 7.816,
    "named": 2.701,
    "pasted": 3.53,
    "places": 0.7799,
    "shaped": 1.289,
    "telling": 3.373,
}
"""Weights of the logistic regression, by feature. `python -m benchmarks.silence.fit` fits them to the
prompts of benchmarks/silence, about three projects in two languages."""

HINT: Final = (
    "Nothing of the code is shown for this prompt: its words aren't those of the code. `foveal query` finds"
    " what it is about with English words or with names of the code."
)
"""The text sent for a question in another language if the project has none of its words."""


def need_of(
    question: Question,
    lexical: LexicalReader,
    named: float,
    probabilities: Collection[float],
    nearest: float | None,
) -> Need:
    """Return the probability that a prompt needs code, with the reason.

    `named` is the certainty (0 to 1) that the prompt names a file or definition of the project.
    `probabilities` are those of the definitions found for it. `nearest` is the cosine of the chunk nearest in
    meaning, None if unknown. Raises `LexicalDamaged`, `OSError`.
    """
    if question.is_long:
        return Need(1.0, "it is long, as no prompt is that needs nothing")
    features = features_of(question, lexical, named, probabilities, nearest)
    probability = round(probability_of(features, WEIGHTS), 2)
    said = ", ".join(islice(question.words, SAID_MAX)) or "none"
    near = "" if nearest is None else f", the nearest in meaning has a cosine of {nearest:.2f}"
    reason = (
        f"it needs the code with a probability of {probability:.2f}: of its words that name anything ({said})"
        f" names in the code know {features['known in names']:.0%}, outright it names something with"
        f" {named:.1f}, the likeliest definition has {max(probabilities, default=0.0):.2f}{near}"
    )
    return Need(probability, reason, HINT if features["asks"] and _is_foreign(question.asked) else "")


def probability_of(features: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Return the probability of a need, at least the certainty that the prompt names something (`named`)."""
    total = weights["constant"] + fsum(weights[name] * value for name, value in features.items())
    return max(1 / (1 + exp(-max(min(total, 30.0), -30.0))), features["named"])


def features_of(
    question: Question,
    lexical: LexicalReader,
    named: float,
    probabilities: Collection[float],
    nearest: float | None,
) -> dict[str, float]:
    """Return the features of a prompt, by name."""
    tokens = _TOKEN.findall(question.asked)
    telling = list(dict.fromkeys(token for token in tokens if _tells(token.lower())))
    return {
        "named": min(named, 1.0),
        "places": log(PLACES_LEAST + fsum(nlargest(DEFINITIONS_MAX, probabilities))),
        "meaning": 0.0 if nearest is None else nearest - NEAREST_USUAL,
        "known in names": _known(telling, lexical),
        "telling": len(telling) / max(len(tokens), 1),
        "asks": float(bool(_QUESTION_MARK.search(question.asked))),
        "pasted": float(bool(question.pasted)),
        "shaped": float(
            any(symbol.certainty >= SHAPED for symbol in question.symbols) or bool(question.paths)
        ),
    }


def _tells(word: str) -> bool:
    """Whether a word in lower case could refer to something in a project."""
    return word not in STOP_WORDS and not word.isdigit() and (len(word) > 1 or not word.isascii())


def _known(telling: Sequence[str], lexical: LexicalReader) -> float:
    """Return the share of the words that occur in names or paths, weighted by rarity."""
    known = total = 0.0
    parts = (term for word in telling for term in _parts(word))
    for term in islice(dict.fromkeys(parts), WORDS_MAX):
        places = lexical.places(term)
        weight = log(1 + lexical.documents / (1 + max(places.values(), default=0)))
        total += weight
        known += weight if "symbols" in places or "path" in places else 0.0
    return known / total if total else 0.0


def _parts(word: str) -> list[str]:
    """Return the terms of a word; for a compound name only the terms of its parts."""
    terms = document_terms(word)
    return terms[:-1] if len(terms) > 2 else terms


def _is_foreign(text: str) -> bool:
    """Whether most function words aren't English, or a word is in a script other than Latin."""
    if _OTHER_SCRIPT.search(text):
        return True
    forms = text.lower().split()
    others = sum(form in FOREIGN_STOP_WORDS for form in forms)
    return others > 1 and others > sum(form in STOP_WORDS - FOREIGN_STOP_WORDS for form in forms)


def is_small_talk(question: Question) -> bool:
    """Whether a prompt has no word that could refer to something in a project."""
    text = question.text.strip()
    if _COMMAND.match(text) or _NOTICE.match(text):
        return True
    if question.paths or question.errors or question.pasted or question.words:
        return False
    return not any(symbol.certainty >= MEMBER for symbol in question.symbols)


_TOKEN = re.compile(r"\w(?:[\w'-]{0,98}\w)?")
_QUESTION_MARK = re.compile(r"[?\uff1f]")
_OTHER_SCRIPT = re.compile(r"[\u0370-\u1fff\u3040-\ud7af]")

_COMMAND = re.compile(r"/[A-Za-z][\w:.-]*(?:\s|$)|![^\s!].*$|#(?!\d)\w[^\n]*$")
"""Prompts that the agent program handles itself: a command (`/review 12`), a shell line (`!ls`), or a note
(`#note`); `#12` is an issue."""

_NOTICE = re.compile(
    r"\[Request interrupted\b|Caveat: The messages below were generated\b"
    r"|This session is being continued from a previous conversation\b"
)
"""Messages that the agent program writes in the user's name."""
