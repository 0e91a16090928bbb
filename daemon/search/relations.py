"""Owns the decision which relation of the code graph a clause asks for, and of what."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ..core.vocabulary import words
from .clauses import Clause, Token, clause_of
from .patterns import compiled
from .query import Relation
from .question_words import ADVERBS, ASKING, AUXILIARY, KINDS, LOOKING, MODULES, WHY_HOW
from .relation_cues import CUES, DEPENDING, NO_SUBJECT, Cue
from .relation_phrases import (
    WHERE,
    RelationAsked,
    asks_for_tests,
    depth_of,
    find_alone,
    find_connection,
    find_impact,
    find_location,
    find_outline,
    find_phrase,
    find_tests,
)
from .relation_subjects import (
    PLACING,
    Subject,
    form_at,
    is_filler,
    is_named,
    subject_before,
    subject_behind,
    sure_names,
)


def direction_of(
    cue: Cue, tokens: Sequence[Token], at: int, before: Subject | None, behind: Subject | None
) -> Relation | None:
    """Return which relation a cue asks for, by the side on which its subject stands."""
    following, previous = form_at(tokens, at + 1), form_at(tokens, at - 1)
    # `is set`, `gets read`, but not `is derived from`, `are based on`.
    suffers = at > 1 and previous in _BEING and not tokens[at].form.endswith(("ing", "ed", "-on"))
    if tokens[at].form in {"call", "calls"} and behind and _OUTWARD & {token.form for token in tokens[:at]}:
        return cue.outgoing
    if cue.voice == "noun" and not (tokens[at].form == "tests" and previous in {"who", "what"}):
        return _noun(cue, tokens, at, before, behind)
    if behind and tokens[at].form.endswith("ing") and (following in KINDS or following in CUES):
        return cue.incoming  # `overriding methods of X`
    had = following in DOES and tokens[-1].form in HAVING
    if tokens[at].form in NOUN_TOO and following in _OF and behind and (had or is_noun(tokens, at)):
        if following in DOES and tokens[-1].form == "make":
            return cue.outgoing  # `which calls does X make`
        if following == "from" and not behind.sure:
            return None  # `import from csv`
        if cue.incoming == "callers" and following in _OUT_OF:
            return cue.outgoing  # `calls made by X`
        return _AS_NOUN.get(cue.incoming, cue.incoming)
    if cue.voice == "passive" or suffers:
        return _passive(cue, tokens, at, before, behind)
    return _active(cue, tokens, at, before, behind)


def _noun(
    cue: Cue, tokens: Sequence[Token], at: int, before: Subject | None, behind: Subject | None
) -> Relation | None:
    """Take `callers of X`, `X usages`, `how many subclasses does X have`."""
    following = form_at(tokens, at + 1)
    if before and cue.outgoing and following in _OF and form_at(tokens, at - 1) in _A:
        last = at + 2 == len(tokens) or tokens[at + 2].kind == "mark"
        both = behind and behind.sure and before.sure and tokens[0].form in AUXILIARY
        if last or both:  # `what is X a subclass of`, `is X a subclass of Y`
            return cue.outgoing
    if before and cue.outgoing and any(form_at(tokens, at - step) == "as" for step in (1, 2, 3)):
        return cue.outgoing  # `which classes have X as their base`
    if behind:
        alone = behind.at == len(tokens) - 1 and cue.incoming != "tests"
        adjacent = behind.at == at + 1 and (behind.sure or alone)
        linked = following in _OF or (behind.sure and (following in _LINKS or following in KINDS))
        linked = linked or any(form_at(tokens, index) in _GENITIVE for index in range(at + 1, behind.at))
        if adjacent or linked or following in DOES | _HAVE:
            return cue.incoming
    has = before and (before.at == at - 1 or any(token.form in _HAVE for token in tokens[:at]))
    return cue.incoming if has else None


def _active(
    cue: Cue, tokens: Sequence[Token], at: int, before: Subject | None, behind: Subject | None
) -> Relation | None:
    """Tell `what calls X` from `what does X call` and `does X call Y`."""
    following = form_at(tokens, at + 1)
    earlier = {token.form for token in tokens[:at]}
    plain = behind is not None and not behind.sure
    if plain and (following in _NOT_OBJECT or earlier & {"does", "do", "did"}):
        behind = None
    if before and at == 1 == len(tokens) - 1 and tokens[at].form in NOUN_TOO:
        return cue.incoming  # a fragment: `X references`
    if tokens[0].form in _WHEN:
        return None
    if cue.incoming == "definition" and following in BY and behind and behind.sure:
        return cue.outgoing  # `what do we export from a.ts`
    if before and behind and before.sure and behind.sure and tokens[0].form in AUXILIARY:
        calls = cue.incoming in {"callers", "references"} or tokens[at].form in DEPENDING
        return "connection" if calls else cue.outgoing or cue.incoming
    if behind:
        return cue.incoming
    if before and cue.incoming == "references":  # what X uses is an edge only if it is code
        kinds = {token.form for token in tokens} if not cue.surely else set()
        if before.sure and kinds & MODULES:
            return "imports"
        return "callees" if kinds & KINDS else None
    return cue.outgoing if before else None


def _passive(
    cue: Cue, tokens: Sequence[Token], at: int, before: Subject | None, behind: Subject | None
) -> Relation | None:
    """Tell `where is X used` from `functions called by X`."""
    following = form_at(tokens, at + 1)
    if following in _PURPOSE:
        return None  # `what is X used for`
    if tokens[at].form in _PRESENT_TOO and any(token.form in DOES for token in tokens[:at]):
        return None  # `where does X read the settings`
    somewhere = any(token.form in WHERE for token in tokens[:at])
    if cue.incoming == "implementations" and somewhere:
        return None  # `where is X implemented` asks for a behaviour
    if before:
        return cue.incoming
    if behind and following in BY and (cue.incoming != "references" or _lists_code(tokens, behind)):
        return cue.outgoing
    # `who read X`: some forms are active as well.
    agent = tokens[0].form in _WHO and behind is not None
    # `which places read X`: so are some in the plural.
    agent = agent or (at == 2 and behind is not None and behind.at == at + 1 and behind.sure)
    placed = behind is not None and form_at(tokens, behind.at - 1) in PLACING
    return cue.incoming if agent or (behind and somewhere and not placed) else None


def is_noun(tokens: Sequence[Token], at: int) -> bool:
    """Whether a verb's form that may be a noun stands where only a noun does: `all uses of X`."""
    before = form_at(tokens, at - 1)
    acts = before in _BEFORE_VERB or (at > 0 and is_named(tokens[at - 1]))
    return not acts


def _lists_code(tokens: Sequence[Token], behind: Subject) -> bool:
    """Whether what is used by something is code: `functions used in f`, but not `colours used in f`."""
    return behind.sure and any(token.form in KINDS for token in tokens[: behind.at])


_AS_NOUN: dict[Relation, Relation] = {"importers": "imports", "definition": "outline"}
_OF = words("of in for by from does do :")
_GENITIVE = words("of to for")
_LINKS = (
    _OF
    | AUXILIARY
    | words(
        """
    to on around against covering defined there exist we coverage graph tree list hierarchy chain ?
    """
    )
    | words("related relating belonging concerning regarding")
)
BY = words("by from in inside within")
_HAVE = words("have has")
_BEING = words("get gets getting got be is are was were being been")
_OUTWARD = words("outgoing downstream")
_OUT_OF = words("from by in inside within")
_A = words("a an")
_ACTORS = words(
    """
    that which who i we you they anything anyone anybody something someone somebody everything everyone
    everybody nothing nobody one it still also ever never to
    """
)
"""What acts, or stands only before a verb."""

_BEFORE_VERB = ASKING | KINDS | AUXILIARY | _ACTORS

_NOT_OBJECT = words("for with about out by at of as up home")
_PURPOSE = words("for to as")
_WHO = words("who")
_WHEN = words("when")
NOUN_TOO = words(
    """
    tests imports includes calls call references uses exports requires extends overrides import mention
    reads writes accesses
    """
)
"""Verbs' forms that are nouns as well."""
DOES = words("do does did")
HAVING = words("have make contain need")
_PRESENT_TOO = words("read")


def asks_by_cue(cue: Cue, tokens: Sequence[Token], at: int, *, asks: bool) -> bool:
    """Whether the word at a place asks for its relation. `asks` says that the clause asks for anything."""
    if not (asks or _is_fragment(cue, tokens, at)) or _is_subject(tokens, at):
        return False
    if is_verb(cue, tokens[at]) and (_asks_advice(tokens[:at]) or _is_aim(tokens, at)):
        return False
    # `is f called twice` asks for a behaviour
    yes_or_no = cue.voice == "passive" and tokens[0].form in AUXILIARY
    return not (yes_or_no and _says_when(form_at(tokens, at + 1)))


def is_verb(cue: Cue, token: Token) -> bool:
    """Whether a cue is something that is done: `calls`, also `test`, which is listed as a noun."""
    return cue.voice == "active" or token.form == "test"


def is_loose(tokens: Sequence[Token], at: int) -> bool:
    """Whether a participle stands where plain words follow that name nothing: `a cache using memory`."""
    acting = form_at(tokens, at - 1) in AUXILIARY and tokens[0].form in ASKING
    return tokens[at].form.endswith("ing") and _head(tokens) not in _HEADS and not acting


def may_be_verb(tokens: Sequence[Token], at: int) -> bool:
    """Whether a plain word may be a verb's object by what is before: `who calls f`, not `the call stack`."""
    return not at or not is_noun(tokens, at) or form_at(tokens, at - 1) in ADVERBS


def says_something(tokens: Sequence[Token]) -> bool:
    """Whether more is said before a fact of the whole graph: `does the linter report unused imports`."""
    plain = (token for token in tokens if token.kind in {"word", "quote"} and token.form not in _SEEKING)
    return any(token.form not in _ASKED_FOR and not is_filler(token) for token in plain)


def _asks_advice(tokens: Sequence[Token]) -> bool:
    """Whether a question is what one may do: `should I use X or Y`."""
    return any(
        first.form in _MODALS and following.form in {"i", "we", "you", "one"}
        for first, following in pairwise(tokens)
    )


def _is_aim(tokens: Sequence[Token], at: int) -> bool:
    """Whether a verb says what somebody is to do: `is it safe to call f`, `what is wrong with calling f`."""
    before = form_at(tokens, at - 1)
    if tokens[at].form.endswith("ing"):
        return before in _BEFORE_GERUND and form_at(tokens, at - 2) != "responsible"
    return before == "to" and form_at(tokens, at - 2) not in _HAPPENS


def _says_when(word: str) -> bool:
    """Whether a word says when or in which way something is done, behind `is f called`."""
    return word in _WHEN_DONE or (word.endswith("ly") and word not in ADVERBS)


def _is_fragment(cue: Cue, tokens: Sequence[Token], at: int) -> bool:
    """Whether a word is what a fragment is about: `transitive callers of f`, `code that calls f`."""
    form, last = tokens[at].form, at == len(tokens) - 1
    if form in NOUN_TOO and at and tokens[at - 1].kind == "name" and not last:
        return False  # `f calls g twice` states something
    if form.endswith("ing") and not at and form_at(tokens, 1) in KINDS:
        return True  # `overriding methods of f`
    participle = form.endswith("ing") or (cue.voice == "passive" and form_at(tokens, at + 1) in BY)
    if participle and 0 < at < 6 and _head(tokens) in KINDS:
        return True  # `functions calling f`
    if _has_relative(tokens[:at]):
        return True
    if form in NOUN_TOO:  # `the report uses f` states something as well
        return last or all(map(is_filler, tokens[:at]))
    return cue.voice == "noun" and (at <= 4 or last)


def _has_relative(tokens: Sequence[Token]) -> bool:
    """Whether a fragment begins like `everything that`, `all spots which`."""
    if not tokens:
        return False
    head = _head(tokens)
    relative = any(token.form in _RELATIVE for token in tokens[-MAX_RELATIVE:])
    return tokens[0].form in _ALL_THAT or (
        relative and (head in KINDS or (tokens[-1].form in _RELATIVE and len(tokens) < 6))
    )


def _head(tokens: Sequence[Token]) -> str:
    """Return the form of the first word that says something: `structs` in `list of all the structs`."""
    return next((token.form for token in tokens if not is_filler(token) and token.form not in _LISTS), "")


def _is_subject(tokens: Sequence[Token], at: int) -> bool:
    """Whether a word that may be a verb is a noun of its own: `what imports are allowed`."""
    following = form_at(tokens, at + 1)
    if following in DOES and tokens[-1].form in HAVING:
        return False  # `which imports does a.py have`
    return tokens[at].form in NOUN_TOO and following in AUXILIARY


MAX_RELATIVE = 5
"""So far before a verb its relative pronoun may stand: `places where X is still called`."""

_MODALS = words("should can could may must shall")
_RELATIVE = words("that which who where")
_LISTS = words("list lists overview set number count need want")
_ASKED_FOR = KINDS | ASKING | LOOKING | _LISTS
_ALL_THAT = words("everything anything all whatever whoever code")
_HEADS = KINDS | _ALL_THAT
_SEEKING = words("anything something left")
_BEFORE_GERUND = words(
    """
    with of for by about before after without when while from against despite to
    """
)
_HAPPENS = words("happen happens seem seems continue continues")
_WHEN_DONE = words(
    """
    twice once when while if before after during on with without for as per until every whenever again too
    """
)


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
        or find_tests(clause, asks=asks)
        or find_phrase(clause)
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
