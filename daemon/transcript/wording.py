"""Owns the words of a decision: a sentence becomes what was decided and why, understandable by themselves."""

from __future__ import annotations

import re

from ..core.lazy_dataclass import dataclass
from .phrases import Phrases, compiled, meets, words
from .statement import Reading

MAX_CHARACTERS = 600
"""Decision and rationale each are cut there, at a word."""


@dataclass(frozen=True, slots=True)
class Wording:
    """What was decided and why. `last` is the place in the block of the last sentence that was used."""

    decision: str
    rationale: str
    last: int


def worded(reading: Reading, end: int, *, explained: bool, may_explain: bool = False) -> Wording | None:
    """Return a sentence as decision and rationale; nothing if it speaks of `it` and none before says what.

    A reason that begins before `end` belongs to the phrase that was found; `explained`: what stands behind a
    colon is a reason too; `may_explain`: the sentence before gives the reason, if this one doesn't.
    """
    sentence, before, phrases = reading.sentence, reading.before, reading.phrases
    text, form, rationale = sentence.text, sentence.form, ""
    for pattern, reason in ((_CALL_OUT, ""), (phrases.therefore, before.text if before else "")):
        if (match := compiled(pattern).match(form)) and (reason or pattern == _CALL_OUT):
            text, form, end = text[match.end() :], form[match.end() :], max(end - match.end(), 0)
            rationale = reason
    if (match := compiled(phrases.leading_reason).match(form)) and explained:
        reason, done = ("reason", "decision") if match["reason"] else ("cause", "done")
        rationale = text[match.start(reason) : match.end(reason)]
        text, form = text[match.start(done) :], form[match.start(done) :]
    elif not rationale:
        text, form, rationale = _split(text, form, end, phrases, explained=explained)
    if _is_bare(form, phrases):
        if before is None or rationale == before.text or before.form.rstrip().endswith("?"):
            if meets(phrases.bare, form) or not (meets(phrases.contrast, form) and "`" in text):
                return None  # else it names both ways
        else:
            text = f"{before.text} {text}"
    last = reading.at
    if not rationale and before and may_explain:
        rationale = before.text
    if not rationale and (after := _reason_after(reading)):
        rationale, last = after, reading.at + 1
    return Wording(_trimmed(text), _trimmed(rationale), last)


def reason_start(form: str, phrases: Phrases) -> int:
    """Return where the reason begins that a sentence gives, its length if it gives none."""
    for match in compiled(phrases.reason).finditer(form):
        if match.start() >= (12 if form.isascii() else 5):
            return match.start() if len(form) - match.end() > 3 else len(form)
    return len(form)


def cut_short(text: str) -> str:
    """Return a text of at most `MAX_CHARACTERS`."""
    if len(text) <= MAX_CHARACTERS:
        return text
    return f"{text[: MAX_CHARACTERS - 1].rsplit(' ', 1)[0]}\u2026"


def _split(text: str, form: str, end: int, phrases: Phrases, *, explained: bool) -> tuple[str, str, str]:
    """Return a sentence without the reason that it gives, its form, and the reason."""
    cut = reason_start(form, phrases)
    if end <= cut < len(form):
        reason = compiled(phrases.reason).match(form, cut)
        return text[:cut], form[:cut], text[reason.end() if reason else cut :]
    behind = re.search(_EXPLANATION, form[end:]) if explained and end else None
    if behind is None:
        return text, form, ""
    cut = end + behind.start()
    return text[:cut], form[:cut], text[end + behind.end() :]


def _is_bare(form: str, phrases: Phrases) -> bool:
    """Whether a sentence speaks of what another one names."""
    if meets(phrases.bare, form):
        return not meets(_SAYS_WHAT, form)
    match = compiled(phrases.bare_object).search(form)
    return match is not None and not set(re.findall(r"[^\W_]+", form[: match.start()])) - _NAME_NOTHING


def _reason_after(reading: Reading) -> str:
    """Return the next sentence if it goes on with the reason, or explains an item of a list of decisions."""
    after, phrases = reading.after, reading.phrases
    if after is None or compiled(phrases.found).fullmatch(after.form.strip()):
        return ""
    if meets(phrases.advice, after.form) or after.form.rstrip().endswith(("?", "\uff1f")):
        return ""
    explains = reading.sentence.listed and reading.sentence.section in ("decision", "tried")
    return after.text if explains or meets(phrases.goes_on, after.form) else ""


def _trimmed(text: str) -> str:
    text = text.strip(" ,;:\u2014-\uff0c\u3001")
    return text if re.match(r"\w+[_./(]|\W", text) else text[:1].upper() + text[1:]


_SAYS_WHAT = r"^it(?:'s| is| was) (?:the|an?|in the) [^.;:]{3,60}: \S"
"""`It's the inodes, not the blocks: …` stands for nothing said before."""
_EXPLANATION = r"(?<=\w)\s?(?:: |\uff1a| \u2014 | - )(?=\S+\s?\S)"
_CALL_OUT = (
    r"(?:found (?:it|the (?:bug|issue|problem|cause))|got it|there it is|ok(?:ay)?|great|perfect"
    r"|interesting(?:ly)?|aha|so|there it is|gotcha|gefunden|die ursache ist (?:gefunden|klar)"
    r"|(?:so |and |ok(?:ay)?, )?(?:that|this|here)(?:'s| is)(?: exactly| also)? (?:it|the (?:\w+ )?(?:bug"
    r"|cause|culprit"
    r"|problem|reason|issue|leak))|that explains it)"
    r"[:!,.\u2014\u2013] ?(?=\S)"
)
"""What is said before the thing itself."""
_NAME_NOTHING = words(
    """
    i we ve have had also then finally instead chose chosen decided opted elected not to on against for with
    so and ich wir habe haben uns mich je j ai nous avons on a he hemos lo la los
    """
)
"""Behind these words alone `it` stands for something in another sentence; behind more, for what they name."""
