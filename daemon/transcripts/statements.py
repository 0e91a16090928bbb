"""The decisions that a text states: choices, causes of faults, abandoned attempts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from .cues import cues_for, meets
from .evidence import (
    REASON,
    Kind,
    Marked,
    Wording,
    can_state,
    cut_short,
    is_announcement,
    marked,
    names_another,
    standing,
    worded,
)
from .report import Sentence, SentenceInBlock, Voice, blocks_of
from .weak_evidence import gives_up, weakly_marked


class Statement(Struct, frozen=True):
    """A decision as one or two sentences state it.

    `evidence` names the reasons why it counts as one, `weight` their strength: 2 is one good reason, and each
    further one adds 0.5 to 2.
    """

    kind: Kind
    decision: str
    rationale: str
    evidence: tuple[str, ...]
    weight: float
    needs_change: bool = False
    """Whether it was announced: it counts only if files changed afterwards."""
    source: str = ""
    """The whole text, which may name files that the decision doesn't."""
    replaced: bool = False
    """For an attempt: it also names its replacement."""
    removed: bool = False
    """For an attempt: it says that it was removed again."""
    describes: bool = False
    """It describes a state; counts only if source files were edited."""
    needs: int = 0
    """Minimum signals from the events around it; 0 if its words are enough."""
    otherwise: Statement | None = None
    """The alternative statement, if events don't confirm this one."""


def statements_in(text: str, voice: Voice) -> Iterator[Statement]:
    """Yield the decisions that a text states, in order; those with `needs` are uncertain."""
    for block in blocks_of(text):
        yield from _in_block(block, voice)


def complains(text: str) -> bool:
    """Whether a user reports a fault or asks for its repair; complaints about prose and style don't count."""
    form = text.lower()
    return meets(cues_for(text).COMPLAINS, form) and not meets(_OF_STYLE, form)


def _in_block(block: Sequence[Sentence], voice: Voice) -> Iterator[Statement]:
    """Yield the decisions of a block; an attempt and the choice next to it are one decision."""
    last: Statement | None = None
    used = -1
    for at in range(len(block)):
        found = _judged(SentenceInBlock(block, at, voice)) if at > used else None
        if found is None:
            continue
        statement, end = found
        if _is_given_up_behind(block, at, statement):
            continue
        if (
            statement.needs
            and statement.kind == "attempt"
            and last
            and last.kind == "attempt"
            and at == used + 1
        ):
            used = end  # it repeats that this was given up
            continue
        if (
            last
            and last.kind == "attempt"
            and not last.replaced
            and statement.kind == "choice"
            and not last.needs
            and not statement.needs
            and at == used + 1
        ):
            last = _joined(last, statement)
        else:
            if last:
                yield last
            last = statement
        used = end
    if last:
        yield last


def _judged(reading: SentenceInBlock) -> tuple[Statement, int] | None:
    """Return a sentence's statement, if any, and the place of the last sentence used for it."""
    if reading.voice == "user":
        found = standing(reading)
        return _stated(reading, found) if found else None
    found = marked(reading)
    if found is not None:
        return _stated(reading, found)
    stated = [
        found for found in (_stated(reading, each) for each in weakly_marked(reading)) if found is not None
    ]
    if len(stated) < 2:
        return stated[0] if stated else None
    (first, last), (other, other_last) = stated[:2]
    return replace(first, otherwise=other), max(last, other_last)


def _stated(reading: SentenceInBlock, found: Marked) -> tuple[Statement, int] | None:
    """Return the statement of a marked sentence, and the place of the last sentence used for it."""
    cues = reading.cues
    sentence = reading.sentence
    if found.needs and found.kind == "attempt":
        return _attempt(reading, found)
    is_choice = found.kind in ("choice", "standing")
    wording = worded(reading, found.end, explained=is_choice, may_explain=REASON in found.evidence)
    if wording is None:
        return None
    before = reading.before
    if found.kind == "cause" and before and meets(cues.THEREFORE, sentence.form):
        wording = Wording(f"{before.text} {sentence.text}", "", wording.last)
    if found.explained_behind and reading.after and not wording.rationale:
        is_free = marked(replace(reading, at=reading.at + 1)) is None
        wording = Wording(wording.decision, reading.after.text, reading.at + is_free)
    if found.kind == "cause" and not wording.rationale and wording.last == reading.at and _goes_on(reading):
        wording = Wording(wording.decision, reading.block[reading.at + 1].text, reading.at + 1)
    source = " ".join(each.text for each in reading.block) if sentence.listed else sentence.text
    statement = Statement(
        found.kind,
        cut_short(_introduced(wording.decision, found, reading)),
        cut_short(wording.rationale),
        found.evidence,
        found.weight,
        found.needs_change,
        cut_short(source),
        found.kind == "attempt" and names_another(sentence.form, found.end),
        found.kind == "attempt" and meets(cues.REMOVED, sentence.form),
        found.describes,
        found.needs,
    )
    return statement, wording.last


def _goes_on(reading: SentenceInBlock) -> bool:
    """Whether the sentence after a cause completes it by its consequence or the symptom."""
    cues = reading.cues
    after = reading.after
    if after is None or after.place == 0 or not can_state(after) or is_announcement(after):
        return False
    form = after.form
    if meets(cues.UNSURE, form) or meets(cues.TO_DO, form) or meets(cues.ACTS, form):
        return False
    if gives_up(after) or meets(cues.CHECKS, form) or meets(cues.NOW, form):
        return False
    if not (meets(cues.SYMPTOM, form) or form.startswith("so ")):
        return False
    return marked(replace(reading, at=reading.at + 1)) is None


def _attempt(reading: SentenceInBlock, found: Marked) -> tuple[Statement, int]:
    """Return an abandoned attempt with the surrounding sentences, which describe it and the reason."""
    cues = reading.cues
    sentence, before, after = reading.sentence, reading.before, reading.after
    abandons = gives_up(sentence)
    decision, rationale, last = sentence.text, "", reading.at
    asks = before is not None and before.form.rstrip().endswith("?")
    if before and ((abandons and not asks) or meets(cues.BARE, sentence.form)):
        decision = f"{before.text} {decision}"
    if after and (not abandons and gives_up(after)):
        decision, last = f"{decision} {after.text}", reading.at + 1
    elif after and not meets(cues.ADVICE, after.form) and not meets(cues.ROUTINE, after.form):
        rationale = after.text
    statement = Statement(
        "attempt",
        cut_short(decision),
        cut_short(rationale),
        found.evidence,
        found.weight,
        source=cut_short(f"{decision} {rationale}"),
        replaced=names_another(sentence.form, found.end),
        removed=meets(cues.REMOVED, decision.lower()),
        needs=found.needs,
    )
    return statement, last


def _is_given_up_behind(block: Sequence[Sentence], at: int, statement: Statement) -> bool:
    """Whether a statement other than an attempt explains why the next sentence abandons something."""
    if (
        statement.kind == "attempt"
        or (statement.kind == "choice" and not statement.needs)
        or at + 1 >= len(block)
    ):
        return False
    return gives_up(block[at + 1])


def _introduced(decision: str, found: Marked, reading: SentenceInBlock) -> str:
    """Return a decision, introduced by its section's title if the sentence doesn't name its subject."""
    cues = reading.cues
    if found.kind == "cause" and not found.end and not meets(cues.CAUSE, reading.sentence.form):
        return f"Root cause: {decision}"
    return f"Rejected: {decision}" if found.kind == "attempt" and not found.end else decision


def _joined(attempt: Statement, choice: Statement) -> Statement:
    """Return an attempt and the choice that replaced it as one decision."""
    rationale = " ".join(dict.fromkeys(filter(None, (attempt.rationale, choice.rationale))))
    return replace(
        choice,
        decision=cut_short(f"{attempt.decision.rstrip('.')}. {choice.decision}"),
        rationale="" if rationale in attempt.decision else cut_short(rationale),
        evidence=tuple(dict.fromkeys((*attempt.evidence, *choice.evidence))),
        weight=max(attempt.weight, choice.weight),
        source=cut_short(f"{attempt.source} {choice.source}"),
    )


_OF_STYLE = (
    r"(?<![/.])\b(?:lint\w*|readme|typos?|changelog|formatter|formatting|docs?|docstrings?|wording|spelling)"
    r"\b(?![/.]\w)"
)
