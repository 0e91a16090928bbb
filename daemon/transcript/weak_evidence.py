"""Owns the weak evidence: sentences marked by no phrase, but by signals and what happened around them."""

from __future__ import annotations

import re

from .evidence import CONTRAST, MEANT, PURPOSE, REASON, Marked, can_state, is_announcement, support_of
from .phrases import compiled, meets
from .report import Sentence
from .signals import Signals, signals_for
from .statement import Kind, Reading
from .wording import reason_start

_CHOICE, _CAUSE, _ATTEMPT = 4, 5, 4
"""So many signals make a choice, a cause, an attempt; at least one of them must lie in what happened around
it. On the labelled sets one more costs up to 0.11 of the recall, one less up to 0.02 of the precision."""
_REPORTED = 1
"""A report must say so much more, since nothing happens next to it."""


def weakly_marked(reading: Reading) -> tuple[Marked, ...]:
    """Return what a sentence of an agent may state, the likeliest first, at most two. `needs` says how much
    its scene must add to that."""
    sentence, phrases = reading.sentence, reading.phrases
    if reading.voice not in ("narration", "report") or sentence.section in ("advice", "why"):
        return ()
    if (
        not can_state(sentence, phrases)
        or is_announcement(sentence, phrases)
        or _is_doubted(reading)
        or meets(_MECHANICAL, sentence.form)
    ):
        return ()
    signals = signals_for(phrases.language)
    if attempt := _attempt(reading, signals):
        return (attempt,)
    readings = [_cause(reading, signals), _choice(reading, signals)]
    if reading.is_reported and not meets(signals.points, sentence.form):
        readings.reverse()  # a report tells what was made
    return tuple(filter(None, readings))


def gives_up(sentence: Sentence, language: str) -> bool:
    """Whether a sentence says that something is given up or taken back."""
    return meets(signals_for(language).abandons, sentence.form)


def _attempt(reading: Reading, signals: Signals) -> Marked | None:
    """Return an attempt: what is given up here with what is said before, or what is found not to be good."""
    form, before, after = reading.sentence.form, reading.before, reading.after
    abandons = compiled(signals.abandons).search(form) or _removed(reading, signals)
    if abandons is None and (reading.is_reported or not _judges(reading, signals)):
        return None
    if abandons is None and after is not None and meets(signals.judges, after.form):
        return None  # which says it better: `Worse: 23 ms. Merged meshes don't work because …`
    said = " ".join(
        one.form for one in ((before if abandons else None), reading.sentence, after) if one is not None
    )
    has_reason = meets(reading.phrases.reason, said) or meets(signals.links, said)
    judged = meets(signals.judges, said)
    score = 2 * bool(abandons) + judged + has_reason
    if score < 2:
        return None
    words = "says what was given up" if abandons else "says what wasn't good enough"
    return _marked(reading, "attempt", abandons.end() if abandons else len(form), words, score, _ATTEMPT)


def _removed(reading: Reading, signals: Signals) -> re.Match[str] | None:
    """Return where a sentence removes what it, or the next sentence on that, says to be no good."""
    form, after = reading.sentence.form, reading.after
    removed = compiled(signals.removes).search(form)
    if removed is None or meets(reading.phrases.trivial, form) or meets(reading.phrases.contrast, form):
        return None
    behind = (
        after is not None and meets(reading.phrases.bare, after.form) and meets(signals.judges, after.form)
    )
    return removed if behind or meets(signals.judges, form[removed.end() :]) else None


def _judges(reading: Reading, signals: Signals) -> bool:
    form = reading.sentence.form
    return (
        meets(signals.judges, form)
        and not meets(signals.checks, form)
        and not meets(signals.acts, form[:40])
        and (meets(signals.links, form) or meets(reading.phrases.reason, form))
    )


def _cause(reading: Reading, signals: Signals) -> Marked | None:
    """Return a cause: something goes wrong by something else."""
    sentence, phrases = reading.sentence, reading.phrases
    form = sentence.form
    if (
        meets(signals.checks, form)
        or meets(_BY_SPEAKER, form)
        or meets(_STATUS, form)
        or meets(phrases.mistaken, form)
    ):
        return None
    pointed, reason = meets(signals.points, form), meets(phrases.reason, form)
    follows = meets(signals.consequence, form)
    symptom = meets(signals.symptom, form)
    linked = pointed or reason or follows or meets(signals.links, form)
    if (reading.is_reported and not symptom) or not (linked or (symptom and _names_code(sentence))):
        return None
    if not (pointed or reason) and (meets(_AIMS, form) or meets(signals.now, form)):
        return None  # what it is for, or how it is now
    if reading.is_reported and not (pointed or reason or follows):
        return None  # `2 GB file: 41 MB, no failures`
    score = symptom + 2 * max(pointed, reason) + follows + (linked and not (pointed or reason or follows))
    score += _names_code(sentence) + meets(_EACH, form)
    if score < 2:
        return None
    return _marked(reading, "cause", len(form), "says why something goes wrong", score, _CAUSE)


def _choice(reading: Reading, signals: Signals) -> Marked | None:
    """Return a choice: something is done, or is so now, for a reason or not in another way."""
    sentence, phrases, after = reading.sentence, reading.phrases, reading.after
    form = sentence.form
    if (
        sentence.section == "fault"
        or meets(phrases.trivial, form)
        or meets(signals.checks, form)
        or meets(_VERIFIES, form)
    ):
        return None
    head = form[: reason_start(form, phrases)]
    acts = compiled(signals.acts).search(head)
    now = None if acts else compiled(signals.now).search(head)
    explained = (
        after is not None and meets(signals.alternative, after.form) and not meets(_FOR_OTHERS, after.form)
    )
    aims = (meets(_AIMS, form) or meets(_SPARES, form)) and not meets(phrases.bare, form)
    limits = compiled(signals.limits).search(head) if not acts and reading.is_reported else None
    if limits and (explained or _is_bounded(reading, signals)):
        now, explained = now or limits, explained or (after is not None and meets(signals.beyond, after.form))
    describes = acts is None and now is None and (aims or meets(phrases.describes, form))
    if describes and meets(_GOES_WRONG, head):
        return None
    support, _ = support_of(reading)
    is_fragment = not (acts or now or describes or meets(_NOTHING_DONE, form)) and (
        CONTRAST in support or (REASON in support and sentence.listed and reading.is_reported)
    )
    if not (acts or now or describes or explained or is_fragment):
        return None
    follows = _follows(reading, signals)
    number = follows + _links(reading, signals, support)
    is_meant = limits or explained or follows or (aims and not reading.is_reported)
    if (now or (acts and reading.is_reported)) and not is_meant and not _says_more(reading, signals, support):
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
        follows=follows,
    )


def _is_bounded(reading: Reading, signals: Signals) -> bool:
    """Whether a sentence that sets a bound says what lies behind it, or the next one does."""
    form, after = reading.sentence.form, reading.after
    if meets(reading.phrases.reason, form) or re.search(_JUDGED_CLAUSE, form):
        return True
    return after is not None and meets(signals.beyond, after.form)


def _says_more(reading: Reading, signals: Signals, support: tuple[str, ...]) -> bool:
    """Whether a sentence on how something is now says why, what else there was, or what it costs."""
    form, after = reading.sentence.form, reading.after
    if {REASON, CONTRAST, MEANT} & set(support) or meets(signals.contrast, form):
        return True
    return meets(signals.trade, form) or (after is not None and meets(signals.trade, after.form))


def _links(reading: Reading, signals: Signals, support: tuple[str, ...]) -> int:
    """Return how many ways of saying why, what else there was and what it costs a sentence has."""
    form, after = reading.sentence.form, reading.after
    return sum(
        (
            REASON in support,
            CONTRAST in support or meets(signals.contrast, form),
            MEANT in support,
            PURPOSE in support or meets(signals.consequence, form),
            meets(signals.trade, form) or (after is not None and meets(signals.trade, after.form)),
            (reading.sentence.listed and meets(_CLAUSE, form)) or meets(_LACKS, form),
        )
    )


def _marked(
    reading: Reading,
    kind: Kind,
    end: int,
    words: str,
    score: int,
    threshold: int,
    *,
    describes: bool = False,
    explained: bool = False,
    follows: bool = False,
) -> Marked:
    threshold += _REPORTED * reading.is_reported
    return Marked(
        kind,
        end,
        (words, REASON) if follows else (words,),
        1 + score / 2,
        describes=describes,
        needs=max(1, threshold - score),
        explained_behind=explained,
    )


def _follows(reading: Reading, signals: Signals) -> bool:
    """Whether a sentence takes one of several ways, and the one before says what this brings."""
    before, phrases = reading.before, reading.phrases
    return before is not None and (
        (
            (meets(phrases.announced, reading.sentence.form) or meets(_TAKES, reading.sentence.form))
            and meets(signals.consequence, before.form)
        )
        or (meets(signals.acts, reading.sentence.form) and meets(_WOULD, before.form))
    )


def _is_doubted(reading: Reading) -> bool:
    """Whether a sentence is unsure, conditional, somebody else's, or lies ahead, before its reason."""
    phrases, form = reading.phrases, reading.sentence.form
    head = form[: reason_start(form, phrases)]
    if abandons := compiled(signals_for(phrases.language).abandons).search(form):
        head = form[abandons.start() :]  # what would have been needed for it is no doubt
    return (
        meets(phrases.unsure, head)
        or meets(phrases.to_do, head)
        or compiled(phrases.supposed).match(form) is not None
        or meets(phrases.told_by_others, head)
        or meets(_LEFT, form)
    )


def _names_code(sentence: Sentence) -> bool:
    """Whether a sentence names something of the code."""
    return re.search(_CODE, sentence.text) is not None


_CODE = r"`[^`\n]+`|\b\w+\(\)|\b[a-z]+_[a-z_]+\b|\b[a-z]+[A-Z]\w+|\b[\w/-]+\.[a-z]{1,5}\b(?<![0-9])|::"
_BY_SPEAKER = (
    r"^(?:\w+,? ){0,3}(?:i|i'm|i'll|i've|let|let's)\b|\blet me\b|\b(?:ich|je|voy)\b|让我|我(?:先|来|再)"
    r"|てみます"
    r"|\bcan't be (?:that|it|the)\b|\brules? (?:that|it|this|out)\b"
)
_EACH = (
    r"\b(?:each|every|all|only|never|no|not|both|always|twice|again|whole|entire|full|any|none|once"
    r"|one by one"
    r"|per \w+|\w+n't|without|before|regardless|jed\w+|alle\w*|nie|nur|kein\w*|nicht|zweimal|immer|chaque"
    r"|tou[st]\w*"
    r"|jamais|aucun\w*|seul\w*|pas|cada|tod[oa]s?|nunca|ningun\w*|solo|sin)\b|每|都|没|不|只|全|毎|すべて"
    r"|全て|だけ|ない|ません"
)
"""Says how often or how much, which explanations of faults do."""
_MECHANICAL = (
    r"\bso (?:i|we|i'll|we'll|i'm|we're|i've|let's)\b.{0,24}\b(?:add|renam|fix|updat|adjust|wrap|set|bump"
    r"|import|export"
    r"|expos|extend|delet|correct|creat|writ|regist|declar|includ|install|follow|mock"
    r"|need)(?!\w*\b[^.]{0,80}\b(?:instead"
    r"|rather)\b)"
)
"""Does what is needed, with neither a choice nor a reason beyond that."""
_NOTHING_DONE = (
    r"^(?:not|no|nothing|none|untested|unverified|skipped|tests?|if|when|this|that|it|the|an?|these|those"
    r"|each|every|all|both|our|my|they|there"
    r"|you|users?|interesting\w*)\b|\blet me\b|^[^,;:]{2,80}? (?:is|are|was|were|has|have|had|does|did"
    r"|uses?|returns?|returned)\b"
)
_WOULD = r"\b(?:would|würden?|serait|aurait|sería|habría)\b|\bso\b.{3,80}\b(?:can't|cannot|never|no)\b"
_TAKES = (
    r"^(?:so |now |ok(?:ay)?,? |then )?(?:(?:i'll|i'm|we'll|let's|going to) )?(?:us|switch|mov|replac|tak"
    r"|put|keep|cach|stor"
    r"|split|turn|pass|defer|batch)(?:e|ing)?\b"
)
_CLAUSE = r"(?:;| \u2014| \u2013) (?=\S+ \S+ \S+)"
_LACKS = (
    r"(?:;| \u2014| \u2013|:) (?!i\b|we\b|let)[^.;]{3,120}\b(?:don't|doesn't|can't|cannot|isn't|aren't"
    r"|won't|never|too"
    r"|would|lacks?)\b"
)
"""Says what another way lacks."""
_SPARES = (
    r"\bso (?!i\b|we\b)[^.;]{3,60}\b(?:aren't|isn't|can't|cannot|don't|doesn't|never|no longer|won't|always"
    r"|stays?"
    r"|keeps?)\b"
)
_AIMS = (
    r"\bso that\b|\bin order to\b|\bto (?:avoid|prevent|keep)\b|\bdamit\b|\bpour (?:que|éviter)\b|\bafin\b"
    r"|\bpara (?:que|evitar)\b|以便|以免|避免|ようにし"
)
_STATUS = (
    r"\bstill (?:there|fail\w*|red|broken|slow|the same|happens?|not|leaks?|hangs?|crash\w*|wrong|off"
    r"|missing)\b"
    r"|\b(?:second|another|different|separate) (?:problem|issue|bug|one|failure)\b|\breproduced?\b"
)
_OUTDATED = (
    r"\b(?:instead of|rather than|in place of|replac\w+|statt|anstelle|au lieu|plutôt que|en (?:lugar"
    r"|vez) de) (?:\w+ ){0,2}?"
    r"(?:old|previous|former|legacy|deprecated|obsolete|outdated|alte[nrms]?|bisherige\w*|ancien\w*"
    r"|viej[oa]s?|antigu[oa]s?)\b"
)
"""What was there before is no other way that there was."""
_GOES_WRONG = (
    r"^[^,;]{1,60}? (?:fails?|crash(?:es)?|hangs?|breaks?|leaks?|stalls?|deadlocks?|times? out|loses?"
    r"|throws?|panics?"
    r"|segfaults?|flickers?|misses|scheitert|hängt|bricht|stürzt)\b"
)
_VERIFIES = (
    r"\b(?:finds?|found|shows?|prints?|reports?|returns?|lists?|yields?) (?:nothing|no (?:\w+ )?(?:hits?"
    r"|matches|results?"
    r"|uses|occurrences|references)|none|zero|nichts)\b(?: (?:any ?more|now|left|else))*[.:]?$"
)
"""Tells of a check that came out well."""
_FOR_OTHERS = (
    r"\b(?:outside|elsewhere|owners?|callers?|consumers?)\b|\bwould (?:still )?(?:have"
    r"|need) to be (?:adapted|updated|adjusted"
    r"|changed|migrated|renamed|rerun|reindexed|redeployed)\b"
)
"""Says what others would have to do; no other way that there was."""
_JUDGED_CLAUSE = (
    r"(?:;| \u2014| \u2013) (?:with|beyond|above|below|past|more|mit|darüber|avec|con|más) \S+ \S+ \S+"
    r"|(?:;| \u2014| \u2013|,) [^.;]{3,90}\b(?:slower|faster|worse|better|too \w+|cheaper|\w+er (?:there"
    r"|than)"
    r"|no gain|would|can't|cannot|don't|doesn't|never|sonst|sinon|si no)\b"
)
_LEFT = r"^(?:next|tomorrow)\b|\b(?:haven't|have not|didn't (?:look|check|test|touch|run|measure))\b"
