"""Estimates the probability that a prompt needs code of the project, from its words and what they find.

Two kinds of evidence add up: what the index knows of the prompt's words, and which phrases the prompt is made
of (`commit and push`, `how much does`), since these tell a chore or general knowledge from a task. The
meaning of a prompt takes no part, so that the decision is the same before, during and after the embedding,
and without it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from heapq import nlargest
from itertools import islice, pairwise
from math import exp, fsum, log, log1p
from typing import TYPE_CHECKING, Final, NamedTuple

from ..core.vocabulary import words
from ..index.service import document_terms
from .glossary import is_foreign
from .mentions import MEMBER, SHAPED
from .need_weights import PHRASES, WEIGHTS
from .query import Need
from .question import Question
from .stop_words import STOP_WORDS

if TYPE_CHECKING:
    from ..index.service import LexicalReader

DEFINITIONS_MAX: Final = 10
"""Maximum number of found definitions, the most probable ones, that enter the estimate."""

TOKENS_MAX: Final = 60
"""Maximum number of tokens of a prompt whose phrases count; a longer prompt is a report."""

WORDS_MAX: Final = 100
"""Maximum number of words of a prompt looked up, at 5 microseconds a term."""

PLACES_LEAST: Final = 0.01
"""Added to the sum of the definitions' probabilities before taking the logarithm, because the sum may be
0."""

SHORT_TOKENS, LONG_TOKENS = 6, 25
"""Tokens of a prompt at which `short` is a half, and above which a prompt counts as long."""

TEXT_TOKENS = 3
"""Maximum tokens of a prompt whose occurrence word for word says nothing (`run the tests`)."""

SAID_MAX: Final = 5
"""Maximum number of a prompt's words in the reason."""

READS_ENGLISH: Final = (
    "the default embedding model reads English: ask with English words or with names of the code"
)
"""What to do about a question in another language that finds nothing."""

HINT: Final = (
    "Nothing of the code is shown for this prompt: its words aren't those of the code. `foveal query` finds"
    f" what it is about; {READS_ENGLISH}."
)
"""The text sent for a question in another language if the project has none of its words."""


class Evidence(NamedTuple):
    """What a search by words found for a prompt, with all numbers from 0 to 1.

    - `named`: the certainty that the prompt names a file or definition of the project.
    - `text`: the largest share of the prompt, or of a text in it, that the project has word for word.
    - `probabilities`: those of the found definitions.
    """

    named: float = 0.0
    text: float = 0.0
    probabilities: Collection[float] = ()


def need_of(question: Question, lexical: LexicalReader, found: Evidence) -> Need:
    """Return the probability that a prompt needs code, with the reason.

    Raises `LexicalDamaged`, `OSError`."""
    if question.is_long:
        return Need(1.0, "it is long, as no prompt is that needs nothing")
    features = features_of(question, lexical, found)
    probability = round(probability_of(features, phrases_of(question)), 2)
    said = ", ".join(islice(question.words, SAID_MAX)) or "none"
    reason = (
        f"it needs the code with a probability of {probability:.2f}: of its words that name anything ({said})"
        f" names in the code know {features['known in names']:.0%}, outright it names something with"
        f" {found.named:.1f}, the likeliest definition by words alone has"
        f" {max(found.probabilities, default=0.0):.2f}"
    )
    asks = features["asks"] or not _FOREIGN_QUESTION_WORDS.isdisjoint(_tokens(question)[:1])
    return Need(probability, reason, HINT if asks and is_foreign(question.asked) else "")


def probability_of(
    features: Mapping[str, float],
    phrases: Collection[str],
    weights: Mapping[str, float] = WEIGHTS,
    by_phrase: Mapping[str, float] = PHRASES,
) -> float:
    """Return the probability of a need. A path, or a name in the form of code, is as sure as it is known."""
    total = weights["constant"] + fsum(weights[name] * value for name, value in features.items())
    total += fsum(by_phrase.get(phrase, 0.0) for phrase in sorted(phrases))
    named = features["shaped"] * max(features["named"], features["named, alone"])
    return max(1 / (1 + exp(-max(min(total, 30.0), -30.0))), named)


def phrases_of(question: Question) -> frozenset[str]:
    """Return a prompt's words, pairs of words joined by `_`, and its first word after `^`, in lower case."""
    tokens = [token.replace("\u2019", "'") for token in _tokens(question)][:TOKENS_MAX]
    pairs = (f"{first}_{second}" for first, second in pairwise(tokens))
    return frozenset((*tokens, *pairs, *(f"^{token}" for token in tokens[:1])))


def features_of(question: Question, lexical: LexicalReader, found: Evidence) -> dict[str, float]:
    """Return the features of a prompt, by name."""
    tokens = _tokens(question)
    telling = list(dict.fromkeys(filter(_tells, tokens)))
    known = _known(telling[:WORDS_MAX], lexical)
    asks = float(bool(_ASKS.search(question.asked)))
    begins = float(bool(tokens) and tokens[0] in _QUESTION_WORDS)
    short = SHORT_TOKENS / (SHORT_TOKENS + len(tokens))
    text = found.text if len(tokens) > TEXT_TOKENS else 0.0
    return {
        "named": 0.0 if question.only_word else min(found.named, 1.0),
        "named, alone": min(found.named, 1.0) if question.only_word else 0.0,
        "places": log(PLACES_LEAST + fsum(nlargest(DEFINITIONS_MAX, found.probabilities))),
        "text, long": text * log1p(max(len(tokens) - TEXT_TOKENS, 0)),
        "known in names": known.in_names,
        "known": log1p(fsum(known.rarities)),
        "known, rarest": max(known.rarities, default=0.0),
        "unknown": known.unknown,
        "unknown, short": known.unknown * short,
        "body only": known.body_only,
        "telling": len(telling) / max(len(tokens), 1),
        "telling words": log1p(len(telling)),
        "length": log1p(len(tokens)),
        "long": log1p(max(len(tokens) - LONG_TOKENS, 0)),
        "short": short,
        "asks": asks,
        "asks, known": asks * max(known.rarities, default=0.0),
        "begins as a question": begins,
        "begins as a question, unknown": begins * known.unknown,
        "pasted": float(bool(question.pasted)),
        "shaped": float(
            any(symbol.certainty >= SHAPED for symbol in question.symbols) or bool(question.paths)
        ),
    }


class _KnownWords(NamedTuple):
    """What the index knows of the telling words of a prompt.

    - `rarities`: for each word how rare it is in names and paths, from 0 (in all chunks, or in no name) to 1.
    - `in_names`: the share of the words in names, weighted by rarity.
    - `body_only`: the share of the words that occur, but in no name; `unknown`: the share of the others.
    """

    rarities: list[float]
    in_names: float
    body_only: float
    unknown: float


def _known(telling: Collection[str], lexical: LexicalReader) -> _KnownWords:
    documents = max(lexical.documents, 1)
    most = log(1 + documents)
    rarities, total, known, body_only, unknown = [], 0.0, 0.0, 0, 0
    for word in telling:
        places = [lexical.places(term) for term in _parts(word)]
        if not places:
            continue
        in_names = [max(place.get("symbols", 0), place.get("path", 0)) for place in places]
        rarity = max(min(log(1 + documents / count) / most, 1.0) if count else 0.0 for count in in_names)
        weight = max(log(1 + documents / (1 + max(place.values(), default=0))) for place in places)
        rarities.append(rarity)
        total += weight
        if rarity:
            known += weight
        elif any(places):
            body_only += 1
        else:
            unknown += 1
    count = max(len(telling), 1)
    return _KnownWords(rarities, known / total if total else 0.0, body_only / count, unknown / count)


def _tokens(question: Question) -> list[str]:
    return [token.lower() for token in _TOKEN.findall(question.asked)]


def _tells(word: str) -> bool:
    """Whether a word in lower case could refer to something in a project."""
    return word not in STOP_WORDS and not word.isdigit() and (len(word) > 1 or not word.isascii())


def _parts(word: str) -> list[str]:
    """Return the terms of a word; for a compound name only the terms of its parts."""
    terms = document_terms(word)
    return terms[:-1] if len(terms) > 2 else terms


def is_small_talk(question: Question) -> bool:
    """Whether a prompt has no word that could refer to something in a project."""
    text = question.text.strip()
    if _COMMAND.match(text) or _NOTICE.match(text):
        return True
    if question.paths or question.errors or question.pasted or question.words:
        return False
    return not any(symbol.certainty >= MEMBER for symbol in question.symbols)


_TOKEN = re.compile(r"\w(?:[\w'-]{0,98}\w)?")
_ASKS = re.compile(r"[?\uff1f]|怎么|怎样|如何|为什么|哪里|哪个|什么|どこ|どう|なぜ")
_FOREIGN_QUESTION_WORDS = words(
    "wie wo warum wieso wer welche welcher welches wann comment pourquoi où quel quelle cómo dónde cuál"
    " onde come dove perché как где почему зачем кто"
)
_QUESTION_WORDS = words(
    "how what where why which who when does is are can do did whats what's where's who's how's should could"
    " would will was were has have"
)

_COMMAND = re.compile(r"/[A-Za-z][\w:.-]*(?:\s|$)|![^\s!].*$|#(?!\d)\w[^\n]*$")
"""Prompts that the agent program handles itself: a command (`/review 12`), a shell line (`!ls`), or a note
(`#note`); `#12` is an issue."""

_NOTICE = re.compile(
    r"\[Request interrupted\b|Caveat: The messages below were generated\b"
    r"|This session is being continued from a previous conversation\b"
)
"""Messages that the agent program writes in the user's name."""
