"""Owns the words of a decision: a sentence becomes what was decided and why, understandable by themselves."""

from __future__ import annotations

import re

from msgspec import Struct

from .cues import Cues, compiled, meets, words
from .report import Reading

MAX_CHARACTERS = 600
"""Decision and rationale each are cut there, at a word."""


class Wording(Struct, frozen=True):
    """What was decided and why. `last` is the place in the block of the last sentence that was used."""

    decision: str
    rationale: str
    last: int


def worded(reading: Reading, end: int, *, explained: bool, may_explain: bool = False) -> Wording | None:
    """Return a sentence as decision and rationale; nothing if it speaks of `it` and none before says what.

    A reason that begins before `end` belongs to the phrase that was found; `explained`: what stands behind a
    colon is a reason too; `may_explain`: the sentence before gives the reason, if this one doesn't.
    """
    cues = reading.cues
    sentence, before = reading.sentence, reading.before
    text, form, rationale = sentence.text, sentence.form, ""
    for pattern, reason in ((_CALL_OUT, ""), (cues.THEREFORE, before.text if before else "")):
        if (match := compiled(pattern).match(form)) and (reason or pattern == _CALL_OUT):
            text, form, end = text[match.end() :], form[match.end() :], max(end - match.end(), 0)
            rationale = reason
    if (match := compiled(cues.LEADING_REASON).match(form)) and explained:
        reason, done = ("reason", "decision") if match["reason"] else ("cause", "done")
        rationale = text[match.start(reason) : match.end(reason)]
        text, form = text[match.start(done) :], form[match.start(done) :]
    elif not rationale:
        text, form, rationale = _split(text, form, end, cues, explained=explained)
    if _is_bare(form, cues):
        if before is None or rationale == before.text or before.form.rstrip().endswith("?"):
            if meets(cues.BARE, form) or not (meets(cues.CONTRAST, form) and "`" in text):
                return None  # else it names both ways
        else:
            text = f"{before.text} {text}"
    last = reading.at
    if not rationale and before and may_explain:
        rationale = before.text
    if not rationale and (after := _reason_after(reading)):
        rationale, last = after, reading.at + 1
    return Wording(_trimmed(text), _trimmed(rationale), last)


def reason_start(form: str, cues: Cues) -> int:
    """Return where the reason begins that a sentence gives, its length if it gives none."""
    for match in compiled(cues.REASON).finditer(form):
        if match.start() >= (12 if form.isascii() else 5):
            return match.start() if len(form) - match.end() > 3 else len(form)
    return len(form)


def cut_short(text: str) -> str:
    """Return a text of at most `MAX_CHARACTERS`."""
    if len(text) <= MAX_CHARACTERS:
        return text
    return f"{text[: MAX_CHARACTERS - 1].rsplit(' ', 1)[0]}\u2026"


def _split(text: str, form: str, end: int, cues: Cues, *, explained: bool) -> tuple[str, str, str]:
    """Return a sentence without the reason that it gives, its form, and the reason."""
    cut = reason_start(form, cues)
    if end <= cut < len(form):
        reason = compiled(cues.REASON).match(form, cut)
        return text[:cut], form[:cut], text[reason.end() if reason else cut :]
    behind = re.search(_EXPLANATION, form[end:]) if explained and end else None
    if behind is None:
        return text, form, ""
    cut = end + behind.start()
    return text[:cut], form[:cut], text[end + behind.end() :]


def _is_bare(form: str, cues: Cues) -> bool:
    """Whether a sentence speaks of what another one names."""
    if meets(cues.BARE, form):
        return not meets(_SAYS_WHAT, form)
    match = compiled(cues.BARE_OBJECT).search(form)
    return match is not None and not set(re.findall(r"[^\W_]+", form[: match.start()])) - _NAME_NOTHING


def _reason_after(reading: Reading) -> str:
    """Return the next sentence if it goes on with the reason, or explains an item of a list of decisions."""
    cues = reading.cues
    after = reading.after
    if after is None or compiled(cues.FOUND).fullmatch(after.form.strip()):
        return ""
    if meets(cues.ADVICE, after.form) or after.form.rstrip().endswith(("?", "\uff1f")):
        return ""
    explains = reading.sentence.listed and reading.sentence.section in ("decision", "tried")
    return after.text if explains or meets(cues.GOES_ON, after.form) else ""


def _trimmed(text: str) -> str:
    text = text.strip(" ,;:\u2014-\uff0c\u3001")
    return text if re.match(r"\w+[_./(]|\W", text) else text[:1].upper() + text[1:]


_SAYS_WHAT = r"^it(?:'s| is| was) (?:the|an?|in the) [^.;:]{3,60}: \S"
"""`It's the inodes, not the blocks: …` stands for nothing said before."""
_EXPLANATION = r"(?<=\w)\s?(?:: |\uff1a| \u2014 | - )(?=\S+\s?\S)"
_CALL_OUT = (
    r"(?:found (?:it|the (?:bug|issue|problem|cause))|got it|there it is|ok(?:ay)?|great|perfect"
    r"|interesting(?:ly)?|aha|so|there it is|gotcha|(?:so |and |ok(?:ay)?, )?(?:that|this|here)(?:'s"
    r"| is)(?: exactly| also)? (?:it|the (?:\w+ )?(?:bug|cause|culprit|problem|reason|issue|leak))"
    r"|that explains it)[:!,.\u2014\u2013] ?(?=\S)"
)
"""What is said before the thing itself."""
_NAME_NOTHING = words(
    """
    i we ve have had also then finally instead chose chosen decided opted elected not to on against for with
    so and ich wir habe haben uns mich je j ai nous avons on a he hemos lo la los
    """
)
"""Behind these words alone `it` stands for something in another sentence; behind more, for what they name."""
