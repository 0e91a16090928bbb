"""The table of languages: finds every file of `daemon/languages/`, and recognises the language of a file."""

from __future__ import annotations

import os
from importlib import import_module

from .language import Language
from .link_rules import LinkRules


def language_of(path: str, head: bytes = b"") -> str:
    """Return the name of the language of a file, or "" when it isn't known.

    `path` may be relative or absolute; `head` is the beginning of its content, of which only a shebang
    line is looked at, and only when the name doesn't tell.
    """
    name = path.rpartition("/")[2]
    found = _BY_FILE_NAME.get(name)
    if found is None:
        stem, dot, extension = name.rpartition(".")
        # A leading dot alone makes a hidden file, not an extension.
        found = _BY_EXTENSION.get(f".{extension.lower()}") if dot and stem else None
        if found is None and dot:
            found = _BY_FILE_NAME.get(name.partition(".")[0])
    if found is None and head.startswith(b"#!"):
        found = _BY_INTERPRETER.get(_interpreter(head))
    return found or ""


def fence_tag(language: str) -> str:
    """Return the tag for a Markdown code fence around a language's source; "" for an unknown language."""
    row = LANGUAGES.get(language)
    return row.fence if row is not None else ""


def family_of(language: str) -> str:
    """Return the family of a language: files of one family see each other's definitions. Most stand alone."""
    row = LANGUAGES.get(language)
    return (row.family if row is not None else "") or language


def link_rules_of(language: str) -> LinkRules:
    """Return how a language's names are linked; the defaults for an unknown language."""
    row = LANGUAGES.get(language)
    return row.links if row is not None else _DEFAULT_RULES


def _interpreter(head: bytes) -> str:
    """Return the program that a shebang line calls, without folder and version: `python`, `bash`."""
    words = head[2:256].partition(b"\n")[0].decode("utf-8", "replace").split()
    names = [word.rpartition("/")[2] for word in words]
    if names and names[0] == "env":
        names = [name for name in names[1:] if not name.startswith("-") and "=" not in name]
    return names[0].rstrip("0123456789.") if names else ""


def _read_languages() -> dict[str, Language]:
    """Return what the files of the folder above this one declare, by name."""
    package = __package__.rpartition(".")[0] if __package__ else ""
    folder = os.path.dirname(os.path.dirname(__file__))
    names = sorted(name[:-3] for name in os.listdir(folder) if name.endswith(".py"))
    modules = [import_module(f"{package}.{name}") for name in names if name != "__init__"]
    rows: list[Language] = [row for module in modules for row in getattr(module, "LANGUAGES", ())]
    return {row.name: row for row in sorted(rows, key=lambda row: row.name)}


LANGUAGES: dict[str, Language] = _read_languages()
"""Every known language by its name."""

_DEFAULT_RULES = LinkRules()
_BY_EXTENSION = {extension: row.name for row in LANGUAGES.values() for extension in row.extensions}
_BY_FILE_NAME = {name: row.name for row in LANGUAGES.values() for name in row.file_names}
_BY_INTERPRETER = {name: row.name for row in LANGUAGES.values() for name in row.interpreters}
