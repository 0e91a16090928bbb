"""Owns the phrasings of a relation that no single word tells: what breaks, where is, how does A get to B."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .asking_words import ASKING, LOOKING, WHY_HOW
from .clauses import Clause, Token
from .code_words import KINDS, PLURAL_KINDS, WEAK_CHANGES, is_breakage, is_change, is_connection
from .patterns import compiled
from .relation_cues import CUES, Relation
from .relation_subjects import (
    DETERMINERS,
    PLACING,
    form_at,
    is_filler,
    is_named,
    may_be_name,
    subject_before,
    subject_behind,
    sure_names,
)
from .vocabulary import words


@dataclass(frozen=True, slots=True)
class RelationAsked:
    """A relation that a clause asks for, its subjects as written, in order, and the words that say so."""

    relation: Relation
    subjects: tuple[str, ...]
    said: str


def find_connection(clause: Clause) -> RelationAsked | None:
    """Find a path between two symbols: `how does A end up in B`, `call path from main to f`."""
    tokens, names = clause.tokens, sure_names(clause.tokens)
    forms = [token.form for token in tokens]
    ends_up = "end up" in clause.form or "get to" in clause.form
    if len(names) > 1 and (ends_up or any(map(is_connection, forms)) or _ends_in_call(tokens)):
        return _whole(clause, "connection", names[:2])
    if names and {"from", "to"} <= set(forms) and {"path", "chain", "route"} & set(forms):
        ends = [form_text(tokens, at + 1) for at, form in enumerate(forms) if form in {"from", "to"}]
        return _whole(clause, "connection", tuple(filter(None, ends))[:2])
    return None


def find_impact(clause: Clause, *, pronouns: bool) -> RelationAsked | None:
    """Find what a change breaks: a word for change, a subject next to it, and a word for breaking."""
    tokens = clause.tokens
    changes = [at for at, token in enumerate(tokens) if is_change(token.form)]
    # `what else must I change if I rename X` has two words for change.
    breaks = len(changes) > 1 or any(is_breakage(token.form) or token.form in _BROKEN for token in tokens)
    if not breaks or asks_for_tests(tokens):
        return None
    supposed = any(token.form in {"if", "when"} for token in tokens)
    changes += _weak_changes(tokens)
    for at in changes:
        subject = subject_behind(tokens, at, pronouns=pronouns) or subject_before(tokens, at, pronouns=False)
        if subject and (subject.sure or supposed):
            return _whole(clause, "impact", (subject.text,))
    return None


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
    return _whole(clause, "impact", (planned,)) if asked else None


def find_tests(clause: Clause) -> RelationAsked | None:
    """Find `which tests should I run after touching X`, `which tests hit X`."""
    tokens = clause.tokens
    asked = tokens[0].form in ASKING and asks_for_tests(tokens[:4])
    run = asks_for_tests(tokens) and any(token.form in _RUN for token in tokens)
    names = [token.text for at, token in enumerate(tokens) if is_named(token) and not _is_place(tokens, at)]
    return _whole(clause, "tests", tuple(names[:1])) if names and (asked or run) else None


def find_location(clause: Clause) -> RelationAsked | None:
    """Find `where is X`, `what line does X start on`, `jump to X`: nothing is said but where and what."""
    tokens = clause.tokens
    if len(tokens) == 3 and tokens[0].form in _GO and tokens[1].form == "to" and tokens[2].kind == "name":
        return _whole(clause, "definition", (tokens[2].text,))
    if not any(token.form in WHERE for token in tokens[:4]):
        return None
    names = [token.text for at, token in enumerate(tokens) if is_named(token) and not _filters(tokens, at)]
    rest = _content(tokens, KINDS | ASKING | WHERE | DETERMINERS | _LIVES)
    if len(names) == 1 and not rest and not _is_only_place(tokens):
        return _whole(clause, "definition", (names[0],))
    kinded = any(token.form in KINDS - WHERE for token in tokens)
    if not names and len(rest) == 1 and kinded and may_be_name(rest[0]):
        return _whole(clause, "definition", (rest[0].text,))
    return None


def find_signature(clause: Clause) -> RelationAsked | None:
    """Find `what type does X return`, `the return type of X`, `does X return a list, or which type`."""
    match = compiled(_TYPE_OF).search(clause.form) or compiled(_TYPE_BEHIND).search(clause.form)
    names = sure_names(clause.within(*match.span())) if match else ()
    return RelationAsked("definition", names, clause.said(*match.span())) if match and names else None


def find_callees_of_run(clause: Clause) -> RelationAsked | None:
    """Find `which functions are called when X runs`."""
    match = compiled(_CALLED_WHEN).search(clause.form)
    names = sure_names(clause.within(*match.span())) if match else ()
    return RelationAsked("callees", names, clause.said(*match.span())) if match and names else None


def find_outline(clause: Clause) -> RelationAsked | None:
    """Find `list the functions in X`, `what methods does X have`: kinds, a subject and nothing besides."""
    tokens = clause.tokens
    names = sure_names(tokens)
    kind = next((at for at in range(len(tokens)) if _is_plural(tokens, at)), len(tokens))
    if len(names) != 1 or sure_names(tokens[kind:]) != names:
        return None
    rest = _content(tokens, KINDS | PLURAL_KINDS | ASKING | LOOKING | DETERMINERS | _HAS)
    return None if rest else _whole(clause, "outline", names)


def asks_for_tests(tokens: Sequence[Token]) -> bool:
    """Whether a word for tests is among tokens."""
    return any(CUES.get(token.form) is CUES["tests"] for token in tokens)


def form_text(tokens: Sequence[Token], at: int) -> str:
    """Return a token's text, empty outside of the clause."""
    return tokens[at].text if 0 <= at < len(tokens) else ""


def _weak_changes(tokens: Sequence[Token]) -> list[int]:
    """Return where the weak words for a change stand behind `if`; what happens then is behaviour."""
    forms = [token.form for token in tokens]
    if "if" not in forms or (forms[1:2] == ["happens"] and not _BROKEN & set(forms)):
        return []
    start = forms.index("if")
    return [at for at, form in enumerate(forms) if at > start and form in WEAK_CHANGES]


def _whole(clause: Clause, relation: Relation, subjects: tuple[str, ...]) -> RelationAsked:
    return RelationAsked(relation, subjects, clause.said(0, len(clause.form)))


def _content(tokens: Sequence[Token], known: frozenset[str]) -> list[Token]:
    """Return the plain words that say something, other than the known ones."""
    plain = (token for token in tokens if token.kind in {"word", "quote"})
    return [token for token in plain if not is_filler(token) and token.form not in known]


def _ends_in_call(tokens: Sequence[Token]) -> bool:
    """Whether a clause is `how does A call B`; `how does A use B to sort` is about behaviour."""
    if tokens[0].form not in _HOW or tokens[-1].kind != "name":
        return False
    last = next((token.form for token in reversed(tokens) if token.kind == "word"), "")
    return last in CUES and CUES[last].incoming == "callers"


def _is_plural(tokens: Sequence[Token], at: int) -> bool:
    form = tokens[at].form
    return form in PLURAL_KINDS or (form in KINDS and form_at(tokens, at - 1) in {"every", "each", "all"})


def _is_place(tokens: Sequence[Token], at: int) -> bool:
    return form_at(tokens, at - 1) in PLACING


def _is_only_place(tokens: Sequence[Token]) -> bool:
    """Whether the content of a path is asked for: `which files are in src/hooks`."""
    return any(token.kind == "path" and _is_place(tokens, at) for at, token in enumerate(tokens))


def _filters(tokens: Sequence[Token], at: int) -> bool:
    """Whether a path is only where something is looked for: `where is f in src/api`."""
    return tokens[at].kind == "path" and _is_place(tokens, at) and len(sure_names(tokens)) > 1


WHERE = words(
    """
    where wherever file line wo où dónde donde onde dove где woher location place files header module
    package
    folder directory datei zeile fichier ligne archivo fichero línea arquivo linha riga файле файл строке
    """
)
"""Words that ask for a place."""

_PLANNING = words("i we suppose say imagine assume assuming ich wir je nous j' quiero vou voglio хочу")
MAX_PLAN = 12
"""So far from the beginning of a sentence a plan names the change."""

_BROKEN = words("callers caller dependents users")
_HOW = words("how wie comment cómo como come как")
_GO = words("go jump navigate")
_LIVES = words(
    """
    live lives living reside resides sit sits start starts begin begins come comes found stored located kept
    placed has have hold exist exists look introduced introduce find liegt steht befindet wohnt finde trouve
    trouver se encuentra está fica encontra trova si находится лежит живёт
    """
)
_HAS = words(
    """
    have has export exports exported define defines defined declare declares declared expose exposes contain
    contains provide provides offer top-level available present exist class struct enum interface module
    names
    hat haben besitzt a ont tiene tienen tem têm possui ha hanno имеет
    """
)
_RUN = words(
    """
    run rerun re-run execute check ausführen laufen lancer exécuter ejecutar correr rodar executar eseguire
    запустить
    """
)
_CALLED_WHEN = (
    r"\b(?:called|invoked|executed|run|triggered) (?:when|while|if|during"
    r"|as soon as) (?:the )?(?:\w+ )?N(?: runs?| executes?"
    r"| (?:is|gets) (?:called|invoked|executed|run|triggered))?$"
)
_TYPE_BEHIND = r"\bN (?:return|returns|yield|take|accept)\b.{0,40}\btypes?$"
_TYPE_OF = (
    r"\b(?:return|result|value) types? (?:of|for) (?:the )?(?:\w+ )?N\b"
    r"|\b(?:what|which) (?:is|are) the (?:\w+ )?types? of (?:the )?(?:\w+ )?N\b"
    r"|\b(?:what|which) types? (?:does|do|is|are|has) (?:the )?(?:\w+ )?N(?: return| have| take| accept"
    r"| yield)?$"
)
