"""The clauses of a question: its sentences as tokens, in a form that patterns can match."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import islice
from typing import Literal

from msgspec import Struct

from ..core.vocabulary import words
from .mentions import TITLE_CASE, certainty_of, read_path
from .patterns import compiled
from .question_words import (
    ADVERBS,
    ASKING,
    AUXILIARY,
    CHANGING,
    KINDS,
    LOOKING,
    PARTS,
    PLURAL_KINDS,
    STOP_WORDS,
    TELLING,
    is_breakage,
    is_change,
    is_connection,
)
from .relation_cues import CUES

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@lru_cache(4_096)
def correct(word: str) -> str:
    """Correct one typing error in a word in lower case; return the word itself if no correction is known.

    A typing error is a pair of swapped letters, a missing or extra letter, or, in words of at least six
    letters, a wrong letter. A short word is too likely to be another correct word.
    """
    if (
        not 3 <= len(word) <= 14
        or word in _VOCABULARY
        or _is_right(word)
        or not (word.isascii() and word.isalpha())
    ):
        return word
    found = [candidate for candidate in _slips(word) if candidate in _VOCABULARY]
    return next((candidate for candidate in found if candidate[0] == word[0]), found[0] if found else word)


def is_known(word: str) -> bool:
    """Whether a word in lower case belongs to the vocabulary of questions (`_VOCABULARY`)."""
    return word in _VOCABULARY


def _is_right(word: str) -> bool:
    """Whether a word is correct as it is: `ever` isn't corrected to `never`, nor `required` to `require`."""
    return word in _right_words() or is_change(word) or is_breakage(word) or is_connection(word)


@cache
def _right_words() -> frozenset[str]:
    """Return the words of all tables, and common words that are similar to one of these."""
    told = ASKING | AUXILIARY | CHANGING | LOOKING | TELLING | ADVERBS | KINDS | PARTS | PLURAL_KINDS
    return _RIGHT | STOP_WORDS | told | frozenset(word for cue in CUES for word in cue.split("-"))


def _slips(word: str) -> Iterator[str]:
    cuts = range(len(word))
    for at in range(len(word) - 1):
        yield word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    if len(word) >= 5:  # one letter too many
        yield from (word[:at] + word[at + 1 :] for at in cuts)
    if len(word) >= 4:  # one letter missing
        yield from (word[:at] + letter + word[at:] for at in range(len(word) + 1) for letter in _LETTERS)
    if len(word) >= 6:
        yield from (word[:at] + letter + word[at + 1 :] for at in cuts[1:] for letter in _LETTERS)


_VOCABULARY = words(
    """
    what which where when who whose why how does the and from that this is are can should would could call
    calls called caller callers calling callees invoke invokes invoked invoking use uses used using usage
    usages reference references referenced import imports imported importing importers include includes
    require requires depend depends dependents dependencies dependency extend extends inherit inherits
    inherited subclass subclasses superclass parent implement implements implemented implementations
    implementers override overrides overridden define defines defined definition definitions declare
    declared declaration export exports exported find show list locate search explain describe function
    functions method methods class classes module modules file files folder folders directory section
    chapter interface tests test tested covers breaks change changing rename remove impact affected unused
    never outline members symbols signature between connect connected path
    """
)
_RIGHT = words(
    """
    buses calmed cass chance chang chanting chapters charge charter chatter clashes classed clauses cold
    couldn cover covert culled culling declares defend defends defied dependence described describes
    director directors doesn domes dose doses expends expert experts explains exporter extent extents
    filed filer filers finds flies folded form hanging here hose included lass lists locale modulus
    older outlined outlines overs patch patent pathe preference preferences rae remote sage shouldn
    shown shows sing sued users were wheat whee wouldn
    """
)
"""Common correct words that differ by one typing error from a word above and are in no other table."""


MAX_CHARACTERS = 16_000
"""Maximum characters of prose that are read. Of longer prose the beginning and the end are read, half of this
each, because the question is usually there."""

MAX_CLAUSES = 60
MAX_TOKENS = 80
"""Maximum number of clauses, the first and the last ones, and maximum number of tokens in a clause. They
bound the time for matching patterns."""

TokenKind = Literal["word", "name", "path", "quote", "filter", "mark"]

FORMS: dict[TokenKind, str] = {"name": "N", "path": "P", "quote": "Q", "filter": "F"}
"""Capital letters that replace tokens in the form of a clause, by kind of token; all other text is in lower
case."""


class Token(Struct, frozen=True):
    """A word, an identifier, a path or glob, a quotation, a filter (`path:src`), or a punctuation mark."""

    kind: TokenKind
    text: str
    form: str


class Clause(Struct, frozen=True):
    """A sentence, or a part of a sentence that is a question by itself.

    `form` has the tokens with single spaces between them: words in lower case with typing errors corrected,
    and a capital letter for each name, path, quotation and filter (`FORMS`). `offsets` are the positions of
    the tokens in `form`. `asks` says that the clause ends with a question mark.
    """

    tokens: tuple[Token, ...]
    form: str
    offsets: tuple[int, ...]
    asks: bool

    def since(self, at: int) -> Clause:
        """Return the clause from a token on, empty if there is none."""
        if at >= len(self.tokens):
            return Clause((), "", (), False)
        start = self.offsets[at]
        offsets = tuple(offset - start for offset in self.offsets[at:])
        return Clause(self.tokens[at:], self.form[start:], offsets, self.asks)

    def within(self, start: int, end: int) -> tuple[Token, ...]:
        """Return the tokens in a span of the form."""
        pairs = zip(self.offsets, self.tokens, strict=True)
        return tuple(token for offset, token in pairs if start <= offset < end)

    def said(self, start: int, end: int) -> str:
        """Return the original text of a span of the form."""
        return " ".join(token.text for token in self.within(start, end))


def split_clauses(text: str) -> tuple[Clause, ...]:
    """Return the clauses of prose, in order. Takes time linear in the text."""
    if len(text) > MAX_CHARACTERS:
        text = f"{text[: MAX_CHARACTERS // 2]}\n{text[-MAX_CHARACTERS // 2 :]}"
    clauses = [
        clause for run, asks in _joined(list(_runs(_tokens(text)))) if (clause := clause_of(run, asks)).tokens
    ]
    if len(clauses) > MAX_CLAUSES:
        clauses = clauses[: MAX_CLAUSES // 2] + clauses[-MAX_CLAUSES // 2 :]
    return tuple(clauses)


def clause_of(tokens: Sequence[Token], asks: bool) -> Clause:
    """Return the clause of some tokens, cut to `MAX_TOKENS`."""
    tokens = tokens[:MAX_TOKENS]
    offsets: list[int] = []
    position = 0
    for token in tokens:
        offsets.append(position)
        position += len(token.form) + 1
    return Clause(tuple(tokens), " ".join(token.form for token in tokens), tuple(offsets), asks)


def _runs(tokens: Sequence[Token]) -> Iterator[tuple[list[Token], bool]]:
    """Split tokens at the ends of sentences and before a second question: `…, and why does it …`.

    Each part comes with whether it is a question. Dashes between words are removed.
    """
    run: list[Token] = []
    for at, token in enumerate(tokens):
        if token.kind == "mark" and token.form in _ENDS:
            if run:
                yield run, token.form == "?"
            run = []
        elif (
            (token.form in _AND_OR_DASH or (token.form == "," and run and run[0].form in _FIRST_PERSON))
            and len(run) > 1
            and _opens_question(tokens[at + 1 : at + 3], run[0])
        ):
            yield run, token.form != "," and run[0].form not in _FIRST_PERSON
            run = []
        elif token.form != DASH:
            run.append(token)
    if run:
        yield run, False


def _opens_question(tokens: Sequence[Token], first: Token) -> bool:
    """Whether tokens begin like a second question: `why …`, `explain how …`, or `list …` after a question."""
    if first.form in _SECOND_QUESTION | _EXPLAIN and tokens and tokens[0].form in _SHOW:
        return True
    if tokens and tokens[0].form in _EXPLAIN:
        tokens = tokens[1:]
    return bool(tokens) and tokens[0].form in _SECOND_QUESTION


def _joined(runs: list[tuple[list[Token], bool]]) -> Iterator[tuple[list[Token], bool]]:
    """Join one or two words with names after a punctuation mark, as in `callers? cache.evict`."""
    at = 0
    while at < len(runs):
        run, asks = runs[at]
        if at + 1 < len(runs) and len(run) < 3 and all(token.kind == "word" for token in run):
            following, asks_too = runs[at + 1]
            if all(token.kind in {"name", "path"} for token in following):
                run, asks, at = [*run, *following], asks or asks_too, at + 1
        yield run, asks
        at += 1


def _tokens(text: str) -> list[Token]:
    text = text.replace("\u2019", "'")
    tokens: list[Token] = []
    for match in compiled(_SCAN).finditer(text):
        kind = match.lastgroup
        if kind == "tick":
            tokens.append(_name_or_path(match["tick"].strip()))
        elif kind == "filter":
            tokens.append(Token("filter", match[0], FORMS["filter"]))
        elif kind == "line":
            tokens.append(Token("mark", "\n", "."))
        elif kind == "generic":
            tokens.append(Token("name", match["generic"], FORMS["name"]))
        elif kind == "dash":
            tokens.append(Token("mark", match[0], DASH))
        elif kind == "chunk":
            tokens.extend(_words(match["chunk"], first=_is_first(tokens)))
        else:
            inner = next(filter(None, match.groups()))
            surely = certainty_of(inner) > 0 or read_path(inner, loosely=True)
            tokens.append(_name_or_path(inner) if surely else Token("quote", inner, FORMS["quote"]))
    return tokens


def _is_first(tokens: Sequence[Token]) -> bool:
    return not tokens or (tokens[-1].kind == "mark" and tokens[-1].form in {".", "?", "!", ":"})


def _name_or_path(text: str) -> Token:
    path = read_path(text) is not None or ("/" in text and read_path(text, loosely=True) is not None)
    return Token("path", text, FORMS["path"]) if path else Token("name", text, FORMS["name"])


def _words(chunk: str, *, first: bool) -> Iterator[Token]:
    """Yield the tokens of a piece of text without spaces."""
    if not chunk.isascii() and (parts := compiled(_CJK_OR_NOT).findall(chunk))[1:]:
        for part in parts:
            yield from _words(part, first=False)
        return
    if compiled(_INCLUDED).fullmatch(chunk):
        chunk = chunk.replace("<", "").replace(">", "")
    head = compiled(_OPENING).match(chunk)
    if head:
        chunk = chunk[head.end() :]
    tail = compiled(_CLOSING).search(chunk)
    marks = chunk[tail.start() :] if tail else ""
    bare = chunk[: tail.start()] if tail else chunk
    if bare.endswith(")") and bare.count("(") < bare.count(")"):
        bare = bare.rstrip(")")
    possessive = bare.endswith("'s") and bare.lower() not in _SHORT_FORMS
    if bare:
        yield from _bare(bare[:-2] if possessive else bare, first=first)
    for mark in dict.fromkeys(_MARK_FORMS.get(mark, mark) for mark in marks if mark in _MARKS):
        yield Token("mark", mark, mark)


def _bare(word: str, *, first: bool) -> Iterator[Token]:
    lower = word.lower()
    if lower in _SHORT_FORMS:
        for form in _SHORT_FORMS[lower].split():
            yield Token("word", form, form)
    elif (lower in STOP_WORDS and len(word) > 1) or compiled(_LINES).fullmatch(word):
        yield Token("word", word, lower)
    elif read_path(word) or ("/" in word and read_path(word, loosely=True)):
        yield Token("path", word, FORMS["path"])
    elif _is_name(word, first=first):
        yield Token("name", word, FORMS["name"])
    else:
        for part in islice(compiled(_PART).findall(word), 40):
            if part[0].isalnum():
                form = correct(part.lower())
                yield Token("word", part, form)
            elif part in _MARKS:
                yield Token("mark", part, _MARK_FORMS.get(part, part))


def _is_name(word: str, *, first: bool) -> bool:
    if correct(word.lower()) in STOP_WORDS or word.lower().startswith(_NO_NAMES):
        return False
    if certainty_of(word) > TITLE_CASE or compiled(_NAME_SHAPES).fullmatch(word):
        return True
    # A capitalized word within a sentence is a name.
    return not first and bool(compiled(_TITLE).fullmatch(word)) and not is_known(correct(word.lower()))


_SCAN = (
    r"`{1,2}(?P<tick>[^`\n]{1,6000})`{1,2}|\"([^\"\n]{1,300})\"|“([^”\n]{1,300})”|«\s?([^»\n]{1,300}?)\s?»"
    r"|„([^“”\"\n]{1,300})[“”\"]|「([^」\n]{1,300})」|『([^』\n]{1,300})』|《([^》\n]{1,300})》"
    r"|(?<![\w])'([^'\n]{2,200})'(?!\w)|(?P<filter>(?<![\w/])(?:path|file|dir|folder|glob"
    r"|in):(?!//)[^\s,;]{1,400})|(?P<line>\n[ \t]*+\n|\n(?=\s{0,8}[-*\d]))"
    r"|(?P<generic>(?<!\w)[A-Z]\w{0,60}<(?:[\w:,&+*?'\[\] ]|<[\w:,&+* ]{1,60}>){1,120}>)"
    r"|(?P<dash>(?<=\s)[-\u2013\u2014]{1,2}(?=\s))"
    r"|(?P<chunk>[^\s`\"“”«»„「」『』《》]++)"
)
_CJK_OR_NOT = r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+|[^\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+"
_INCLUDED = r"<[\w/.+-]{1,200}\.(?:h|hh|hpp|hxx)>[.,;:?!]*"  # `does a.c include <b.h>?`
_OPENING = r"(?:[(\[{<¿¡]|\*(?![./*]))+(?=.)"
_CLOSING = r"(?:(?<!operator)(?<!operator.))[\].,;:!?…\u3002\uff1f\uff01\uff0c\uff1b\uff1a\u3001*}]+$"
_PART = r"[^\W_]+(?:['-][^\W_]+)*|[.,;:?!\u3002\uff1f\uff01\uff0c\uff1b]"
_TITLE = r"[A-Z][a-z]{2,}\w*|[B-HJ-Z]"
_NAME_SHAPES = (
    r"operator\W{1,3}|[\w:.]{1,200}(?:<[\w:<>, &*]{1,200}>|\[\])|[A-Za-z_]\w*(?:\.\w+)*\([^()]{0,200}\)|@\w+"
    r"|~\w+|\w+[!?](?=$)(?<=_[!?])"
)
_LINES = r"L?\d+(?:[-\u2013.]L?\d+)*"
_MARKS = frozenset(".,;:?!\u3002\uff1f\uff01\uff0c\uff1b\uff1a\u3001…")
_MARK_FORMS = dict(zip("\u3002\uff1f\uff01\uff0c\uff1b\uff1a\u3001…", ".?!,;:,.", strict=True))
"""Full-width punctuation marks, with the ASCII marks that replace them."""

_ENDS = frozenset((".", "?", "!", ";"))
_AND = words("and but")
DASH = "-"
_AND_OR_DASH = _AND | {DASH}
_EXPLAIN = words("explain describe")
_SHOW = words("list show find give enumerate")
_FIRST_PERSON = words("i we")
_SECOND_QUESTION = words("who what where why how when which")
_SHORT_FORMS = {
    "what's": "what is", "who's": "who is", "where's": "where is", "how's": "how is", "when's": "when is",
    "why's": "why is", "which's": "which is", "whats": "what is", "wheres": "where is", "whos": "who is",
    "that's": "that is", "there's": "there is", "it's": "it is", "let's": "let us", "i'd": "i would",
    "i'm": "i am", "we're": "we are", "isn't": "is not", "aren't": "are not", "doesn't": "does not",
    "don't": "do not", "didn't": "did not", "can't": "can not", "won't": "will not",
    "shouldn't": "should not", "couldn't": "could not", "wouldn't": "would not", "hasn't": "has not",
    "haven't": "have not", "i've": "i have", "we've": "we have", "what're": "what are", "who're": "who are",
    "pls": "please", "plz": "please", "thx": "thanks", "u": "you", "r": "are", "gimme": "give me",
    "wy": "why", "wat": "what", "wht": "what", "hw": "how", "wanna": "want to", "gonna": "going to",
}  # fmt: skip
_NO_NAMES = ("http:", "https:", "e.g", "i.e")
