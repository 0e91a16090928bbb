"""The table of languages: loads every file of `daemon/languages/`, and recognises the language of a file.

The files are imported when the table is first used, which keeps them out of the daemon's start.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .language import Language
    from .link_rules import LinkRules


class _Languages(Mapping[str, "Language"]):
    """The languages declared in the files of the parent folder, by name."""

    def __getitem__(self, name: str) -> Language:
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    @cached_property
    def _rows(self) -> dict[str, Language]:
        package = __name__.rpartition(".shared.")[0]
        folder = os.path.dirname(os.path.dirname(__file__))
        names = sorted(name[:-3] for name in os.listdir(folder) if name.endswith(".py"))
        modules = [import_module(f"{package}.{name}") for name in names if name != "__init__"]
        rows: list[Language] = [row for module in modules for row in getattr(module, "LANGUAGES", ())]
        # A row with a grammar wins over one without: plain.py may still list the language.
        return {row.name: row for row in sorted(rows, key=lambda row: (row.name, row.grammar))}


LANGUAGES: Final[Mapping[str, Language]] = _Languages()
"""Every known language by its name."""


def language_of(path: str, head: bytes = b"") -> str:
    """Return the name of the language of a file, or "" if it is unknown.

    `path` may be relative or absolute; `head` is the beginning of its content. Only a shebang line in it is
    used, and only if the name doesn't tell.
    """
    by_extension, by_file_name, by_interpreter = _names_by_sign()
    name = path.rpartition("/")[2]
    found = by_file_name.get(name)
    if found is None:
        stem, dot, extension = name.rpartition(".")
        # A leading dot alone makes a hidden file, not an extension.
        found = by_extension.get(f".{extension.lower()}") if dot and stem else None
        if found is None and dot:
            found = by_file_name.get(name.partition(".")[0])
    if found is None and head.startswith(b"#!"):
        found = by_interpreter.get(_interpreter(head))
    return found or ""


def fence_tag(language: str) -> str:
    """Return the tag for a Markdown code fence around a language's source; "" for an unknown language."""
    row = LANGUAGES.get(language)
    return row.fence if row is not None else ""


def family_of(language: str) -> str:
    """Return the family of a language; its files can refer to each other's definitions. Most are alone."""
    row = LANGUAGES.get(language)
    return (row.family if row is not None else "") or language


def link_rules_of(language: str) -> LinkRules:
    """Return a language's link rules; the defaults for an unknown language."""
    return (LANGUAGES.get(language) or LANGUAGES["text"]).links


def _interpreter(head: bytes) -> str:
    """Return the program of a shebang line, without folder and version: `python`, `bash`."""
    words = head[2:256].partition(b"\n")[0].decode("utf-8", "replace").split()
    names = [word.rpartition("/")[2] for word in words]
    if names and names[0] == "env":
        names = [name for name in names[1:] if not name.startswith("-") and "=" not in name]
    return names[0].rstrip("0123456789.") if names else ""


@cache
def _names_by_sign() -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Return the names of languages by extension, by file name and by interpreter."""
    rows = LANGUAGES.values()
    return (
        {extension: row.name for row in rows for extension in row.extensions},
        {name: row.name for row in rows for name in row.file_names},
        {name: row.name for row in rows for name in row.interpreters},
    )
