"""Markdown: sections by their headings."""

from __future__ import annotations

import re

from .shared.language import Language

MARKDOWN = """
(atx_heading) @heading
(setext_heading) @heading
(block_quote) @quoted
(list) @quoted
"""


def _heading(written: str) -> tuple[int, str]:
    """Return a heading's level and its title as plain text."""
    rows = [row.strip() for row in written.strip().split("\n")]
    if rows[0].startswith("#"):
        level = len(rows[0]) - len(rows[0].lstrip("#"))
        title = re.sub(r"(?:^|\s)#+$", "", rows[0][level:].strip())
    else:
        level = 1 if rows[-1].startswith("=") else 2
        title = " ".join(rows[:-1])
    title = re.sub(r"!?\[([^\]\[]*)\]\([^)(]*\)", r"\1", title)
    title = re.sub(r"\s*\{#[^}]*\}$", "", title)
    title = re.sub(r"[`*]+|(?<!\w)_+|_+(?!\w)|<[^<>]*>", "", title)
    return level, " ".join(title.split())


LANGUAGES = (
    Language(
        "markdown",
        "markdown",
        (".md", ".markdown", ".mdown", ".mkd", ".mdc", ".rmd"),
        grammar="tree_sitter_markdown:language",
        definitions=MARKDOWN,
        heading=_heading,
    ),
)
