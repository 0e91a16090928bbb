"""Words of programming in other languages, with the English words that source code has for them: German,
Spanish, Chinese, French, Portuguese, Japanese and Russian.

The default embedding model knows English only: of forty such words it put eight next to the right one among
eighty English words.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from functools import lru_cache
from pathlib import Path
from typing import Final

from ..index.records import STOP_WORDS
from .question import Question, take_apart
from .stop_words import FOREIGN_STOP_WORDS

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

_ENGLISH: Final = frozenset(STOP_WORDS.split())
_WORD = re.compile(r"[^\W\d_]+")
_HAN = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]+")
_CYRILLIC = re.compile(r"[\u0400-\u04ff]")
_ACCENT = re.compile(r"[\u0300-\u036f]")


def understand(text: str) -> Question:
    """Return the parts of a question, with the English words for one in another language."""
    english = in_english(text)
    return take_apart(f"{text} {english}" if english else text)


def in_english(text: str) -> str:
    """Return the English words for those of a question in another language, "" if it isn't in one.

    A question is in one if it has Chinese, Japanese or Cyrillic characters, or more stop words of other
    languages than English ones, so that nothing changes for a question in English."""
    text = text[:READ_CHARACTERS]
    runs = [_plain(run) for run in _HAN.findall(text)]
    words = [word.lower() for word in _WORD.findall(text)]
    foreign = sum(word in FOREIGN_STOP_WORDS for word in words)
    if not runs and not _CYRILLIC.search(text) and foreign <= sum(word in _ENGLISH for word in words):
        return ""
    telling = [_plain(word) for word in words if word not in FOREIGN_STOP_WORDS]
    said = f" {_plain(' '.join(words))}"
    found = [english for phrase, english in _phrases() if phrase in said]
    found += [english for word in telling for english in _known(word, BEGINNING_MIN, INSIDE_MIN)]
    found += [english for run in runs for english in _known(run, HAN_MIN, HAN_MIN)]
    return " ".join(list(dict.fromkeys(" ".join(found).split()))[:ADDED_MAX])


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
    rows: dict[str, str] = tomllib.loads(_TABLE.read_text(encoding="utf-8"))
    for english, entries in rows.items():
        for entry in re.split(r"[,;] |(?<=[\u3040-\u30ff\u4e00-\u9fff]) ", _plain(entries)):
            found[entry] = f"{found[entry]} {english}" if entry in found else english
    return found


@lru_cache(maxsize=1)
def _longest() -> int:
    """Return the number of letters of the longest entry."""
    return max(map(len, _entries()))


@lru_cache(maxsize=1)
def _phrases() -> tuple[tuple[str, str], ...]:
    return tuple((f" {entry}", english) for entry, english in _entries().items() if " " in entry)
