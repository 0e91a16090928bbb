"""Owns the evidence: what marks a sentence as a decision, by phrase or section, and what speaks against."""

from __future__ import annotations

import re

from ..core.lazy_dataclass import dataclass
from .phrases import Phrases, compiled, meets
from .report import Sentence
from .statement import Kind, Reading
from .wording import reason_start

MIN_CHARACTERS, MIN_WIDE_CHARACTERS = 18, 8
"""A shorter sentence says too little to stand alone; Chinese and Japanese say it in fewer characters."""
REASON, CONTRAST, MEANT, PURPOSE = "a reason", "what was not taken", "on purpose", "a purpose"
CAUSE = "names the cause of a fault"


@dataclass(frozen=True, slots=True)
class Marked:
    """What marks a sentence as a decision: its kind, and where the phrase ends (0: its section says so)."""

    kind: Kind
    end: int
    evidence: tuple[str, ...]
    weight: float
    needs_change: bool = False
    describes: bool = False
    needs: int = 0
    """So many more signals must lie in what happens around it; none where its words are enough."""
    explained_behind: bool = False
    """The next sentence says what else there was."""


def marked(reading: Reading) -> Marked | None:
    """Return what marks a sentence of an agent as a decision, if anything, and nothing speaks against it."""
    if reading.sentence.section == "advice" or not can_state(reading.sentence, reading.phrases):
        return None
    if is_announcement(reading.sentence, reading.phrases):
        return None
    found = _by_section(reading, "cause") or _by_phrase(reading)
    if found is None or found.kind != "cause":
        found = _by_announcement(reading) or found
    if reading.sentence.section != "fault" and reading.voice != "summary":
        found = found or _by_section(reading, "tried", "decision") or _by_support(reading)
    else:
        found = found or _by_section(reading, "decision")
    return None if found is None or _is_vetoed(reading, found) else found


def standing(reading: Reading) -> Marked | None:
    """Return what marks a sentence of a user as a standing decision."""
    sentence, phrases = reading.sentence, reading.phrases
    form = sentence.form
    match = compiled(phrases.user_decided).search(form)
    match = match or compiled(phrases.forbids).search(form)
    if match is None or not can_state(sentence, phrases) or meets(phrases.to_do, form):
        return None
    if meets(phrases.unsure, form) or meets(phrases.supposed, form[: match.end()]):
        return None
    if meets(phrases.told_by_others, form[: match.start()]):
        return None
    return Marked("standing", match.end(), ("a standing decision that the user states",), 3)


def is_announcement(sentence: Sentence, phrases: Phrases) -> bool:
    """Whether a sentence only says that the cause is known, which stands in one of its neighbours."""
    return compiled(phrases.found).fullmatch(sentence.form.strip()) is not None


def names_another(form: str, at: int) -> bool:
    """Whether a sentence about an attempt goes on with what was done instead: `…, so I switched to B`."""
    return meets(_CONSEQUENCE, form[at:])


def can_state(sentence: Sentence, phrases: Phrases) -> bool:
    """Whether a sentence could state something: it isn't too short, no question, no advice, no routine."""
    form = sentence.form.strip()
    least = MIN_CHARACTERS if sum(map(str.isascii, form)) * 2 > len(form) else MIN_WIDE_CHARACTERS
    if not least <= len(form) or form.rstrip(" )\"'*_").endswith(("?", "\uff1f")):
        return False
    if not re.search(r"[^\W\d_x]", form):  # all of it is quoted
        return False
    return not (meets(phrases.advice, form) or meets(phrases.routine, form))


def _by_section(reading: Reading, *sections: str) -> Marked | None:
    """Return what a sentence states because its section says so."""
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
        least = 3 if sentence.form.isascii() else 1
        if sentence.nested or len(sentence.form.split()) < least:
            return None
        return Marked("choice", 0, ("stands under decisions", *support), weight + 2)
    if not support and not sentence.labelled:
        return None
    return Marked("attempt", 0, ("stands under what was tried", *support), weight + 2)


def _by_announcement(reading: Reading) -> Marked | None:
    """Return the cause that a neighbour announces: `Found it.` the next one, `That's the leak.` the one
    before, or the next where none is before."""
    sentence, before, after, phrases = reading.sentence, reading.before, reading.after, reading.phrases
    if reading.voice == "summary" or sentence.section == "why":
        return None
    if before is not None and is_announcement(before, phrases):
        is_told = reading.at < 2 or not meets(_POINTS_BACK, before.form)
    else:
        is_told = (
            after is not None and is_announcement(after, phrases) and meets(_POINTS_BACK, after.form)
        ) and not meets(phrases.bare, sentence.form)
    if not is_told or compiled(phrases.announced).match(sentence.form) or meets(_OWN, sentence.form):
        return None
    support, weight = support_of(reading)
    return Marked("cause", 0, (CAUSE, *support), weight + 2, needs=1)


def _by_phrase(reading: Reading) -> Marked | None:
    """Return what a sentence states by a phrase that is enough by itself."""
    phrases = reading.phrases
    support, weight = support_of(reading)
    kinds: tuple[tuple[Kind, str, str], ...] = (
        ("cause", phrases.cause, CAUSE),
        ("undone", phrases.undone, "says what was taken back"),
        ("attempt", phrases.gave_up, "says what was tried and given up"),
        ("choice", phrases.chose, "says what was chosen"),
    )
    for kind, pattern, words in kinds:
        if reading.sentence.section == "fault" and kind != "cause":
            continue
        if reading.voice == "summary" and kind != "choice":
            continue
        match = compiled(pattern).search(reading.sentence.form)
        if match and (support or kind != "undone"):
            return Marked(kind, match.end(), (words, *support), weight + 2)
    return None


def _by_support(reading: Reading) -> Marked | None:
    """Return what a sentence states that is a decision only by its reason or by what was not taken."""
    phrases, form = reading.phrases, reading.sentence.form
    support, weight = support_of(reading)
    strong = {REASON, CONTRAST, MEANT} & set(support)
    if meets(phrases.instead, form):
        strong.add(CONTRAST)
    if not (support or strong) or (CONTRAST not in strong and meets(phrases.trivial, form)):
        return None
    if CONTRAST in strong and PURPOSE in support:
        strong.add(PURPOSE)
    head = form[: reason_start(form, phrases)]
    did = compiled(phrases.did).search(head)
    if not reading.is_reported:
        announced = compiled(phrases.announced).search(form)
        if announced and support and not meets(phrases.to_do, form):
            return Marked("choice", announced.end(), ("announced, then done", *support), weight + 1, True)
        if did and REASON in strong:
            return Marked("choice", did.end(), ("says what was done", *support), weight + 0.5)
        if meets(phrases.instead, form) or ({REASON, CONTRAST} <= strong and meets(phrases.speaker, form)):
            return Marked("choice", 0, ("says what comes instead", *support), weight + 0.5, True)
        return None
    if did and (strong != {CONTRAST} or _is_contrasted(form, did.start(), phrases)):
        return Marked("choice", did.end(), ("says what was done", *support), weight + 1)
    if CONTRAST in strong and len(strong) > 1 and (does := compiled(phrases.does).search(head)):
        return Marked("choice", does.end(), ("says what was done", *support), weight + 1)
    if (strong & {REASON, MEANT} or len(strong) > 1) and (changed := compiled(phrases.changed).search(head)):
        return Marked(
            "choice", changed.end(), ("says what it does now", *support), weight + 1, describes=True
        )
    if (len(strong) > 1 or MEANT in strong) and meets(phrases.describes, form):
        return Marked("choice", 0, ("says how it is", *support), weight, describes=True)
    return None


def _is_contrasted(form: str, at: int, phrases: Phrases) -> bool:
    """Whether what was not taken goes with what was done at a place, and not with what was wrong before."""
    if phrases.contrast_may_lead or meets(phrases.contrast, form[at:]) or meets(phrases.instead, form):
        return True
    match = compiled(phrases.contrast).search(form)
    return match is not None and match.start() == 0


def support_of(reading: Reading) -> tuple[tuple[str, ...], float]:
    """Return what speaks for a sentence beside its verb, in words, and the weight of that and its place."""
    form, phrases, sentence = reading.sentence.form, reading.phrases, reading.sentence
    has_reason = (
        meets(phrases.reason, form)
        or meets(phrases.leading_reason, form)
        or _follows_from_before(reading)
        or _is_explained_behind(reading)
    )
    found = {
        REASON: has_reason,
        CONTRAST: meets(phrases.contrast, form),
        MEANT: meets(phrases.meant, form),
        PURPOSE: meets(phrases.purpose, form),
    }
    support = tuple(words for words, is_there in found.items() if is_there)
    weight = sum(0.5 if words == PURPOSE else 1.0 for words in support)
    weight += 1.0 if sentence.section in ("decision", "cause", "tried") else 0.0
    return support, weight + {"report": 2.0, "summary": 0.5, "narration": 0.0, "user": 1.0}[reading.voice]


def _follows_from_before(reading: Reading) -> bool:
    """Whether a sentence begins with `That's why`, or says what is used behind what can't be."""
    before, form, phrases = reading.before, reading.sentence.form, reading.phrases
    if before is None or before.form.rstrip().endswith(("?", "\uff1f")):
        return False
    if meets(phrases.therefore, form) and not form.startswith("so "):
        return True
    if form.startswith("so ") and meets(_LIMITS, before.form):
        return True
    return meets(phrases.announced, form) and meets(_WONT_DO, before.form)


def _is_explained_behind(reading: Reading) -> bool:
    """Whether the sentence behind gives the reason."""
    after = reading.after
    if after is None or after.form.rstrip().endswith(("?", "\uff1f")):
        return False
    return meets(reading.phrases.goes_on, after.form) and meets(_BECAUSE, after.form)


def _is_vetoed(reading: Reading, found: Marked) -> bool:
    """Whether what was found is unsure, conditional, somebody else's, or lies ahead."""
    sentence, phrases, end = reading.sentence, reading.phrases, found.end
    form = sentence.form
    stop = re.search(_CLAUSE_END, form[end:])
    head = form[: min(end + stop.start() if stop else len(form), max(end, reason_start(form, phrases)))]
    if found.kind == "cause":
        unsure = meets(phrases.unsure, form) or meets(phrases.mistaken, form) or meets(_SOME, form)
    elif not end and sentence.section in ("decision", "tried"):
        # Only what begins with doubt is doubted there: `Tiles may be a minute old` is a decision.
        unsure = compiled(phrases.unsure).match(form) is not None
    else:
        unsure = meets(phrases.unsure, head)
    before = form[:end] if end else head
    return (
        unsure
        or meets(phrases.to_do, head)
        or meets(phrases.supposed, form[:end])
        or meets(phrases.told_by_others, before)
    )


_POINTS_BACK = r"^(?:\w+[,.!:] +)?(?:that|this|das|eso|esto|es[ae]|ça|cela|c'est|voilà|这|これ)"
_OWN = r"^(?:\w+,? ){0,2}(?:i|i'm|i've|we|my|ich|mein\w*|j'ai|je|mon|ma|he|mi)\b|^我|^(?:私|自分)"
"""A slip of the speaker's own, or what is about to be done."""
_SOME = (
    r"^(?:the |all (?:of )?|most (?:of )?)?(?:remaining|rest|others?|last (?:one|two|few)|these|them"
    r"|errors?|warnings?"
    r"|two|three|four|five|six|\d+ (?:tests?|errors?|failures?|warnings?))\b"
)
"""Tells of what is left to repair, such as `the remaining errors`, and of no fault of the project."""
_CLAUSE_END = r"[,;\u2014\uff0c\u3001]| - "
_LIMITS = (
    r"\b(?:but|can't|cannot|couldn't|didn't|doesn't|no|not|too|only|never|fails?|failed|breaks?|broke"
    r"|would|unusable|slow)\b"
)
_WONT_DO = (
    r"\btoo (?:large|big|slow|long|small|short|many|late|early|heavy|expensive|coarse|strict)\b"
    r"|\b(?:can't|cannot|won't|doesn't|don't|isn't|aren't) (?:work|support|handle|scale|allow|accept|fit"
    r"|know|able|available|safe|enough)\b|\bunusable\b|\bunsupported\b|\bzu (?:groß|langsam|lang|klein"
    r"|spät|viele?)\b|\b(?:kann|geht|funktioniert|unterstützt)\b.{0,40}\bnicht\b|\btrop (?:grand|gros"
    r"|lent|long|petit)\w*|\bne (?:peut|fonctionne|gère|supporte) pas\b|\bdemasiad[oa]s?\b|\bno (?:puede"
    r"|funciona|admite|soporta)\b|太[大慢长多小晚]|无法|不支持|不能|(?:大き|遅|長|多)すぎ|できない"
    r"|できません|対応していな"
)
_CONSEQUENCE = (
    r"\bso (?:i|we|the|it|now|instead|this|that)\b(?! (?:removed|reverted|dropped|took|abandoned|backed"
    r"|gave|stopped|undid|is out|was))|\binstead\b(?! of)|\b(?:switched|moved|went) (?:to|over|with)\b"
    r"|\b(?:stattdessen|à la place|en su lugar)\b|改用|代わりに"
)
_BECAUSE = (
    r"^(?:because|since|the reason|reason:|why:|rationale:|otherwise|weil|sonst|der grund|grund:"
    r"|begründung:|parce|sinon|la raison|raison|de lo contrario|la razón|razón:|motivo:|porque|否则|因为|理由"
    r"|原因|这是因为|なぜなら|そうしないと)|(?:ため|から)(?:です|だ)"
)
