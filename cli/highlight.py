"""Code in colours."""

from __future__ import annotations

THEME = "ansi_dark"
"""A theme of the terminal's own sixteen colours, which fits any background."""


def highlight(code: str, path: str) -> list[str]:
    """Return the lines of some code with ANSI colours; by the name of its file; what has no lexer stays
    plain.

    The code must hold no control characters but tabs and line breaks.
    """
    from rich.console import Console
    from rich.syntax import Syntax

    text = Syntax(code, Syntax.guess_lexer(path), theme=THEME).highlight(code)
    text.rstrip()
    console = Console(force_terminal=True, color_system="standard", legacy_windows=False)
    with console.capture() as capture:
        console.print(text, soft_wrap=True)
    lines = capture.get().split("\n")[:-1]
    return lines + [""] * (code.count("\n") + 1 - len(lines))
