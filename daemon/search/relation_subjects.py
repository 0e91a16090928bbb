"""Owns what a relation is asked of: the name that stands before or behind the word for the relation."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ..core.vocabulary import words
from .clauses import Token
from .patterns import compiled
from .question_words import ADVERBS, ASKING, AUXILIARY, KINDS, LOOKING, PARTS, STOP_WORDS, is_change
from .relation_cues import CUES

REACH = 8
"""Maximum number of words between a cue and its subject: `depends, directly or indirectly, on X`."""


class Subject(Struct, frozen=True):
    """A token that a relation may be asked of.

    `sure` is an identifier, a path, or what stands for one; a plain word is none by itself. `kinded` says
    that a word for a kind stands next to it: `the login function`.
    """

    at: int
    text: str
    sure: bool
    kinded: bool = False


def subject_behind(tokens: Sequence[Token], at: int, *, pronouns: bool) -> Subject | None:
    """Return the subject behind a cue: a sure name after a few function words, or one plain word.

    A plain word is a name with a kind next to it, or alone where the clause or a place follows: `who calls
    login in src`, not `who calls the payment provider`. With `pronouns` what stands for something named
    before counts as sure: `it`, `the function below`.
    """
    determined = kind = False
    for index in range(at + 1, min(at + 1 + REACH, len(tokens))):
        token = tokens[index]
        following = form_at(tokens, index + 1)
        if is_named(token):
            return Subject(index, token.text, sure=True)
        if token.form in _CONJUNCTIONS:
            return None
        if pronouns and _refers_back(token, determined, following):
            return Subject(index, token.text, sure=True)
        if token.form in KINDS:
            kind = True
        elif token.form in DETERMINERS:
            determined = True
        elif not is_filler(token) and not _is_part(tokens, index) and not _says_kind(tokens, index):
            kinded = kind or following in KINDS
            alone = not determined and (not following or following in _BOUNDARY)
            surely = (determined and following in KINDS) or (index == at + 1 == len(tokens) - 1)
            named = may_be_name(token, surely=surely) and (kinded or alone)
            return Subject(index, token.text, sure=False, kinded=kinded) if named else None
    return None


def subject_before(tokens: Sequence[Token], at: int, *, pronouns: bool) -> Subject | None:
    """Return the subject before a cue: a sure name, or one plain word behind an auxiliary (`is login …`)."""
    kind = False
    for index in range(at - 1, max(at - 1 - REACH, -1), -1):
        token = tokens[index]
        before = form_at(tokens, index - 1)
        if is_named(token):
            # In `does anything under web import X` the name before is a place.
            placed = before in PLACING and index > 1 and tokens[0].form not in PLACING
            placed = placed and not (before == "of" and form_at(tokens, index - 2) in PARTS)
            return None if placed else Subject(index, token.text, sure=True)
        if pronouns and (token.form in PRONOUNS or (token.form in KINDS and before in DETERMINERS)):
            return Subject(index, token.text, sure=True)
        if token.form in KINDS:
            kind = True
        elif token.form in ASKING or (token.form in LOOKING and not index):
            return None
        elif not is_filler(token):
            kinded = kind or before in KINDS
            alone = before in AUXILIARY or (index == 0 and at == len(tokens) - 1)
            named = may_be_name(token) and (kinded or alone)
            return Subject(index, token.text, sure=False, kinded=kinded) if named else None
    return None


def form_at(tokens: Sequence[Token], at: int) -> str:
    """Return the form of a token, empty outside of the clause."""
    return tokens[at].form if 0 <= at < len(tokens) else ""


def is_named(token: Token) -> bool:
    """Whether a token is an identifier or a path."""
    return token.kind in {"name", "path"}


def sure_names(tokens: Sequence[Token]) -> tuple[str, ...]:
    """Return the identifiers and paths among tokens, as written."""
    return tuple(token.text for token in tokens if is_named(token))


def bare_name(written: str) -> str:
    """Return the name in a subject as written: `f` of `def f`, `Avatar` of `<Avatar>`, `T` of `struct T`."""
    inner = compiled(_DECLARED).fullmatch(written) or compiled(_ELEMENT).fullmatch(written)
    return inner["name"] if inner else written


def is_filler(token: Token) -> bool:
    """Whether a token says nothing of what is asked for: function words, adverbs, marks, `renaming`."""
    return token.kind == "mark" or token.form in _FILLERS or bool(is_change(token.form))


def may_be_name(token: Token, *, surely: bool = False) -> bool:
    """Whether a plain word could be a name by its place.

    `surely` says that it hardly is anything else, `the draw method`, `who calls render`: there it may be a
    word that usually says what is asked for, unless that is a plural.
    """
    known = token.form in STOP_WORDS or token.form in _NO_NAMES
    tells = token.form in CUES or token.form in LOOKING
    known = known or (tells and not (surely and not token.form.endswith("s")))
    return token.kind in {"word", "quote"} and not known and not token.form[0].isdigit()


def _is_part(tokens: Sequence[Token], at: int) -> bool:
    """Whether a word names a part of what follows: `the return value of f`, `new instances of C`."""
    return tokens[at].form in PARTS and any(form_at(tokens, at + step) in _OF_WHOLE for step in (1, 2, 3))


def _says_kind(tokens: Sequence[Token], at: int) -> bool:
    """Whether a word only says of what kind the name is: `the environment variable HOME`."""
    return form_at(tokens, at + 1) in KINDS and any(map(is_named, tokens[at + 2 : at + 3]))


def _refers_back(token: Token, determined: bool, following: str) -> bool:
    """Whether a token stands for what was named before: `it`, `the function below`, `that class`."""
    if token.form in PRONOUNS:
        return not following or following in _BOUNDARY
    return token.form in KINDS and determined and (not following or following in _NEARBY)


DETERMINERS = words(
    """
    the a an our my your this that these those its his her their any some each every another much many
    most more less enough which what
    """
)
PLACING = words("in inside within under below outside of across")
"""Prepositions before a place."""

_BOUNDARY = words(
    """
    , : ( in inside within from under across anywhere somewhere directly indirectly recursively
    transitively and or to up here please at with there now currently right by elsewhere around throughout
    thanks during before after outside for first internally already have has
    """
)
_OF_WHOLE = words("of in to for on do")
_NEARBY = _BOUNDARY | words("below above here call calls use do")
_CONJUNCTIONS = words("if when because while than whether why how where instead")
_FILLERS = (
    STOP_WORDS
    | PLACING
    | ADVERBS
    | AUXILIARY
    | words(
        """
    of to for on from in into by with at : ? , one depth level tree graph chain hierarchy related relating
    belonging concerning regarding public new coverage
    """
    )
) - words("if when because while")
PRONOUNS = words("it them this that these those they")
_NO_NAMES = words(
    """
    anything everything something someone nobody nothing code stuff things thing way ways time times
    difference purpose reason idea problem issue bug error errors rest kind kinds sort each other twice
    once
    """
)
_DECLARED = (
    r"(?:(?:export|default|async|public|private|protected|static|abstract|final|pub|def|fn|func|fun|function"
    r"|class|struct|enum|interface|trait|type|union|record|const|let|var|val|object|module|namespace"
    r"|package|import|from) ){1,4}(?P<name>[^\s(){};:=]{1,200})(?:[(){};:=].{0,400})?"
)
_ELEMENT = r"</?(?P<name>[\w.:-]{1,200}) ?/?>"
"""As declarations and elements of a page are written between backticks."""
