"""Words of programming in German, Spanish and Chinese, with the English words that source code has for them.

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

_TABLE = Path(__file__).with_name("glossary.toml")

BEGINNING_MIN, INSIDE_MIN = 4, 6
"""Minimum letters of an entry that stands for a longer word that begins with it (`sitzung` for
`Sitzungen`), and for one that has it inside: compounds (`fehler` in `Netzwerkfehler`)."""

HAN_MIN: Final = 2
"""Characters of the shortest Chinese entry."""

READ_CHARACTERS: Final = 2_000
"""Characters at the beginning of a text that are read; of five megabytes it would take seconds."""

ADDED_MAX: Final = 24
"""Maximum number of English words that are added to a question."""

_ASKED_WORDS: Final = """
    aber als auch auf aus bei beim bis dass dem den der des die diese dieser dieses durch ein eine einem einen
    einer es für gibt hat ich ist kann mit muss nach nicht noch nur oder ohne sich sind soll über um und vom
    von vor wann warum was wenn werden wer wie wird wo woher zu zum zur
    al cada como cómo con cuando cuándo cual cuál de del desde donde dónde el en entre esta este está están
    hay la las lo los más para pero por porque que qué se según ser si sin sobre son su sus un una unos y ya
"""
"""Words of German and Spanish without a meaning of their own, by which the language is recognized."""

_ASKED: Final = frozenset(_ASKED_WORDS.split())
_ENGLISH: Final = frozenset(STOP_WORDS.split())
_WORD = re.compile(r"[^\W\d_]+")
_HAN = re.compile(r"[\u4e00-\u9fff]+")
_ACCENT = re.compile(r"[\u0300-\u036f]")


def understand(text: str) -> Question:
    """Return the parts of a question, with the English words for one in another language."""
    english = in_english(text)
    return take_apart(f"{text} {english}" if english else text)


def in_english(text: str) -> str:
    """Return the English words for those of a question in German, Spanish or Chinese, "" if it isn't in one.

    A question is in one of them if it has Chinese characters, or more words of `_ASKED_WORDS` than English
    stop words, so that nothing changes for a question in English."""
    text = text[:READ_CHARACTERS]
    chinese = _HAN.findall(text)
    words = [word.lower() for word in _WORD.findall(text)]
    if not chinese and sum(word in _ASKED for word in words) <= sum(word in _ENGLISH for word in words):
        return ""
    telling = [_plain(word) for word in words if word not in _ASKED]
    said = f" {_plain(' '.join(words))}"
    found = [english for phrase, english in _phrases() if phrase in said]
    found += [english for word in telling for english in _known(word, BEGINNING_MIN, INSIDE_MIN)]
    found += [english for run in chinese for english in _known(run, HAN_MIN, HAN_MIN)]
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
        for entry in re.split(r"[,;] |(?<=[\u4e00-\u9fff]) ", _plain(entries)):
            found[entry] = f"{found[entry]} {english}" if entry in found else english
    return found


@lru_cache(maxsize=1)
def _longest() -> int:
    """Return the number of letters of the longest entry."""
    return max(map(len, _entries()))


@lru_cache(maxsize=1)
def _phrases() -> tuple[tuple[str, str], ...]:
    return tuple((f" {entry}", english) for entry, english in _entries().items() if " " in entry)
