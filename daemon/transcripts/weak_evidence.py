"""Weak evidence of a decision in a sentence: signals that count together with the events around it."""

from __future__ import annotations

import re

from .cues import compiled, meets
from .evidence import (
    CONTRAST,
    MEANT,
    PURPOSE,
    REASON,
    Kind,
    Marked,
    can_state,
    is_announcement,
    reason_start,
    support_of,
)
from .report import Sentence, SentenceInBlock

_CHOICE, _CAUSE, _ATTEMPT = 4, 5, 4
"""Minimum signals for a choice, a cause and an attempt, at least one of them from the surrounding events. On
the labelled sets one more costs up to 0.11 of the recall, one less up to 0.02 of the precision."""
_REPORTED = 1
"""Additional signals for a report, which has no events next to it."""


def weakly_marked(reading: SentenceInBlock) -> tuple[Marked, ...]:
    """Return at most two marks of an agent's sentence, the likelier first; `needs` is the number of missing
    signals."""
    sentence = reading.sentence
    if reading.voice not in ("narration", "report") or sentence.section in ("advice", "why"):
        return ()
    if (
        not can_state(sentence)
        or is_announcement(sentence)
        or _is_doubted(reading)
        or meets(_MECHANICAL, sentence.form)
    ):
        return ()
    if attempt := _attempt(reading):
        return (attempt,)
    readings = [_cause(reading), _choice(reading)]
    if reading.is_reported:
        readings.reverse()  # a report states what was made
    return tuple(filter(None, readings))


def gives_up(sentence: Sentence) -> bool:
    """Whether a sentence says that something is abandoned or undone."""
    cues = sentence.cues
    return meets(cues.ABANDONS, sentence.form)


def _attempt(reading: SentenceInBlock) -> Marked | None:
    """Return an attempt: abandoned in this sentence, or judged as inadequate."""
    cues = reading.cues
    form, before, after = reading.sentence.form, reading.before, reading.after
    abandons = compiled(cues.ABANDONS).search(form) or _removed(reading)
    if abandons is None and (reading.is_reported or not _judges(reading)):
        return None
    if abandons is None and after is not None and meets(cues.JUDGES, after.form):
        return None  # which says it better: `Worse: 23 ms. Merged meshes don't work because …`
    near = ((before if abandons else None), reading.sentence, after)
    said = " ".join(sentence.form for sentence in near if sentence is not None)
    has_reason = meets(cues.REASON, said) or meets(cues.LINKS, said)
    judged = meets(cues.JUDGES, said)
    score = 2 * bool(abandons) + judged + has_reason
    if score < 2:
        return None
    words = "says what was given up" if abandons else "says what wasn't good enough"
    return _marked(reading, "attempt", abandons.end() if abandons else len(form), words, score, _ATTEMPT)


def _removed(reading: SentenceInBlock) -> re.Match[str] | None:
    """Return the match where a sentence removes something that it, or the next sentence, judges as bad."""
    cues = reading.cues
    form, after = reading.sentence.form, reading.after
    removed = compiled(cues.REMOVES).search(form)
    if removed is None or meets(cues.TRIVIAL, form) or meets(cues.CONTRAST, form):
        return None
    behind = after is not None and meets(cues.BARE, after.form) and meets(cues.JUDGES, after.form)
    return removed if behind or meets(cues.JUDGES, form[removed.end() :]) else None


def _judges(reading: SentenceInBlock) -> bool:
    cues = reading.cues
    form = reading.sentence.form
    return (
        meets(cues.JUDGES, form)
        and not meets(cues.CHECKS, form)
        and not meets(cues.ACTS, form[:40])
        and (meets(cues.LINKS, form) or meets(cues.REASON, form))
    )


def _cause(reading: SentenceInBlock) -> Marked | None:
    """Return a cause: a symptom with its origin."""
    cues = reading.cues
    sentence = reading.sentence
    form = sentence.form
    if (
        meets(cues.CHECKS, form)
        or meets(_BY_SPEAKER, form)
        or meets(_STATUS, form)
        or meets(cues.MISTAKEN, form)
    ):
        return None
    symptom, reason, linked = (meets(cue, form) for cue in (cues.SYMPTOM, cues.REASON, cues.LINKS))
    if reading.is_reported and not (symptom and reason):
        return None  # `2 GB file: 41 MB, no failures`
    if not (reason or linked or (symptom and _names_code(sentence))):
        return None
    if not reason and (meets(_AIMS, form) or meets(cues.NOW, form)):
        return None  # a purpose, or the present state
    score = symptom + (2 if reason else linked) + _names_code(sentence) + meets(_EACH, form)
    if score < 2:
        return None
    return _marked(reading, "cause", len(form), "says why something goes wrong", score, _CAUSE)


def _choice(reading: SentenceInBlock) -> Marked | None:
    """Return a choice: an action or a new state, with a reason or a rejected alternative."""
    cues = reading.cues
    sentence, after = reading.sentence, reading.after
    form = sentence.form
    if (
        sentence.section == "fault"
        or meets(cues.TRIVIAL, form)
        or meets(cues.CHECKS, form)
        or meets(_VERIFIES, form)
    ):
        return None
    head = form[: reason_start(form, cues)]
    acts = compiled(cues.ACTS).search(head)
    now = None if acts else compiled(cues.NOW).search(head)
    explained = (
        after is not None and meets(cues.ALTERNATIVE, after.form) and not meets(_FOR_OTHERS, after.form)
    )
    aims = meets(_AIMS, form) and not meets(cues.BARE, form)
    limits = compiled(cues.LIMITS).search(head) if not acts and reading.is_reported else None
    if limits and (explained or _is_bounded(reading)):
        now, explained = now or limits, explained or (after is not None and meets(cues.BEYOND, after.form))
    describes = acts is None and now is None and (aims or meets(cues.DESCRIBES, form))
    if describes and meets(_GOES_WRONG, head):
        return None
    support, _ = support_of(reading)
    is_fragment = not (acts or now or describes or meets(_NOTHING_DONE, form)) and (
        CONTRAST in support or (REASON in support and sentence.listed and reading.is_reported)
    )
    if not (acts or now or describes or explained or is_fragment):
        return None
    number = _links(reading, support)
    is_meant = limits or explained or (aims and not reading.is_reported)
    if (now or (acts and reading.is_reported)) and not is_meant and not _says_more(reading, support):
        return None
    begins = acts or now
    says_why = REASON in support or aims
    says_why = says_why or (sentence.listed and (number > 1 or (CONTRAST in support and reading.is_reported)))
    if meets(_OUTDATED, form) and not (explained or REASON in support):
        return None
    if not (explained or (number and (begins or is_fragment or says_why))):
        return None
    score = (2 if begins or is_fragment else 1) + min(number, 2) + 2 * explained + _names_code(sentence)
    score += sentence.listed and reading.is_reported
    describes = describes and not explained
    end = begins.end() if begins else 0
    words = "says what is done" if acts else "says how it is now"
    return _marked(
        reading,
        "choice",
        end,
        words,
        score,
        _CHOICE,
        describes=describes,
        explained=explained,
    )


def _is_bounded(reading: SentenceInBlock) -> bool:
    """Whether a sentence that sets a limit, or the next one, describes the case beyond it."""
    cues = reading.cues
    form, after = reading.sentence.form, reading.after
    if meets(cues.REASON, form) or re.search(_JUDGED_CLAUSE, form):
        return True
    return after is not None and meets(cues.BEYOND, after.form)


def _says_more(reading: SentenceInBlock, support: tuple[str, ...]) -> bool:
    """Whether a sentence about the present state gives a reason, an alternative, or a cost."""
    cues = reading.cues
    form, after = reading.sentence.form, reading.after
    if {REASON, CONTRAST, MEANT} & set(support):
        return True
    return meets(cues.TRADE, form) or (after is not None and meets(cues.TRADE, after.form))


def _links(reading: SentenceInBlock, support: tuple[str, ...]) -> int:
    """Return the number of reasons, alternatives and costs in a sentence."""
    cues = reading.cues
    form, after = reading.sentence.form, reading.after
    return sum(
        (
            REASON in support,
            CONTRAST in support,
            MEANT in support,
            PURPOSE in support,
            meets(cues.TRADE, form) or (after is not None and meets(cues.TRADE, after.form)),
            (reading.sentence.listed and meets(_CLAUSE, form)) or meets(_LACKS, form),
        )
    )


def _marked(
    reading: SentenceInBlock,
    kind: Kind,
    end: int,
    words: str,
    score: int,
    threshold: int,
    *,
    describes: bool = False,
    explained: bool = False,
) -> Marked:
    threshold += _REPORTED * reading.is_reported
    return Marked(
        kind,
        end,
        (words,),
        1 + score / 2,
        describes=describes,
        needs=max(1, threshold - score),
        explained_behind=explained,
    )


def _is_doubted(reading: SentenceInBlock) -> bool:
    """Whether a sentence, before its reason, is unsure, conditional, somebody else's, or in the future."""
    cues = reading.cues
    form = reading.sentence.form
    head = form[: reason_start(form, cues)]
    if abandons := compiled(cues.ABANDONS).search(form):
        head = form[abandons.start() :]  # a missed requirement isn't a doubt
    return (
        meets(cues.UNSURE, head)
        or meets(cues.TO_DO, head)
        or compiled(cues.SUPPOSED).match(form) is not None
        or meets(cues.TOLD_BY_OTHERS, head)
        or meets(_LEFT, form)
    )


def _names_code(sentence: Sentence) -> bool:
    """Whether a sentence names an identifier or file of the code."""
    return re.search(_CODE, sentence.text) is not None


_CODE = r"`[^`\n]+`|\b\w+\(\)|\b[a-z]+_[a-z_]+\b|\b[a-z]+[A-Z]\w+|\b[\w/-]+\.[a-z]{1,5}\b(?<![0-9])|::"
_BY_SPEAKER = (
    r"^(?:\w+,? ){0,3}(?:i|i'm|i'll|i've|let|let's)\b|\blet me\b|\b(?:ich|je|voy)\b|\u6211(?:\u6765)"
    r"|\bcan't be (?:that|it|the)\b|\brules? (?:that|it|this|out)\b"
)
_EACH = (
    r"\b(?:each|every|all|only|never|no|not|both|always|twice|again|whole|entire|full|any|none|once"
    r"|one by one|per \w+|\w+n't|without|before|regardless|tou[st]\w*)\b"
)
"""Frequencies and amounts, as in explanations of faults."""
_MECHANICAL = (
    r"\bso (?:i|we|i'll|we'll|i'm|we're|i've|let's)\b.{0,24}\b(?:add|renam|fix|updat|adjust|wrap|set|bump"
    r"|import|export|expos|extend|delet|correct|creat|writ|regist|declar|includ|install|follow|mock"
    r"|need)(?!\w*\b[^.]{0,80}\b(?:instead|rather)\b)"
)
"""Necessary work, without a choice or another reason."""
_NOTHING_DONE = (
    r"^(?:not|no|nothing|none|untested|unverified|skipped|tests?|if|when|this|that|it|the|an?|these|those"
    r"|each|every|all|both|our|my|they|there|you|users?|interesting\w*)\b|\blet me\b|^[^,;:]{2,80}? (?:is|are"
    r"|was|were|has|have|had|does|did|uses?|returns?|returned)\b"
)
_CLAUSE = r"(?:;| \u2014| \u2013) (?=\S+ \S+ \S+)"
_LACKS = (
    r"(?:;| \u2014| \u2013|:) (?!i\b|we\b|let)[^.;]{3,120}\b(?:don't|doesn't|can't|cannot|isn't|aren't|won't"
    r"|never|too|would|lacks?)\b"
)
"""A drawback of an alternative."""
_AIMS = (
    r"\bso that\b|\bin order to\b|\bto (?:avoid|prevent|keep)\b|\bdamit\b|\bafin\b|\bpara (?:que|evitar)\b"
)
_STATUS = (
    r"\bstill (?:there|fail\w*|red|broken|slow|the same|happens?|not|leaks?|hangs?|crash\w*|wrong|off"
    r"|missing)\b|\b(?:second|another|different|separate) (?:problem|issue|bug|one|failure)\b|\breproduced?\b"
)
_OUTDATED = (
    r"\b(?:instead of|rather than|in place of|replac\w+) (?:\w+ ){0,2}?(?:old|previous|former|legacy"
    r"|deprecated|obsolete|outdated)\b"
)
"""The former state, which isn't an alternative."""
_GOES_WRONG = (
    r"^[^,;]{1,60}? (?:fails?|crash(?:es)?|hangs?|breaks?|leaks?|stalls?|deadlocks?|times? out|loses?|throws?"
    r"|panics?|segfaults?|flickers?|misses)\b"
)
_VERIFIES = (
    r"\b(?:finds?|found|shows?|prints?|reports?|returns?|lists?|yields?) (?:nothing|no (?:\w+ )?(?:hits?"
    r"|matches|results?|uses|occurrences|references)|none|zero)\b(?: (?:any ?more|now|left|else))*[.:]?$"
)
"""A successful check."""
_FOR_OTHERS = (
    r"\b(?:outside|elsewhere|owners?|callers?|consumers?)\b|\bwould (?:still )?(?:have|need) to be (?:adapted"
    r"|updated|adjusted|changed|migrated|renamed|rerun|reindexed|redeployed)\b"
)
"""Work for others, which isn't an alternative."""
_JUDGED_CLAUSE = (
    r"(?:;| \u2014| \u2013) (?:with|beyond|above|below|past|more) \S+ \S+ \S+|(?:;| \u2014| \u2013"
    r"|,) [^.;]{3,90}\b(?:slower|faster|worse|better|too \w+|cheaper|\w+er (?:there|than)|no gain|would|can't"
    r"|cannot|don't|doesn't|never)\b"
)
_LEFT = r"^(?:next|tomorrow)\b|\b(?:haven't|have not|didn't (?:look|check|test|touch|run|measure))\b"
