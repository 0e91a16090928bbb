"""Compiles regexes at their first use; compiling all at import would take longer than an answer."""

from __future__ import annotations

import re
from functools import cache


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Return the compiled regex. Only for constant patterns, since the cache has no limit."""
    return re.compile(pattern)
