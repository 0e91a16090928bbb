"""Owns the phrasings that ask what a change breaks, who has to follow it, and whether it is safe."""

from __future__ import annotations

from collections.abc import Sequence

from ..project.vocabulary import words
from .asking_words import ASKING, AUXILIARY, LOOKING, WHY_HOW
from .clauses import Clause, Token
from .code_words import WEAK_CHANGES, is_breakage, is_change
from .patterns import compiled
from .relation_phrases import RelationAsked, asks_for_tests, whole
from .relation_subjects import Subject, form_at, is_named, subject_before, subject_behind, sure_names

MAX_PLAN = 12
"""So far from the beginning of a sentence a plan names the change."""


def find_impact(clause: Clause, *, asks: bool, pronouns: bool) -> RelationAsked | None:
    """Find what a change breaks: a word for change, a subject next to it, and a word for breaking.

    In a supposition, `if X returns None, what breaks`, whatever befalls the subject is the change.
    """
    tokens = clause.tokens
    if asks_for_tests(tokens):
        return None
    safe = compiled(_MAY_CHANGE).search(clause.form)
    if safe:
        return whole(clause, "impact", sure_names(clause.within(*safe.span()))[:1])
    changes = [at for at in range(len(tokens)) if _is_change(tokens, at)]
    # `what else must I change if I rename X` has two words for change.
    breaks = len(changes) > 1 or any(is_breakage(token.form) or token.form in _BROKEN for token in tokens)
    if not breaks and not (asks and _follows(tokens)):
        return None
    for at in changes + _weak_changes(tokens):
        subject = _changed(tokens, at, pronouns=pronouns)
        if subject:
            return whole(clause, "impact", (subject.text,))
    return _supposed(clause) if asks else None


def planned_change(clause: Clause) -> str:
    """Return what somebody plans to change, `I want to delete X`, empty where no plan is stated."""
    tokens = clause.tokens
    if not _PLANNING & {token.form for token in tokens[:3]}:
        return ""
    for at, token in enumerate(tokens[:MAX_PLAN]):
        if token.form == "you":
            return ""  # `I want you to delete X` is a command
        if is_change(token.form) and not token.form.endswith("ed"):
            subject = subject_behind(tokens, at, pronouns=False)
            return subject.text if subject and (subject.sure or subject.kinded) else ""
    return ""


def find_planned_impact(clause: Clause, planned: str) -> RelationAsked | None:
    """Find what a change breaks that the sentence before plans: `I will delete X. What breaks?`."""
    tokens = clause.tokens
    breaks = any(is_breakage(token.form) or is_change(token.form) for token in tokens)
    asked = planned and breaks and not sure_names(tokens) and tokens[0].form not in WHY_HOW
    return whole(clause, "impact", (planned,)) if asked else None


def _is_change(tokens: Sequence[Token], at: int) -> bool:
    form = tokens[at].form
    return is_change(form) or (form in _GOES and form_at(tokens, at + 1) == "away")


def _changed(tokens: Sequence[Token], at: int, *, pronouns: bool) -> Subject | None:
    """Return what a word says is changed: behind it, or before what `becomes`, `changes` or `is removed`."""
    behind = subject_behind(tokens, at, pronouns=pronouns)
    before = subject_before(tokens, at, pronouns=False)
    suffers = tokens[at].form in _HAPPENS_TO or form_at(tokens, at - 1) in AUXILIARY | _BEING
    first, second = (before, behind) if suffers else (behind, before)
    for subject in (first, second):
        if subject and subject.sure:
            return subject
    supposed = any(token.form in _SUPPOSING for token in tokens)
    plain = behind if behind and (behind.kinded or behind.at == at + 1) else before
    return plain if supposed else None


def _weak_changes(tokens: Sequence[Token]) -> list[int]:
    """Return where the weak words for a change stand behind `if`; what happens then is behaviour."""
    forms = [token.form for token in tokens]
    if "if" not in forms or (forms[1:2] == ["happens"] and not _BROKEN & set(forms)):
        return []
    start = forms.index("if")
    return [at for at, form in enumerate(forms) if at > start and form in WEAK_CHANGES]


def _supposed(clause: Clause) -> RelationAsked | None:
    """Find `if X returns None, what breaks`: a supposition about a name, and what surely breaks."""
    tokens = clause.tokens
    start, end = _supposition(tokens)
    names = [token.text for token in tokens[start:end] if is_named(token)]
    outside = (token.form for at, token in enumerate(tokens) if not start <= at < end)
    breaks = any(form.startswith(_BREAKS_SURELY) for form in outside)
    return whole(clause, "impact", (names[0],)) if names and breaks else None


def _follows(tokens: Sequence[Token]) -> bool:
    """Whether somebody must do something because of what is supposed: `what else has to be adapted`."""
    if tokens[0].form in LOOKING:
        return False
    start, end = _supposition(tokens)
    rest = [token.form for at, token in enumerate(tokens) if not start <= at < end]
    asked = any(form in ASKING or form in AUXILIARY for form in rest)
    return end > start and asked and any(form.startswith(_FOLLOWING) for form in rest)


def _supposition(tokens: Sequence[Token]) -> tuple[int, int]:
    """Return the span of `if …`, up to a comma or the end; empty where nothing is supposed."""
    start = next((at for at, token in enumerate(tokens) if token.form in _SUPPOSING | _AFTER), len(tokens))
    if compiled(_WERE).match(" ".join(token.form for token in tokens[:3])):
        start = 0
    commas = (at for at in range(start, len(tokens)) if tokens[at].form == ",")
    return start, next(commas, len(tokens))


_PLANNING = words("i we suppose say imagine assume assuming")
_SUPPOSING = words("if when suppose supposing assuming imagine")
_AFTER = words("after once before")
_WERE = r"were (?:i|we|N)\b"
_BROKEN = words(
    """
    callers caller dependents users adapted adapt adapting notice notices adjust adjusted risky risk risks
    dangerous ripple effect effects fallout repercussions implications invalidate invalidates
    """
)
"""Besides the words for breaking, those that say it only next to one for change."""

_BREAKS_SURELY = (
    "break",
    "affect",
    "impact",
    "adapt",
    "notice",
    "dependents",
    "suffer",
    "fall apart",
    "invalid",
)
_FOLLOWING = (
    *("need", "has", "have", "must", "adapt", "follow", "notice", "adjust", "re-", "retest", "recheck"),
    *("check", "fix", "updat", "hit", "concern", "complain", "suffer"),
)
"""Beginnings of the words for what a supposed change obliges others to."""

_GOES = words("go goes going gone went")
_BEING = words("be been being gets get got")
_HAPPENS_TO = words(
    """
    change changes become becomes became gets get got disappear disappears disappeared vanish vanishes
    vanished go goes going gone went take takes took gain gains lose loses lost accept accepts
    """
)
_MAY_CHANGE = (
    r"^(?:can|could|may) (?:i|we|one) (?:\w+ly |just |simply )?"
    r"(?:change|delete|remove|rename|drop|modify|replace|move|refactor|inline) (?:the )?(?:\w+ )?[NP]"
    r"(?: (?:safely|now|without\b.*|away))?$"
    r"|^(?:can|could|may) (?:the )?(?:\w+ )?[NP] (?:\w+ly )?be (?:\w+ly )?"
    r"(?:changed|deleted|removed|renamed|dropped|modified|replaced|moved|refactored|inlined)\b"
)
"""Whether something may be changed is asked for what it would break."""
