"""Statements: what a sentence may decide, in words that stand alone, with the evidence in its words.

Each sentence of an agent may be a choice, a cause or an abandoned attempt. decision_score.py decides which
it is, and whether it is any, when the events around it are known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from ..core.vocabulary import words
from .cues import Cues, cues_for
from .sentences import Sentence, Voice, blocks_of

Kind = Literal["choice", "cause", "attempt", "standing"]
"""A choice, the cause of a fault, an abandoned attempt, or a user's standing decision."""
MAX_CHARACTERS = 600
"""Maximum characters of a decision and of a rationale, cut at a word."""
_MIN_BYTES = 18
"""Minimum bytes of a sentence that stands alone; Chinese and Japanese need fewer characters."""
_MAX_SENTENCE = 800
"""Maximum characters of a sentence; a longer one is a dump."""


class Statement(Struct, frozen=True):
    """A decision as one or two sentences may state it."""

    kind: Kind
    decision: str
    rationale: str
    features: frozenset[str] = frozenset()
    """The evidence in its words; see decision_score.py."""
    source: str = ""
    """The whole text, which may name files that the decision doesn't."""
    places: frozenset[int] = frozenset()
    """The sentences used, counted within the text."""


def statements_in(text: str, voice: Voice) -> Iterator[Statement]:
    """Yield what the sentences of a text may state, in order; of a user the standing decisions."""
    first, announced = 0, list[Sentence]()
    for paragraph in blocks_of(text):
        block = [*announced, *paragraph]
        announced = block if all(map(_announces, block)) else []
        for at, sentence in enumerate(block):
            if can_state(sentence):
                reading = _Reading(block, at, first)
                found = _standing(reading) if voice == "user" else _statements(reading, voice)
                yield from filter(None, found)
        first += len(block)


def complains(text: str) -> bool:
    """Whether a user reports a fault or asks for its repair."""
    cues, form = cues_for(text), text.lower()
    return cues.meets("complains", form)


def can_state(sentence: Sentence) -> bool:
    """Whether a sentence can state a decision: it isn't too short, a question, advice or only a quotation."""
    form = sentence.form.strip()
    if len(form.encode("utf-8", "replace")) < _MIN_BYTES or len(form) > _MAX_SENTENCE or sentence.asks:
        return False
    if sentence.section == "advice" or not re.search(r"[^\W\d_x]", form):
        return False
    return not sentence.meets("advice", "routine") and not _announces(sentence)


def is_doubtful(sentence: Sentence) -> bool:
    """Whether a sentence, before its reason, is unsure, conditional, somebody else's, or in the future."""
    head = sentence.form[: _reason_start(sentence)]
    doubts = any(sentence.cues.meets(cue, head) for cue in ("unsure", "to_do", "others"))
    return doubts or sentence.cues.pattern("supposed").match(sentence.form) is not None


class _Reading(Struct, frozen=True):
    """A sentence in its block; `first` counts the sentences of the text before the block."""

    block: Sequence[Sentence]
    at: int
    first: int

    @property
    def sentence(self) -> Sentence:
        return self.block[self.at]

    @property
    def before(self) -> Sentence | None:
        """The previous sentence, if it can be the subject or the reason of this one."""
        before = self.block[self.at - 1] if self.at else None
        return None if before is None or before.asks or is_doubtful(before) else before

    @property
    def after(self) -> Sentence | None:
        return self.block[self.at + 1] if self.at + 1 < len(self.block) else None


def _standing(reading: _Reading) -> Iterator[Statement | None]:
    """Yield a user's standing decision: not a plan or a doubt."""
    if reading.sentence.meets("rules") and not reading.sentence.meets("to_do", "unsure"):
        yield _stated(reading, "standing", frozenset())


def _statements(reading: _Reading, voice: Voice) -> Iterator[Statement | None]:
    """Yield what an agent's sentence may be, by the cues that each kind needs at least."""
    sentence = reading.sentence
    if is_doubtful(sentence):
        return
    features = word_features(reading, voice)
    chose = "chose" in features
    given_up = features & {"gave_up", "abandons", "undone", "in tried"}
    chooses = chose or {"acts", "contrast"} <= features
    is_left = given_up or "abandons after" in features
    explains = (
        features & {"cause", "in cause", "after found", "narration"} or {"symptom", "reason"} <= features
    )
    if explains and not is_left and ("cause" in features or not chooses):
        yield _stated(reading, "cause", features)
    if given_up or (not chooses and {"judges", "reason" if voice == "report" else "links"} <= features):
        yield _stated(reading, "attempt", features)
    if features & _OF_CHOICE and (chose or not is_left):
        yield _stated(reading, "choice", features)


_OF_CHOICE = frozenset(
    {"acts", "chose", "now", "contrast", "purpose", "alternative after", "reason", "in decision"}
)


def word_features(reading: _Reading, voice: Voice) -> frozenset[str]:
    """Return the evidence in a sentence's words, its neighbours, its place and its speaker."""
    sentence, after = reading.sentence, reading.after
    head = sentence.form[: _reason_start(sentence)]
    found = {cue for cue in _IN_SENTENCE if sentence.meets(cue)}
    found |= {cue for cue in _BEFORE_REASON if sentence.cues.meets(cue, head)}
    found |= {f"{cue} after" for cue in _AFTER if after is not None and after.meets(cue)}
    more = {
        voice: True,
        f"in {sentence.section}": bool(sentence.section) and sentence.place == 0,
        "after found": any(map(_announces, reading.block[max(reading.at - 1, 0) : reading.at + 2])),
        "reason": sentence.meets("reason", "leading_reason"),
        "listed": sentence.listed,
        "clause": re.search(r"(?:;| \u2014| \u2013|\uff1b) (?=\S+ \S+ \S+)", sentence.form) is not None,
        "short": len(sentence.form.encode("utf-8", "replace")) < _SHORT_BYTES,
    }
    return frozenset(found | {name for name, holds in more.items() if holds})


_IN_SENTENCE = words(
    "contrast purpose meant limits cause symptom links gave_up removes judges checks"
    " mechanical bare replacement"
)
_BEFORE_REASON = words("chose acts now abandons undone")
"""A reason tells what others do, and how it was."""
_AFTER = words("alternative judges abandons trade")
_SHORT_BYTES = 45


def _announces(sentence: Sentence) -> bool:
    """Whether a sentence only announces a cause, which a neighbour states, such as `Found it`."""
    return sentence.cues.pattern("found").fullmatch(sentence.form.strip()) is not None


def _reason_start(sentence: Sentence) -> int:
    """Return the offset of a sentence's reason, its length if it gives none."""
    match = _reason_in(sentence.form, sentence.cues)
    return match.start() if match else len(sentence.form)


def _reason_in(form: str, cues: Cues) -> re.Match[str] | None:
    """Return the words before a reason."""
    start = 12 if form.isascii() else 5
    match = next((match for match in cues.pattern("reason").finditer(form) if match.start() >= start), None)
    return match if match and len(form) - match.end() > 3 else None


def _stated(reading: _Reading, kind: Kind, features: frozenset[str]) -> Statement | None:
    """Return a sentence as decision and rationale, with what it needs of the sentences around it.

    None if it speaks of `it` without an antecedent.
    """
    sentence, before, after = reading.sentence, reading.before, reading.after
    (text, rationale), used = _split(sentence, kind), set[int]()
    weak_attempt = kind == "attempt" and not features & {"gave_up", "in tried"}
    is_weak = weak_attempt and not rationale and before is not None and "abandons" in features
    if is_weak or _is_bare(sentence):
        if before is None:
            return None
        text, used = f"{before.text} {text}", {-1}
    if not rationale and after is not None and (weak_attempt or _explains(after, kind)):
        rationale, used = after.text, {*used, 1}
    if kind == "cause" and "in cause" in features and "cause" not in features:
        text = f"Root cause: {text}"
    return Statement(
        kind,
        cut_short(_trimmed(text)),
        cut_short(_trimmed(rationale)),
        features,
        cut_short(" ".join(reading.block[reading.at + step].text for step in sorted({0, *used}))),
        frozenset(reading.first + reading.at + step for step in {0, *used}),
    )


def _split(sentence: Sentence, kind: Kind) -> tuple[str, str]:
    """Return a sentence without its reason, and the reason. A cause keeps all that it says."""
    cut = None if kind == "cause" else _reason_in(sentence.form, sentence.cues)
    return (sentence.text[: cut.start()], sentence.text[cut.end() :]) if cut else (sentence.text, "")


def _is_bare(sentence: Sentence) -> bool:
    """Whether a sentence refers to something that another sentence names."""
    match = sentence.cues.pattern("bare_object").search(sentence.form)
    is_object = match is not None and match.start() < 6 and "`" not in sentence.form
    return sentence.meets("bare") or is_object


def _explains(after: Sentence, kind: Kind) -> bool:
    """Whether the next sentence gives the reason, the rejected alternative, or a cause's consequence."""
    if after.asks or _announces(after) or after.meets("routine"):
        return False
    if kind == "cause":
        goes_on = after.meets("symptom") or after.form.startswith("so ")
        return goes_on and not after.meets("unsure", "to_do", "acts", "abandons", "checks", "now")
    return after.meets("goes_on", "alternative")


def cut_short(text: str) -> str:
    """Return a text of at most `MAX_CHARACTERS`."""
    if len(text) <= MAX_CHARACTERS:
        return text
    return f"{text[: MAX_CHARACTERS - 1].rsplit(' ', 1)[0]}\u2026"


def _trimmed(text: str) -> str:
    text = text.strip(" ,;:\u2014-\uff0c\u3001")
    return text if re.match(r"\w+[_./(]|\W", text) else text[:1].upper() + text[1:]
