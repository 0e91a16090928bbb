"""Owns which files a decision is about: those that its sentence names, else those edited near it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .outcomes import same_file
from .phrases import words

MAX_FILES = 8
"""A decision is about few files; the edited ones of a whole turn may be hundreds."""

_FEW = 2
"""So many files edited near a decision are all about it; of more only those that share a word with it."""


def files_of(text: str, edited: Sequence[str], near: Sequence[str]) -> tuple[str, ...]:
    """Return at most `MAX_FILES` paths: of those that a text names the edited ones, then what else it names
    with a folder; if it names none, those edited `near` it, of many those whose names have a word of it.

    An edited path is given as the host wrote it. All lists are oldest first, each path once.
    """
    named = named_paths(text)
    found: dict[str, None] = {}
    for name in named:
        matches = [path for path in edited if same_file(path, name)]
        found.update(dict.fromkeys(matches[-2:] or ([name] if "/" in name else [])))
    if not found and len(near) > _FEW:
        telling = set(re.findall(r"[^\W\d_]{4,}", text.lower()))
        found = dict.fromkeys(path for path in near if _stem_words(path) & telling)
    return tuple(found or dict.fromkeys(near))[:MAX_FILES]


def is_prose_file(path: str) -> bool:
    """Whether a file holds prose about code, by its extension."""
    return path.lower().endswith((".md", ".mdx", ".rst", ".txt", ".adoc", ".org"))


def named_paths(text: str) -> tuple[str, ...]:
    """Return what looks like a path of a file in a text, each once: with an extension, or a known name."""
    return tuple(
        dict.fromkeys(
            match[0].removeprefix("./")
            for match in re.finditer(_PATH, text[:4_000])
            if not re.match(_NO_FILE, match[0])
        )
    )


def _stem_words(path: str) -> set[str]:
    stem = path.replace("\\", "/").rsplit("/", 1)[-1].rsplit(".", 1)[0]
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", stem)
    return {word for word in re.findall(r"[^\W\d_]{4,}", spaced.lower()) if word not in _COMMON}


_PATH = (
    r"(?<![\w/@.:-])(?:\.{0,2}/)?(?:[\w@.+-]{1,80}/){0,12}[\w@+-][\w.@+-]{0,80}\.[A-Za-z][A-Za-z0-9]{0,7}"
    r"(?![\w/(])|\b(?:[\w.-]+/)*(?:Makefile|Dockerfile|Gemfile|Jenkinsfile|Rakefile)\b"
)
_NO_FILE = (
    r"(?i)(?:e\.g|i\.e|z\.b|d\.h|vs|[a-z]+\.(?:js|net|io)$(?<!/)(?=(?:node|vue|next|express|asp|socket)\.))"
)
_COMMON = words("test tests spec main index init util utils helpers types common src base")
