"""A source's references in short forms that tests compare."""

from __future__ import annotations

from textwrap import dedent

from foveal.daemon.languages.shared.parse import parse_source
from foveal.daemon.languages.shared.records import ParsedFile

from tests.parse_cases import plain


def parsed(source: str, language: str) -> ParsedFile:
    """Return what was read out of a source, whose common indentation and marks go."""
    return parse_source(plain(dedent(source).strip("\n")), language)


def references(source: str, language: str) -> list[str]:
    """Return `line kind chain in scope` of each reference, without the scope at the top."""
    file = parsed(source, language)
    return [
        f"{each.line} {each.kind} {each.chain}{_scope(file, each.scope)}"
        for each in file.references.references
    ]


def facts(source: str, language: str) -> list[str]:
    """Return `name is type` or `name = value` of what is known of each variable, with its scope."""
    file = parsed(source, language)
    return [
        f"{each.name} {'is' if each.is_type else '='} {each.chain}".rstrip() + _scope(file, each.scope)
        for each in file.references.types
    ]


def bindings(source: str, language: str) -> list[str]:
    """Return `name: imported from module` of each binding, with its scope."""
    file = parsed(source, language)
    return [
        f"{each.name}: {each.imported} from {each.module}{_scope(file, each.scope)}"
        for each in file.references.bindings
    ]


def _scope(file: ParsedFile, scope: int) -> str:
    return f" in {file.symbols[scope].name}" if scope >= 0 else ""
