"""Owns colours in code: text as spans with classes that the style knows; it alone knows pygments."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import find_lexer_class_for_filename, get_lexer_for_filename
from pygments.util import ClassNotFound

CHARACTERS_MAX: Final = 20_000
"""Longer texts stay plain: some lexers need a millisecond for a thousand characters."""

_FORMATTER: Final = HtmlFormatter(nowrap=True, classprefix="t-")


def highlighted(text: str, path: str) -> Markup:
    """Return code with its colours, by the name of its file; plain and escaped where no colours are known.

    About a millisecond for ten lines: not for the event loop where there are many.
    """
    lexer = _lexer(path.rpartition("/")[2])
    if lexer is None or len(text) > CHARACTERS_MAX:
        return escape(text)
    marked = highlight(text, lexer, _FORMATTER)
    if not text.endswith("\n"):
        marked = marked.removesuffix("\n")  # the formatter ends every line
    return Markup(marked)  # noqa: S704 - the formatter escapes what it is given


@lru_cache(maxsize=512)
def _lexer(name: str) -> Lexer | None:
    # Without the first test an unknown name would be guessed from an empty text.
    if find_lexer_class_for_filename(name) is None:
        return None
    try:
        return get_lexer_for_filename(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
