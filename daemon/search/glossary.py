"""Words of programming in other languages, with the English words that source code has for them: German,
Spanish, Chinese, French, Portuguese, Japanese and Russian.

The default embedding model knows English only: of forty such words it put eight next to the right one among
eighty English words.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Callable, Collection
from functools import lru_cache
from pathlib import Path
from typing import Final

from ..index.records import STOP_WORDS as ENGLISH_STOP_WORDS
from .question import Question, take_apart
from .stop_words import ALSO_ENGLISH, FOREIGN_STOP_WORDS, STOP_WORDS

_TABLE = Path(__file__).with_name("glossary.toml")

BEGINNING_MIN, INSIDE_MIN = 4, 6
"""Minimum letters of an entry that stands for a longer word that begins with it (`sitzung` for
`Sitzungen`), and for one that has it inside: compounds (`fehler` in `Netzwerkfehler`)."""

HAN_MIN: Final = 2
"""Characters of the shortest Chinese or Japanese entry."""

READ_CHARACTERS: Final = 2_000
"""Characters at the beginning of a text that are read; of five megabytes it would take seconds."""

ADDED_MAX: Final = 24
"""Maximum number of English words that are added to a question."""

_ENGLISH: Final = frozenset(ENGLISH_STOP_WORDS.split())
_WORD = re.compile(r"[^\W\d_]+")
_HAN = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]+")
_SEPARATOR = re.compile(r"[,;] |(?<=[\u3040-\u30ff\u4e00-\u9fff]) ")
_UNLIKE_ENGLISH = re.compile(r"[\u0370-\u1fff]{2}|[\u3040-\ud7af\xbf]")
_ACCENT = re.compile(r"[\u0300-\u036f]")


def understand(text: str, is_name: Callable[[str], bool] = lambda _word: False) -> Question:
    """Return the parts of a question; for one in another language with its English words, or behind the
    English question that it asks about names of the code: those in the form of code, and plain words that
    `is_name` knows."""
    asked = _relation_asked(text, is_name)
    if asked:
        return take_apart(f"{asked}\n{text}")
    english = in_english(text)
    return take_apart(f"{text} {english}" if english else text)


def _relation_asked(text: str, is_name: Callable[[str], bool]) -> str:
    """Return in English the question for a relation of one name or two that a short text in another language
    asks, "" if it asks none, denies one, commands something, or asks for reasons or ways."""
    if len(text) > QUESTION_CHARACTERS or not is_foreign(text):
        return ""
    said = _plain(_NAME.sub(" ", text))
    denying, commanding, filling = _others()
    if denying.search(said) or commanding.search(said):
        return ""
    sure = {match.start(): match["ticked"] or match[0] for match in _NAME.finditer(text)}
    for question, words in _questions():
        is_connection = "{1}" in question
        if not words.search(said):
            continue
        names = sure
        if len(sure) <= is_connection:
            names = sure | _plain_names(text, (words, filling), is_name, unknown=len(sure))
        if len(names) == 1 + is_connection:
            in_order = [name for _, name in sorted(names.items())]
            return question.format(*in_order) + "?" if is_connection or not _WAYS.search(said) else ""
    return ""


def _plain_names(
    text: str, explained: Collection[re.Pattern[str]], is_name: Callable[[str], bool], *, unknown: int
) -> dict[int, str]:
    """Return by place the plain words that are names, in ticks; none if more words than `unknown` are neither
    names, stop words nor `explained`."""
    rest = _NAME.sub(lambda match: " " * len(match[0]), text)
    words = [
        match
        for match in _SPACED_WORD.finditer(rest)
        if match[0].lower() not in STOP_WORDS
        and not any(pattern.search(_plain(match[0])) for pattern in explained)
    ]
    found = {match.start(): f"`{match[0]}`" for match in words if match[0].isascii() and is_name(match[0])}
    return found if len(words) - len(found) <= unknown else {}


@lru_cache(maxsize=1)
def _questions() -> list[tuple[str, re.Pattern[str]]]:
    """Return the questions of the table, each with the words that ask it."""
    rows = tomllib.loads(_TABLE.read_text(encoding="utf-8"))["questions"]
    words = ((question, _SEPARATOR.split(_plain(entries))) for question, entries in rows.items())
    return [
        (question, re.compile("|".join(rf"(?<![a-z]){each}" for each in listed)))
        for question, listed in words
    ]


@lru_cache(maxsize=1)
def _others() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return what shows that a text denies something, that it commands something, and what shows nothing."""
    rows = tomllib.loads(_TABLE.read_text(encoding="utf-8"))["others"]
    each = {name: "|".join(_SEPARATOR.split(_plain(entries))) for name, entries in rows.items()}
    begins = rf"^\W*(?:(?:{each['polite']})\W+)*(?:{each['command']})"
    return (
        re.compile(rf"(?<!\w)(?:{each['negation']})(?!\w)|{each['negation within']}"),
        re.compile(rf"{begins}|{each['command within']}"),
        re.compile(rf"^(?:{each['filler']})"),
    )


QUESTION_CHARACTERS: Final = 200
"""Maximum characters of a text that asks for a relation; a longer one is a report."""

_NAME = re.compile(
    r"`(?P<ticked>[^`\n]+)`|(?<![\w.])(?=[\w.]*(?:[a-z][A-Z]|[A-Z]{2}|_|\w\.[A-Za-z]))"
    r"[A-Za-z_][A-Za-z0-9_.]*[A-Za-z0-9_]",
    re.ASCII,
)
"""A name of the code in a text of another language."""

_SPACED_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?![^\W\d_])|[^\W\d_\u3040-\ud7af]+")
"""A word of a script with spaces between words, or a name inside of another script."""

_WAYS = re.compile(
    r"(?<![a-z])(?:warum|wieso|weshalb|wie|pourquoi|comment|por que|porque|como)(?![a-z])"
    r"|为什么|如何|怎么|なぜ|почему|зачем|как "
)
"""Words that ask for reasons or ways, which only a path between two names can answer."""


def in_english(text: str) -> str:
    """Return the English words for those of a question in another language, "" if it isn't in one.

    A question is in one if it has Chinese, Japanese or Cyrillic characters, or more stop words of other
    languages than English ones, so that nothing changes for a question in English."""
    text = text[:READ_CHARACTERS]
    if not is_foreign(text):
        return ""
    runs = [_plain(run) for run in _HAN.findall(text)]
    words = [word.lower() for word in _WORD.findall(text)]
    telling = [_plain(word) for word in words if word not in FOREIGN_STOP_WORDS]
    said = f" {_plain(' '.join(words))}"
    found = [english for phrase, english in _phrases() if phrase in said]
    found += [english for word in telling for english in _known(word, BEGINNING_MIN, INSIDE_MIN)]
    found += [english for run in runs for english in _known(run, HAN_MIN, HAN_MIN)]
    return " ".join(list(dict.fromkeys(" ".join(found).split()))[:ADDED_MAX])


def is_foreign(text: str) -> bool:
    """Whether a text is in another language than English: by its script, or by its stop words."""
    if _UNLIKE_ENGLISH.search(text):
        return True
    words = [word.lower() for word in _WORD.findall(_NAME.sub(" ", text))]
    foreign = [word for word in words if word in FOREIGN_STOP_WORDS]
    is_sure = len(set(foreign)) > 1 or not ALSO_ENGLISH.issuperset(foreign)
    return is_sure and len(foreign) > sum(word in _ENGLISH for word in words)


def foreign_stop_words(text: str) -> set[str]:
    """Return the stop words of a question in another language, which are no names of the code (`comment`)."""
    text = text[:READ_CHARACTERS]
    said = set(map(str.lower, _WORD.findall(text)))
    return said & FOREIGN_STOP_WORDS if is_foreign(text) else set()


def _known(word: str, beginning: int, inside: int) -> list[str]:
    """Return the English words for the entries that are a word, or in it with at least so many letters."""
    entries, longest = _entries(), _longest()
    whole = [entries[word]] if word in entries else []
    return whole or [
        entries[word[start:end]]
        for start in range(len(word))
        for end in range(start + (inside if start else beginning), min(len(word), start + longest) + 1)
        if word[start:end] in entries
    ]


def _plain(word: str) -> str:
    """Return a text in lower case without accents."""
    return _ACCENT.sub("", unicodedata.normalize("NFD", word.lower())).replace("ß", "ss")


@lru_cache(maxsize=1)
def _entries() -> dict[str, str]:
    """Return the English words for each entry."""
    found: dict[str, str] = {}
    rows = tomllib.loads(_TABLE.read_text(encoding="utf-8"))["words"]
    for english, entries in rows.items():
        for entry in _SEPARATOR.split(_plain(entries)):
            found[entry] = f"{found[entry]} {english}" if entry in found else english
    return found


@lru_cache(maxsize=1)
def _longest() -> int:
    """Return the number of letters of the longest entry."""
    return max(map(len, _entries()))


@lru_cache(maxsize=1)
def _phrases() -> tuple[tuple[str, str], ...]:
    return tuple((f" {entry}", english) for entry, english in _entries().items() if " " in entry)
