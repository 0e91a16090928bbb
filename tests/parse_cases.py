"""A source's symbols and imports in short forms that tests compare."""

from __future__ import annotations

from foveal.daemon.languages.shared.parse import parse_source


def outline(source: str, language: str) -> list[str]:
    """Return `depth kind name start-end` of each symbol."""
    return [
        f"{each.depth} {each.kind} {each.name} {each.start_line}-{each.end_line}"
        for each in parse_source(source.encode(), language).symbols
    ]


def check(source: str, language: str, expected: str) -> None:
    """Check the outline of a source, a symbol a line."""
    found = outline(source, language)
    assert found == [line.strip() for line in expected.strip().splitlines()], found


def heads(source: str, language: str) -> dict[str, str]:
    """Return the signatures by name."""
    return {each.name: each.signature for each in parse_source(source.encode(), language).symbols}


def docs(source: str, language: str) -> dict[str, str]:
    """Return the doc lines by name."""
    return {each.name: each.doc for each in parse_source(source.encode(), language).symbols}


def imports(source: str, language: str) -> list[tuple[str, str, int, bool]]:
    """Return module, name, line and whether it is required of each import."""
    found = parse_source(source.encode(), language).imports
    return [(each.module, each.name, each.line, each.required) for each in found]
