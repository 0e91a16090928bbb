"""Owns which way a word for a relation points: from what is asked about, or to it."""

from __future__ import annotations

from collections.abc import Sequence

from ..project.vocabulary import words
from .asking_words import ASKING, AUXILIARY
from .clauses import Token
from .code_words import KINDS, MODULES
from .relation_cues import CUES, DEPENDING, Cue
from .relation_phrases import WHERE
from .relation_subjects import PLACING, Subject, form_at, is_named
from .routes import Relation


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
    # `wer benutzt X`: some forms are active as well.
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
