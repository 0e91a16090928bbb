"""Code in colours, with the words of a question emphasised."""

from __future__ import annotations

import re

LEXERS = {
    "assembly": "nasm",
    "astro": "html",
    "gitconfig": "ini",
    "gitignore": "bash",
    "gomod": "go",
    "jsonc": "json",
    "jsonl": "json",
    "just": "makefile",
    "mdx": "markdown",
    "prisma": "graphql",
    "svelte": "html",
}
"""Lexers of languages whose own name is no lexer."""


THEME = "ansi_dark"
"""A theme of the terminal's own sixteen colours, which fits any background."""


EMPHASIS = "bold underline"


STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        "about all and any are but can could did does doing done each find for from get has have how into its"
        " make not show should that the their them then there these they this those use used uses using was"
        " were what when where which who why will with would you your",
    )
)
"""Words of questions that say nothing about the code and aren't emphasised."""


WORDS_MAX = 64
"""Maximum emphasised words of a question, which may be a pasted log."""


def highlight(code: str, language: str, words: re.Pattern[str] | None) -> list[str]:
    """Return the lines of some code with ANSI colours; a language that has no lexer stays plain.

    `words` are emphasised. The code must hold no control characters but tabs and line breaks.
    """
    from rich.console import Console
    from rich.syntax import Syntax

    text = Syntax(code, LEXERS.get(language, language or "text"), theme=THEME).highlight(code)
    text.rstrip()
    if words is not None:
        text.highlight_regex(words, EMPHASIS)
    console = Console(force_terminal=True, color_system="standard", legacy_windows=False)
    with console.capture() as capture:
        console.print(text, soft_wrap=True)
    lines = capture.get().split("\n")[:-1]
    return lines + [""] * (code.count("\n") + 1 - len(lines))


def question_words(question: str) -> re.Pattern[str] | None:
    """Return a pattern that finds a question's words in code, None for a question that has none.

    A word is found in other forms of it and as a part of an identifier: `sessions` in `expireSession`, but
    `port` not in `import`.
    """
    words = [word for word in _WORD.findall(question.lower()) if word not in STOP_WORDS]
    stems = dict.fromkeys(_ENDING.sub("", word) for word in words[:WORDS_MAX])
    if not stems:
        return None
    # The longest first, since of several alternatives the first one that fits is taken.
    return re.compile("|".join(map(_found_in_code, sorted(stems, key=len, reverse=True))))


_WORD = re.compile(r"[^\W_]{3,40}")


_ENDING = re.compile(r"(?<=[^\W_]{4})(?:ing|ed|es|s|e)$")


def _found_in_code(stem: str) -> str:
    """Return a pattern for a stem that begins a word or a part of an identifier, to the end of that."""
    begins_word = rf"(?<![^\W_])(?i:{re.escape(stem)})"
    begins_part = rf"{re.escape(stem.capitalize())}|(?<=[a-z0-9]){re.escape(stem.upper())}"
    return rf"(?:{begins_word}|{begins_part})(?:[a-z]+|[A-Z]+(?![a-z]))?"
