"""Regular expressions compiled on first use: the table of languages holds fifty."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

Text = TypeVar("Text", str, bytes)

if TYPE_CHECKING:

    def lazy_pattern(pattern: Text, flags: int = 0) -> re.Pattern[Text]:
        """Return a pattern that is compiled on first use."""
        return re.compile(pattern, flags)

else:

    class lazy_pattern:  # noqa: N801 - it is called as a function
        """A pattern compiled on the first use of one of its methods. Compiling those of all languages takes
        30 ms, and the daemon's main process, which parses nothing, needs none of them."""

        def __init__(self, pattern, flags=0):
            self._written = pattern, flags

        def __getattr__(self, name):
            compiled = re.compile(*self._written)
            for method in ("findall", "finditer", "fullmatch", "match", "search", "split", "sub"):
                setattr(self, method, getattr(compiled, method))
            return getattr(compiled, name)
