"""Owns the decision which relation of the code graph a clause asks for, and of what."""

from __future__ import annotations

from collections.abc import Sequence

from ..project.vocabulary import words
from .asking_words import ASKING, AUXILIARY, WHY_HOW
from .clauses import Clause, Token, clause_of
from .code_words import MODULES
from .patterns import compiled
from .relation_connection import find_connection
from .relation_cues import CUES, DEPENDING, NO_SUBJECT, Cue
from .relation_depth import depth_of
from .relation_directions import direction_of
from .relation_impact import find_impact
from .relation_phrases import (
    RelationAsked,
    asks_for_tests,
    find_alone,
    find_callees_of_run,
    find_location,
    find_outline,
    find_own,
    find_signature,
    find_tests,
    find_variants,
)
from .relation_subjects import (
    Subject,
    form_at,
    is_named,
    subject_before,
    subject_behind,
    sure_names,
)
from .relation_usage import asks_by_cue, is_loose, is_verb, may_be_verb, says_something
from .routes import Relation


def find_relation(clause: Clause, *, asks: bool, pronouns: bool = False) -> RelationAsked | None:
    """Return the relation that a clause asks for, or None.

    It must be asked of a symbol, a path, or a plain word that its place makes a name (`who calls login`,
    `the login function`, but not `the payment provider`); with `pronouns` also of what was named before (`who
    calls it`). `asks` says that the clause is a question or a command to look: a statement (`f calls g
    twice`) asks for no verb's relation, but as a fragment for a noun's (`callers of f`).
    """
    clause = _with_phrases(clause)
    tokens = clause.tokens
    # In `X: who calls this` the name in front is what it is asked of.
    pronouns = pronouns or (is_named(tokens[0]) and form_at(tokens, 1) in ASKING | {",", ":"})
    how = tokens[0].form in WHY_HOW and form_at(tokens, 1) not in _MEASURES
    if not how:
        for relation, pattern in NO_SUBJECT:
            match = compiled(pattern).search(clause.form)
            if match and not says_something(clause.within(0, match.start())):
                return RelationAsked(relation, sure_names(tokens), clause.said(match.start(), match.end()))
    connection = find_connection(clause)
    if how or connection:
        return connection
    if clause.form.startswith(_WHAT_HAPPENS):
        return find_impact(clause, asks=asks, pronouns=pronouns)
    return (
        find_impact(clause, asks=asks, pronouns=pronouns)
        or find_signature(clause)
        or find_callees_of_run(clause)
        or find_tests(clause, asks=asks)
        or find_own(clause)
        or find_variants(clause)
        or _by_cue(clause, asks=asks, pronouns=pronouns)
        or (find_location(clause) or find_alone(clause) if asks else None)
        or find_outline(clause)
    )


def _with_phrases(clause: Clause) -> Clause:
    """Return a clause in which two words that are a cue together, `pulls in`, are one token."""
    tokens: list[Token] = []
    for token in clause.tokens:
        form = f"{tokens[-1].form}-{token.form}" if tokens else ""
        if form in CUES:
            tokens[-1] = Token("word", f"{tokens[-1].text} {token.text}", form)
        else:
            tokens.append(token)
    return clause_of(tokens, clause.asks) if len(tokens) < len(clause.tokens) else clause


def _by_cue(clause: Clause, *, asks: bool, pronouns: bool) -> RelationAsked | None:
    """Find a word for a relation with a subject on one of its sides."""
    tokens = clause.tokens
    for at, token in enumerate(tokens):
        cue = CUES.get(token.form)
        if cue is None or not asks_by_cue(cue, tokens, at, asks=asks):
            continue
        before = subject_before(tokens, at, pronouns=pronouns)
        behind = subject_behind(tokens, at, pronouns=pronouns)
        if is_verb(cue, token) and before and compiled(_TELLS).search(before.text):
            continue  # `does README.md mention X` looks for words in it
        if cue.surely or is_loose(tokens, at):
            before = before if before and before.sure else None
            behind = behind if behind and behind.sure else None
        elif cue.voice == "active" and not may_be_verb(tokens, at):
            behind = behind if behind and (behind.sure or behind.kinded) else None
        known = any(subject and (subject.sure or subject.kinded) for subject in (before, behind))
        if tokens[0].form in AUXILIARY and not known and not _is_of_code(cue):
            continue  # `is caching used here` asks for a behaviour
        relation = direction_of(cue, tokens, at, before, behind)
        if relation and not (relation == "outline" and cue.voice != "noun" and _holds_data(tokens)):
            return _asked(_refined(relation, clause), cue, tokens, at, before, behind)
    return None


def _holds_data(tokens: Sequence[Token]) -> bool:
    """Whether the file that is named has no definitions: `what ports are exposed in compose.yml`."""
    return any(token.kind == "path" and compiled(_DATA).search(token.text) for token in tokens)


def _is_of_code(cue: Cue) -> bool:
    """Whether a word by itself says that code is meant, whatever it is asked of: `callers`, `tests`."""
    return cue.incoming == "tests" or (cue.voice == "noun" and cue.incoming in _OF_CODE)


def _refined(relation: Relation, clause: Clause) -> Relation:
    """Return the relation that is meant where other words of the clause narrow it."""
    tokens = clause.tokens
    if asks_for_tests(tokens) and relation in {"callers", "references", "importers", "definition"}:
        return "tests"
    far = any(token.form in _TRANSITIVE for token in tokens) or depth_of(clause) > 1
    if relation in {"importers", "callers", "references"} and far:
        return "impact"
    if relation == "imports" and any(token.form in _CALLABLE for token in tokens):
        return "callees"  # `which other methods does f depend on`
    return relation


def _asked(
    relation: Relation,
    cue: Cue,
    tokens: Sequence[Token],
    at: int,
    before: Subject | None,
    behind: Subject | None,
) -> RelationAsked:
    both = relation == "connection" or (tokens[0].form in AUXILIARY and cue.voice != "passive")
    if both and before and behind and before.sure and behind.sure:
        chosen = [before, behind]
    elif cue.voice == "passive":
        chosen = [subject for subject in (before or behind,) if subject]
    else:
        chosen = [subject for subject in (behind or before,) if subject]
    places = [at, *(subject.at for subject in chosen)]
    said = " ".join(token.text for token in tokens[min(places) : max(places) + 1])
    relation = _by_subject(relation, cue, tokens, at, chosen)
    return RelationAsked(relation, tuple(subject.text for subject in chosen), said)


def _by_subject(
    relation: Relation, cue: Cue, tokens: Sequence[Token], at: int, chosen: Sequence[Subject]
) -> Relation:
    """Return the relation that fits what it is asked of: a file is imported, a symbol is referred to."""
    if len(chosen) != 1 or relation not in {"importers", "references"}:
        return relation
    subject = chosen[0]
    path = tokens[subject.at].kind == "path"
    if relation == "references":
        return "importers" if path and not cue.surely else relation
    near = {form_at(tokens, subject.at - 1), form_at(tokens, subject.at + 1)}
    module = path or near & MODULES or not compiled(_SYMBOL).search(subject.text)
    return relation if module or tokens[at].form not in DEPENDING else "references"


_MEASURES = words("many often much widely heavily commonly frequently risky safe dangerous far")
"""What follows `how` in a question for a number or an extent, which the graph answers."""

_TELLS = r"(?i)\.(?:md|rst|adoc|txt|ya?ml|json5?|toml|ini|cfg|conf|env|properties|csv|log)$"
_CALLABLE = words("function functions method methods helper helpers routine routines")
_DATA = r"(?i)\.(?:ya?ml|json5?|toml|ini|cfg|conf|env|properties|csv|tsv|txt|lock|log)$"
_SYMBOL = r"[A-Z(_#]|::"
"""What the name of a module seldom has."""

_OF_CODE = words("callers callees importers subclasses definition")
_WHAT_HAPPENS = ("what happens", "what would happen", "what will happen", "what is going on")
_TRANSITIVE = words("transitive transitively indirect indirectly recursive recursively downstream")
