"""Owns how probable it is that a prompt needs anything of the code: from its words, and from what was found.

The words alone decide sure cases only (`small_talk.py`); whether `how do I exit vim` is about this project
shows in what the project has for it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from heapq import nlargest
from itertools import islice
from math import exp, fsum, log
from typing import Final

from msgspec import Struct

from ..index.lexical_reader import LexicalReader
from ..index.terms import document_terms
from ..project.vocabulary import words
from .clauses import Clause, Token, split_clauses
from .moods import mood_of, without_greeting
from .patterns import compiled
from .question import Question
from .question_words import FOREIGN_STOP_WORDS, STOP_WORDS
from .small_talk import WORK, telling_words
from .symbol_mentions import SHAPED

NEED_MIN: Final = 0.25
"""A prompt that needs the code with less probability gets nothing of it. Low, since to withhold what is
needed is worse than to send what isn't: of the prompts of benchmarks/silence below it .98 need nothing, in
sets left out of the fit."""

NEED_SURE: Final = 0.75
"""A prompt that needs the code with this probability gets the best place, however improbable that is."""

DEFINITIONS_MAX: Final = 10
"""Number of definitions, the most probable, that count as what was found."""

WORDS_MAX: Final = 100
"""Maximum number of terms of a prompt looked up, at 5 microseconds each."""

PLACES_LEAST: Final = 0.01
"""What is added to the probabilities of all definitions before their logarithm is taken, so that none counts
as a hundredth of one."""

SAID_MAX: Final = 5
"""Maximum number of a prompt's words that a reason names."""

NEAREST_USUAL: Final = 0.3
"""Cosine of the chunk nearest to a prompt that counts neither for nor against its need."""

WEIGHTS: Final[Mapping[str, float]] = {
    "constant": -3.65,
    "asks": 2.273,
    "changes": 1.495,
    "known in names": 2.797,
    "meaning": 5.54,
    "named": 2.19,
    "pasted": 4.093,
    "persons": -1.747,
    "places": 0.7193,
    "shaped": 1.312,
    "telling": 5.104,
    "work": -3.412,
}
"""Of a logistic regression on the features, fitted by `python -m benchmarks.silence.fit` to the prompts of
benchmarks/silence, about three projects in two languages."""

HINT: Final = (
    "Nothing of the code is shown for this prompt: its words aren't those of the code. `foveal query` finds"
    " what it is about with English words or with names of the code."
)
"""What is sent for a question or a task in another language in which nothing of the code is known."""


class Need(Struct, frozen=True):
    """How probable it is that a prompt needs anything of the code (0 to 1), why, in words, and what to send
    instead where it probably doesn't, empty for nothing."""

    probability: float
    reason: str
    hint: str = ""

    @property
    def is_probable(self) -> bool:
        """Whether what was found for the prompt is worth its tokens."""
        return self.probability >= NEED_MIN

    @property
    def is_sure(self) -> bool:
        """Whether something is to be shown though no place is probable."""
        return self.probability >= NEED_SURE


def need_of(
    question: Question,
    lexical: LexicalReader,
    named: float,
    probabilities: Collection[float],
    nearest: float | None,
) -> Need:
    """Return a prompt's need of the code.

    `named` says how surely the prompt names something of the project outright (0 to 1), `probabilities` are
    those of the definitions that were found for it, and `nearest` is the cosine of the chunk nearest in
    meaning, None where that isn't known. Raises `LexicalDamaged`, `OSError`.
    """
    if question.is_long:
        return Need(1.0, "it is long, as no prompt is that needs nothing")
    clauses = split_clauses(question.asked)
    telling = telling_words(clauses)
    features = features_of(question, clauses, telling, lexical, named, probabilities, nearest)
    probability = round(probability_of(features, WEIGHTS), 2)
    said = ", ".join(dict.fromkeys(token.text for token in telling[:SAID_MAX])) or "none"
    near = "" if nearest is None else f", the nearest in meaning has a cosine of {nearest:.2f}"
    reason = (
        f"it needs the code with a probability of {probability:.2f}: of its words that name anything ({said})"
        f" names in the code know {features['known in names']:.0%}, outright it names something with"
        f" {named:.1f}, the likeliest definition has {max(probabilities, default=0.0):.2f}{near}"
    )
    asks = features["asks"] or (features["changes"] and probability >= NEED_MIN)
    return Need(probability, reason, HINT if asks and _is_foreign(clauses) else "")


def probability_of(features: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Return how probable a need is, at least as much as it is sure that the prompt names something."""
    total = weights["constant"] + fsum(weights[name] * value for name, value in features.items())
    return max(1 / (1 + exp(-max(min(total, 30.0), -30.0))), features["named"])


def features_of(
    question: Question,
    clauses: Sequence[Clause],
    telling: Sequence[Token],
    lexical: LexicalReader,
    named: float,
    probabilities: Collection[float],
    nearest: float | None,
) -> dict[str, float]:
    """Return what speaks for a need and against it, by name; `telling` are the words that name anything."""
    forms = [token.form for clause in clauses for token in clause.tokens if token.kind != "mark"]
    moods = {mood_of(without_greeting(clause)) for clause in clauses}
    known, total = _known(telling, lexical)
    return {
        "named": min(named, 1.0),
        "places": log(PLACES_LEAST + fsum(nlargest(DEFINITIONS_MAX, probabilities))),
        "meaning": 0.0 if nearest is None else nearest - NEAREST_USUAL,
        "known in names": known / total if total else 0.0,
        "telling": len(telling) / max(len(forms), 1),
        "work": sum(form in WORK for form in forms) / max(len(forms), 1),
        "persons": float(not _PERSONS.isdisjoint(forms)),
        "asks": float("question" in moods),
        "changes": float("change" in moods),
        "pasted": float(bool(question.pasted)),
        "shaped": float(any(one.certainty >= SHAPED for one in question.symbols) or bool(question.paths)),
    }


def _known(telling: Sequence[Token], lexical: LexicalReader) -> tuple[float, float]:
    """Return what of the words is known in names and paths, and all of them, each by its rarity."""
    known = total = 0.0
    parts = (term for token in telling for term in _parts(token.text))
    for term in islice(dict.fromkeys(parts), WORDS_MAX):
        places = lexical.places(term)
        weight = log(1 + lexical.documents / (1 + max(places.values(), default=0)))
        total += weight
        known += weight if "symbols" in places or "path" in places else 0.0
    return known, total


def _parts(word: str) -> list[str]:
    """Return the terms of a word; of a name made of several its parts alone."""
    terms = document_terms(word)
    return terms[:-1] if len(terms) > 2 else terms


def _is_foreign(clauses: Sequence[Clause]) -> bool:
    """Whether most function words are of another language than English, or a script of one is used."""
    forms = [token.form for clause in clauses for token in clause.tokens if token.kind == "word"]
    if any(compiled(_OTHER_SCRIPT).search(form) for form in forms):
        return True
    others = sum(form in FOREIGN_STOP_WORDS for form in forms)
    return others > 1 and others > sum(form in STOP_WORDS - FOREIGN_STOP_WORDS for form in forms)


_OTHER_SCRIPT = r"[\u0370-\u1fff\u3040-\ud7af]"
_PERSONS = words("you your u i me my mine we us our yourself du dir ihr mir mich ich tu te vous je me mi yo")
"""What speaks of who asks and who is asked."""
