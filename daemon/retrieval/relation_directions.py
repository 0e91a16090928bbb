"""Owns which way a word for a relation points: from what is asked about, or to it."""

from __future__ import annotations

from collections.abc import Sequence

from .asking_words import ASKING, AUXILIARY
from .clauses import Token
from .code_words import KINDS
from .relation_cues import Cue, Relation
from .relation_phrases import WHERE
from .relation_subjects import PLACING, Subject, form_at
from .vocabulary import words


def direction_of(
    cue: Cue, tokens: Sequence[Token], at: int, before: Subject | None, behind: Subject | None
) -> Relation | None:
    """Return which relation a cue asks for, by the side on which its subject stands."""
    following, previous = form_at(tokens, at + 1), form_at(tokens, at - 1)
    suffers = at > 1 and previous in _BEING and not tokens[at].form.endswith("ing")
    if cue.voice == "noun" and not (tokens[at].form == "tests" and previous in {"who", "what"}):
        return _noun(cue, tokens, at, before, behind)
    if behind and tokens[at].form.endswith("ing") and following in KINDS:
        return cue.incoming  # `overriding methods of X`
    if tokens[at].form in NOUN_TOO and following in _OF and behind and previous not in ASKING:
        return _AS_NOUN.get(cue.incoming, cue.incoming)
    if cue.voice == "passive" or suffers:  # `is set`, `gets read`
        return _passive(cue, tokens, at, before, behind)
    return _active(cue, tokens, at, before, behind)


def _noun(
    cue: Cue, tokens: Sequence[Token], at: int, before: Subject | None, behind: Subject | None
) -> Relation | None:
    """Take `callers of X`, `X usages`, `how many subclasses does X have`."""
    following = form_at(tokens, at + 1)
    if behind:
        adjacent = behind.at == at + 1 and (behind.sure or cue.incoming != "tests")
        linked = following in _OF or (behind.sure and (following in _LINKS or following in KINDS))
        if adjacent or linked or following in {"does", "do"}:
            return cue.incoming
    has = before and (before.at == at - 1 or any(token.form in _HAVE for token in tokens[:at]))
    return cue.incoming if has else None


def _active(
    cue: Cue, tokens: Sequence[Token], at: int, before: Subject | None, behind: Subject | None
) -> Relation | None:
    """Tell `what calls X` from `what does X call` and `does X call Y`."""
    earlier = {token.form for token in tokens[:at]}
    plain = behind is not None and not behind.sure
    if plain and (form_at(tokens, at + 1) in _NOT_OBJECT or earlier & {"does", "do", "did"}):
        behind = None
    if before and at == 1 == len(tokens) - 1 and tokens[at].form in NOUN_TOO:
        return cue.incoming  # a fragment: `X references`
    if tokens[0].form in _WHEN:
        return None
    if "outgoing" in earlier and behind:
        return cue.outgoing
    if before and behind and before.sure and behind.sure and tokens[0].form in AUXILIARY:
        calls = cue.incoming in {"callers", "references"}
        return "connection" if calls else cue.outgoing or cue.incoming
    if behind:
        return cue.incoming
    if before and cue.incoming == "references":  # what X uses is an edge only if it is code
        return "callees" if any(token.form in KINDS for token in tokens) else None
    return cue.outgoing if before else None


def _passive(
    cue: Cue, tokens: Sequence[Token], at: int, before: Subject | None, behind: Subject | None
) -> Relation | None:
    """Tell `where is X used` from `functions called by X`."""
    following = form_at(tokens, at + 1)
    if following in _PURPOSE:
        return None  # `what is X used for`
    if tokens[at].form in _PRESENT_TOO and any(token.form in _DOES for token in tokens[:at]):
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


def _lists_code(tokens: Sequence[Token], behind: Subject) -> bool:
    """Whether what is used by something is code: `functions used in f`, but not `colours used in f`."""
    return behind.sure and any(token.form in KINDS for token in tokens[: behind.at])


_AS_NOUN: dict[Relation, Relation] = {"importers": "imports", "definition": "outline"}
_OF = words("of in for by from does do de des du di da von :")
_LINKS = (
    _OF
    | AUXILIARY
    | words("to on around against covering defined there exist we coverage graph tree list hierarchy chain ?")
    | words("related relating belonging concerning regarding")
    | words("über auf des der sur sobre su")
)
BY = words("by from in inside within von durch par por da в")
_HAVE = words("have has hat haben a ont tiene tienen tem têm ha hanno")
_BEING = words("get gets getting got be is are was were being been")
_NOT_OBJECT = words("for with about out by at of as up home")
_PURPOSE = words("for to as für pour para per")
_WHO = words("who wer was qui quién quem chi кто")
_WHEN = words("when wann quand cuándo cuando quando когда")
NOUN_TOO = words(
    "tests imports includes calls call references uses exports requires extends overrides import"
)
"""Verbs' forms that are nouns as well."""
_DOES = words("do does did")
_PRESENT_TOO = words("read")
