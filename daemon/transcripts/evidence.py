"""Strong evidence of a decision in a sentence, by phrase or section, the vetoes, and the decision's words."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from .cues import Cues, compiled, meets, words
from .report import Sentence, SentenceInBlock

Kind = Literal["choice", "cause", "attempt", "undone", "standing"]
"""A choice, the cause of a fault, an abandoned attempt, an undo, or a user's standing decision."""
MIN_BYTES = 18
"""Minimum bytes of a sentence that stands alone; Chinese and Japanese need fewer characters."""
REASON, CONTRAST, MEANT, PURPOSE = "a reason", "what was not taken", "on purpose", "a purpose"
CAUSE = "names the cause of a fault"
_FEW_WORDS = 3
"""Minimum words of an item in a list of decisions."""


class Marked(Struct, frozen=True):
    """The mark of a decision in a sentence: its kind, and the end of the phrase (0: the section says so)."""

    kind: Kind
    end: int
    evidence: tuple[str, ...]
    weight: float
    needs_change: bool = False
    describes: bool = False
    needs: int = 0
    """Minimum signals from the events around it; 0 if its words are enough."""
    explained_behind: bool = False
    """The next sentence names the alternative."""


def marked(reading: SentenceInBlock) -> Marked | None:
    """Return the mark of a decision in an agent's sentence, None for none or a vetoed one."""
    if reading.sentence.section == "advice" or not can_state(reading.sentence):
        return None
    if is_announcement(reading.sentence):
        return None
    found = _by_section(reading, "cause") or _by_phrase(reading)
    if found is None or found.kind != "cause":
        found = _by_announcement(reading) or found
    if reading.sentence.section != "fault" and reading.voice != "summary":
        found = found or _by_section(reading, "tried", "decision") or _by_support(reading)
    else:
        found = found or _by_section(reading, "decision")
    return None if found is None or _is_vetoed(reading, found) else found


def standing(reading: SentenceInBlock) -> Marked | None:
    """Return the mark of a standing decision in a user's sentence."""
    cues = reading.cues
    sentence, form = reading.sentence, reading.sentence.form
    match = compiled(cues.USER_DECIDED).search(form)
    match = match or compiled(cues.FORBIDS).search(form)
    if match is None or not can_state(sentence) or meets(cues.TO_DO, form):
        return None
    if meets(cues.UNSURE, form) or meets(cues.SUPPOSED, form[: match.end()]):
        return None
    if meets(cues.TOLD_BY_OTHERS, form[: match.start()]):
        return None
    return Marked("standing", match.end(), ("a standing decision that the user states",), 3)


def is_announcement(sentence: Sentence) -> bool:
    """Whether a sentence only announces a cause, which one of its neighbours states."""
    cues = sentence.cues
    return compiled(cues.FOUND).fullmatch(sentence.form.strip()) is not None


def names_another(form: str, at: int) -> bool:
    """Whether a sentence about an attempt names its replacement: `…, so I switched to B`."""
    return meets(_CONSEQUENCE, form[at:])


def can_state(sentence: Sentence) -> bool:
    """Whether a sentence can state a decision: it isn't too short, a question, advice or routine."""
    cues = sentence.cues
    form = sentence.form.strip()
    if len(form.encode("utf-8", "replace")) < MIN_BYTES or form.rstrip(" )\"'*_").endswith(("?", "\uff1f")):
        return False
    if not re.search(r"[^\W\d_x]", form):  # it is only a quotation
        return False
    return not (meets(cues.ADVICE, form) or meets(cues.ROUTINE, form))


def _by_section(reading: SentenceInBlock, *sections: str) -> Marked | None:
    """Return the mark that a sentence has by its section."""
    sentence = reading.sentence
    if sentence.section not in sections or sentence.place or not reading.is_reported:
        return None
    support, weight = support_of(reading)
    if sentence.section == "cause":
        return Marked("cause", 0, ("stands under a root cause", *support), weight + 3)
    is_item = (sentence.listed and not sentence.nested) or sentence.labelled
    if not support and not is_item:
        return None
    if sentence.section == "decision":
        if sentence.nested or len(sentence.form.split()) < _FEW_WORDS:
            return None
        return Marked("choice", 0, ("stands under decisions", *support), weight + 2)
    if not support and not sentence.labelled:
        return None
    return Marked("attempt", 0, ("stands under what was tried", *support), weight + 2)


def _by_announcement(reading: SentenceInBlock) -> Marked | None:
    """Return the mark of a cause that the previous sentence (`Found it.`) announces."""
    cues = reading.cues
    sentence, before = reading.sentence, reading.before
    if reading.voice == "summary" or sentence.section == "why" or before is None:
        return None
    if (
        not is_announcement(before)
        or compiled(cues.ANNOUNCED).match(sentence.form)
        or meets(_OWN, sentence.form)
    ):
        return None
    support, weight = support_of(reading)
    return Marked("cause", 0, (CAUSE, *support), weight + 2, needs=1)


def _by_phrase(reading: SentenceInBlock) -> Marked | None:
    """Return the mark of a phrase that is enough by itself."""
    cues = reading.cues
    support, weight = support_of(reading)
    kinds: tuple[tuple[Kind, str, str], ...] = (
        ("cause", cues.CAUSE, CAUSE),
        ("undone", cues.UNDONE, "says what was taken back"),
        ("attempt", cues.GAVE_UP, "says what was tried and given up"),
        ("choice", cues.CHOSE, "says what was chosen"),
    )
    for kind, pattern, said in kinds:
        if reading.sentence.section == "fault" and kind != "cause":
            continue
        if reading.voice == "summary" and kind != "choice":
            continue
        match = compiled(pattern).search(reading.sentence.form)
        if match and (support or kind != "undone"):
            return Marked(kind, match.end(), (said, *support), weight + 2)
    return None


def _by_support(reading: SentenceInBlock) -> Marked | None:
    """Return the mark of a sentence that is a decision only by its reason or its rejected alternative."""
    cues = reading.cues
    form = reading.sentence.form
    support, weight = support_of(reading)
    strong = {REASON, CONTRAST, MEANT} & set(support)
    if meets(cues.INSTEAD, form):
        strong.add(CONTRAST)
    if not (support or strong) or (CONTRAST not in strong and meets(cues.TRIVIAL, form)):
        return None
    if CONTRAST in strong and PURPOSE in support:
        strong.add(PURPOSE)
    head = form[: reason_start(form, cues)]
    did = compiled(cues.DID).search(head)
    if not reading.is_reported:
        announced = compiled(cues.ANNOUNCED).search(form)
        if announced and support and not meets(cues.TO_DO, form):
            return Marked("choice", announced.end(), ("announced, then done", *support), weight + 1, True)
        if did and REASON in strong:
            return Marked("choice", did.end(), ("says what was done", *support), weight + 0.5)
        return None
    if did:
        return Marked("choice", did.end(), ("says what was done", *support), weight + 1)
    if (len(strong) > 1 or MEANT in strong) and meets(cues.DESCRIBES, form):
        return Marked("choice", 0, ("says how it is", *support), weight, describes=True)
    return None


def support_of(reading: SentenceInBlock) -> tuple[tuple[str, ...], float]:
    """Return the supporting evidence beside a sentence's verb, and the weight of it and of its place."""
    cues = reading.cues
    form, sentence = reading.sentence.form, reading.sentence
    has_reason = meets(cues.REASON, form) or meets(cues.LEADING_REASON, form) or _follows_from_before(reading)
    found = {
        REASON: has_reason,
        CONTRAST: meets(cues.CONTRAST, form),
        MEANT: meets(cues.MEANT, form),
        PURPOSE: meets(cues.PURPOSE, form),
    }
    support = tuple(words for words, is_there in found.items() if is_there)
    weight = sum(0.5 if words == PURPOSE else 1.0 for words in support)
    weight += 1.0 if sentence.section in ("decision", "cause", "tried") else 0.0
    return support, weight + {"report": 2.0, "summary": 0.5, "narration": 0.0, "user": 1.0}[reading.voice]


def _follows_from_before(reading: SentenceInBlock) -> bool:
    """Whether a sentence begins with `That's why`."""
    cues = reading.cues
    before, form = reading.before, reading.sentence.form
    if before is None or before.form.rstrip().endswith("?"):
        return False
    return meets(cues.THEREFORE, form) and not form.startswith("so ")


def _is_vetoed(reading: SentenceInBlock, found: Marked) -> bool:
    """Whether a statement is unsure, conditional, somebody else's, or in the future."""
    cues = reading.cues
    sentence, end = reading.sentence, found.end
    form = sentence.form
    stop = re.search(_CLAUSE_END, form[end:])
    head = form[: min(end + stop.start() if stop else len(form), max(end, reason_start(form, cues)))]
    if found.kind == "cause":
        unsure = meets(cues.UNSURE, form) or meets(cues.MISTAKEN, form) or meets(_SOME, form)
    elif not end and sentence.section in ("decision", "tried"):
        # Only an initial doubt counts there: `Tiles may be a minute old` is a decision.
        unsure = compiled(cues.UNSURE).match(form) is not None
    else:
        unsure = meets(cues.UNSURE, head)
    before = form[:end] if end else head
    return (
        unsure
        or meets(cues.TO_DO, head)
        or meets(cues.SUPPOSED, form[:end])
        or meets(cues.TOLD_BY_OTHERS, before)
    )


_OWN = r"^(?:\w+,? ){0,2}(?:i|i'm|i've|we|my)\b"
"""A slip of the speaker, or an announcement."""
_SOME = (
    r"^(?:the |all (?:of )?|most (?:of )?)?(?:remaining|rest|others?|last (?:one|two|few)|these|them|errors?"
    r"|warnings?|two|three|four|five|six|\d+ (?:tests?|errors?|failures?|warnings?))\b"
)
"""Remaining repairs, such as `the remaining errors`: not a fault of the project."""
_CLAUSE_END = r"[,;\u2014]| - "
_CONSEQUENCE = (
    r"\bso (?:i|we|the|it|now|instead|this|that)\b(?! (?:removed|reverted|dropped|took|abandoned|backed"
    r"|gave|stopped|undid|is out|was))|\binstead\b(?! of)|\b(?:switched|moved|went) (?:to|over|with)\b"
)


MAX_CHARACTERS = 600
"""Maximum characters of a decision and of a rationale, cut at a word."""


class Wording(Struct, frozen=True):
    """A decision and its reason. `last` is the place in the block of the last sentence used."""

    decision: str
    rationale: str
    last: int


def worded(
    reading: SentenceInBlock, end: int, *, explained: bool, may_explain: bool = False
) -> Wording | None:
    """Return a sentence as decision and rationale; None if it speaks of `it` without an antecedent.

    A reason that begins before `end` belongs to the phrase; `explained`: text after a colon is a reason too;
    `may_explain`: the previous sentence gives the reason, if this one doesn't.
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
                return None  # otherwise it names both alternatives
        else:
            text = f"{before.text} {text}"
    last = reading.at
    if not rationale and before and may_explain:
        rationale = before.text
    if not rationale and (after := _reason_after(reading)):
        rationale, last = after, reading.at + 1
    return Wording(_trimmed(text), _trimmed(rationale), last)


def reason_start(form: str, cues: Cues) -> int:
    """Return the offset of a sentence's reason, its length if it gives none."""
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
    """Return a sentence without its reason, the form of that, and the reason."""
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
    """Whether a sentence refers to something that another sentence names."""
    if meets(cues.BARE, form):
        return not meets(_SAYS_WHAT, form)
    match = compiled(cues.BARE_OBJECT).search(form)
    return match is not None and not set(re.findall(r"[^\W_]+", form[: match.start()])) - _NAME_NOTHING


def _reason_after(reading: SentenceInBlock) -> str:
    """Return the next sentence if it continues the reason, or explains an item of a list of decisions."""
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
"""Exclamations before the statement itself."""
_NAME_NOTHING = words(
    """
    i we ve have had also then finally instead chose chosen decided opted elected not to on against for with
    so and ich wir habe haben uns mich je j ai nous avons on a he hemos lo la los
    """
)
"""After these words alone `it` refers to another sentence; after more words, to what they name."""
