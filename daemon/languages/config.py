"""Configuration and build files: blocks by their keys, tables, targets and declarations.

They have no grammar here. Their blocks are sections, which compete for a context as definitions do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .shared.language import Language

BLOCK_LINES = 80
"""Lines of a block of keys from which on it is divided into the blocks inside, such as the jobs of a
workflow."""

BLOCKS_MAX = 400
"""Maximum number of blocks of a file; one with more is data."""


def _keys(pattern: str, text: str) -> list[tuple[int, int, str]]:
    """Return the lines that open blocks of keys: their numbers from 0, levels from 1, and keys.

    The keys farthest to the left open blocks, and in a long block the keys farthest to the left inside."""
    lines, opens = text.split("\n"), re.compile(pattern).match
    opened = [(at, len(match[1]), match[2]) for at, line in enumerate(lines) if (match := opens(line))]
    if len(opened) > BLOCKS_MAX * 20:
        return []
    found: list[tuple[int, int, str]] = []

    def divide(inside: list[tuple[int, int, str]], end: int, level: int) -> None:
        left = min(indent for _, indent, _ in inside)
        heads = [at for at, (_, indent, _) in enumerate(inside) if indent == left]
        for head, following in zip(heads, [*heads[1:], len(inside)], strict=True):
            first, _, key = inside[head]
            last = inside[following][0] if following < len(inside) else end
            found.append((first, level, key))
            if last - first > BLOCK_LINES and level < 3 and following > head + 1:
                divide(inside[head + 1 : following], last, level + 1)

    if opened:
        divide(opened, len(lines), 1)
    return found


def _matching(pattern: str, text: str) -> list[tuple[int, int, str]]:
    """Return the lines that a pattern matches, with its last group as the name."""
    lines, opens = enumerate(text.split("\n")), re.compile(pattern).match
    return [(at, 1, match[match.lastindex or 0].strip()) for at, line in lines if (match := opens(line))]


_YAML = r"( *)[\"']?([A-Za-z_][\w./-]*)[\"']?:\s*(?:[|>&#].*)?$"
_JSON = r"(\s*)\"([\w./:@-]+)\"\s*:\s*[\[{]\s*$"
_PATTERNS = {
    "toml": r"\[\[?([\w.\"'-]+)\]\]?\s*(?:#.*)?$",
    "ini": r"\[([^\]\n]+)\]\s*$",
    "makefile": r"(?!\.PHONY)([\w./%-][\w./% -]*):(?![=:])",
    "dockerfile": r"(?i)FROM\s+(?:--\S+\s+)?(?:\S+\s+AS\s+(\S+)|(\S+))\s*$",
    "prisma": r"(?:model|enum|datasource|generator|type|view)\s+(\w+)",
    "just": r"@?([\w-]+)(?:\s[^:=]*)?:(?!=)",
}


def blocks_of(language: str, text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the first lines of the blocks of a file: their numbers from 0, levels from 1, and names."""
    if language == "yaml":
        found = _keys(_YAML, text)
    elif language in {"json", "json5", "jsonc"}:
        found = _keys(_JSON, text)
    else:
        found = _matching(_PATTERNS[language], text)
    if len(found) <= BLOCKS_MAX:
        yield from found


LANGUAGES = (
    Language("dockerfile", "dockerfile", (".dockerfile",), ("Dockerfile", "Containerfile"), blocks=blocks_of),
    Language(
        "ini",
        "ini",
        (".ini", ".cfg", ".conf", ".properties", ".desktop", ".service"),
        (".editorconfig", ".npmrc", ".flake8", ".pylintrc", ".coveragerc"),
        blocks=blocks_of,
    ),
    Language(
        "json",
        "json",
        (".json", ".geojson", ".webmanifest"),
        (".eslintrc", ".babelrc"),
        blocks=blocks_of,
    ),
    Language("json5", "json5", (".json5",), blocks=blocks_of),
    Language("jsonc", "jsonc", (".jsonc", ".code-workspace"), blocks=blocks_of),
    Language("just", "just", (".just",), ("justfile", "Justfile"), blocks=blocks_of),
    Language(
        "makefile",
        "makefile",
        (".mk", ".mak"),
        ("Makefile", "makefile", "GNUmakefile"),
        ("make",),
        blocks=blocks_of,
    ),
    Language("prisma", "prisma", (".prisma",), blocks=blocks_of),
    Language(
        "toml", "toml", (".toml",), ("Cargo.lock", "poetry.lock", "uv.lock", "Pipfile"), blocks=blocks_of
    ),
    Language("yaml", "yaml", (".yaml", ".yml"), (".clang-format", ".clang-tidy"), blocks=blocks_of),
)
