"""Owns the reading of a text for the decisions that it states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

from .evidence import REASON, Marked, can_state, is_announcement, marked, names_another, standing
from .phrases import Phrases, meets, phrases_for
from .report import Sentence, blocks_of
from .signals import signals_for
from .statement import Reading, Statement, Voice
from .weak_evidence import gives_up, weakly_marked
from .wording import Wording, cut_short, worded


def statements_in(text: str, voice: Voice) -> Iterator[Statement]:
    """Yield the decisions that a text states, in order; those with `needs` only may be some."""
    phrases = phrases_for(text)
    for block in _with_announcements(blocks_of(text), phrases):
        yield from _in_block(block, voice, phrases)


def given_up(text: str) -> Literal["", "at once", "named"]:
    """Return whether a text on the way drops what was about to be done: at once, or what it names."""
    phrases = phrases_for(text)
    sentences = [sentence for block in blocks_of(text) for sentence in block]
    if any(meets(phrases.given_up_now, sentence.form) for sentence in sentences):
        return "at once"
    return "named" if any(gives_up(sentence, phrases.language) for sentence in sentences) else ""


def complains(text: str) -> bool:
    """Whether a user asks why something goes wrong, or to repair it; prose and style don't go wrong."""
    form = text.lower()
    return meets(signals_for(phrases_for(text).language).complains, form) and not meets(_OF_STYLE, form)


def _with_announcements(blocks: Iterable[list[Sentence]], phrases: Phrases) -> Iterator[list[Sentence]]:
    """Yield blocks, a paragraph that only says that something was found together with the next one."""
    waiting: list[Sentence] = []
    for block in blocks:
        is_announced = len(block) == 1 and not block[0].listed and is_announcement(block[0], phrases)
        if is_announced and not waiting:
            waiting = block
            continue
        yield [*waiting, *block]
        waiting = []
    if waiting:
        yield waiting


def _in_block(block: Sequence[Sentence], voice: Voice, phrases: Phrases) -> Iterator[Statement]:
    """Yield those of a block; an attempt and what was chosen next to it are one."""
    last: Statement | None = None
    used = -1
    for at in range(len(block)):
        found = _judged(Reading(block, at, voice, phrases)) if at > used else None
        if found is None:
            continue
        statement, end = found
        if _is_given_up_behind(block, at, statement, phrases):
            continue
        if (
            statement.needs
            and statement.kind == "attempt"
            and last
            and last.kind == "attempt"
            and at == used + 1
        ):
            used = end  # it says again that this was given up
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


def _judged(reading: Reading) -> tuple[Statement, int] | None:
    """Return what a sentence states, if anything, and the place of the last sentence that was used for it."""
    if reading.voice == "user":
        found = standing(reading)
        return _stated(reading, found) if found else None
    found = marked(reading)
    weak = weakly_marked(reading) if found is None or _gives_up(reading, found) else ()
    if found is not None and not (weak and weak[0].kind == "attempt"):
        return _stated(reading, found)
    stated = [one for one in (_stated(reading, each) for each in weak) if one is not None]
    if len(stated) < 2:
        return stated[0] if stated else None
    (first, last), (other, other_last) = stated[:2]
    return replace(first, otherwise=other), max(last, other_last)


def _gives_up(reading: Reading, found: Marked) -> bool:
    return found.kind == "choice" and gives_up(reading.sentence, reading.phrases.language)


def _stated(reading: Reading, found: Marked) -> tuple[Statement, int] | None:
    """Return the statement that a sentence makes, and the place of the last sentence that was used for it."""
    sentence = reading.sentence
    if found.needs and found.kind == "attempt":
        return _attempt(reading, found)
    is_choice = found.kind in ("choice", "standing")
    wording = worded(reading, found.end, explained=is_choice, may_explain=REASON in found.evidence)
    if wording is None:
        return None
    before = reading.before
    if found.kind == "cause" and before and meets(reading.phrases.therefore, sentence.form):
        wording = Wording(f"{before.text} {sentence.text}", "", wording.last)
    if found.explained_behind and reading.after and not wording.rationale:
        is_free = marked(replace(reading, at=reading.at + 1)) is None
        wording = Wording(wording.decision, reading.after.text, reading.at + is_free)
    if found.kind == "cause" and not wording.rationale and wording.last == reading.at and _goes_on(reading):
        wording = Wording(wording.decision, reading.block[reading.at + 1].text, reading.at + 1)
    source = " ".join(one.text for one in reading.block) if sentence.listed else sentence.text
    statement = Statement(
        found.kind,
        cut_short(_introduced(wording.decision, found, reading)),
        cut_short(wording.rationale),
        found.evidence,
        found.weight,
        found.needs_change,
        cut_short(source),
        found.kind == "attempt" and names_another(sentence.form, found.end),
        found.kind == "attempt" and meets(reading.phrases.removed, sentence.form),
        found.describes,
        found.needs,
    )
    return statement, wording.last


def _goes_on(reading: Reading) -> bool:
    """Whether the sentence behind a cause says the rest of it: what follows from it, or what goes wrong."""
    after, phrases = reading.after, reading.phrases
    if after is None or after.place == 0 or not can_state(after, phrases) or is_announcement(after, phrases):
        return False
    signals, form = signals_for(phrases.language), after.form
    if meets(phrases.unsure, form) or meets(phrases.to_do, form) or meets(signals.acts, form):
        return False
    if gives_up(after, phrases.language) or meets(signals.checks, form) or meets(signals.now, form):
        return False
    if not (meets(signals.symptom, form) or meets(signals.consequence, form) or form.startswith("so ")):
        return False
    return marked(replace(reading, at=reading.at + 1)) is None


def _attempt(reading: Reading, found: Marked) -> tuple[Statement, int]:
    """Return what was given up with the sentences around it, which say what and why."""
    sentence, before, after, phrases = reading.sentence, reading.before, reading.after, reading.phrases
    abandons = gives_up(sentence, phrases.language)
    decision, rationale, last = sentence.text, "", reading.at
    asks = before is not None and before.form.rstrip().endswith(("?", "\uff1f"))
    if before and ((abandons and not asks) or meets(phrases.bare, sentence.form)):
        decision = f"{before.text} {decision}"
    if after and (not abandons and gives_up(after, phrases.language)):
        decision, last = f"{decision} {after.text}", reading.at + 1
    elif after and not meets(phrases.advice, after.form) and not meets(phrases.routine, after.form):
        rationale = after.text
    statement = Statement(
        "attempt",
        cut_short(decision),
        cut_short(rationale),
        found.evidence,
        found.weight,
        source=cut_short(f"{decision} {rationale}"),
        replaced=names_another(sentence.form, found.end),
        removed=meets(phrases.removed, decision.lower()),
        needs=found.needs,
    )
    return statement, last


def _is_given_up_behind(block: Sequence[Sentence], at: int, statement: Statement, phrases: Phrases) -> bool:
    """Whether a statement that is no attempt says why the next sentence gives something up."""
    if (
        statement.kind == "attempt"
        or (statement.kind == "choice" and not statement.needs)
        or at + 1 >= len(block)
    ):
        return False
    return gives_up(block[at + 1], phrases.language)


def _introduced(decision: str, found: Marked, reading: Reading) -> str:
    """Return a decision with what its section said of it, where the sentence doesn't."""
    if found.kind == "cause" and not found.end and not meets(reading.phrases.cause, reading.sentence.form):
        return f"Root cause: {decision}"
    return f"Rejected: {decision}" if found.kind == "attempt" and not found.end else decision


def _joined(attempt: Statement, choice: Statement) -> Statement:
    """Return a decision of two sentences."""
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
