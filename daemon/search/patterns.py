"""Compiles regexes at their first use; compiling all at import would take longer than an answer."""

from __future__ import annotations

import re
from functools import cache


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Return the compiled regex. Only for constant patterns, since the cache has no limit."""
    return re.compile(pattern)


def clean_path(path: str) -> str:
    """Return a path with `/` between its parts, without scheme, host, drive, `./` and bundler prefixes."""
    path = path.strip()
    path = compiled(_SCHEME).sub("", path)
    if "\\" in path:
        path = path.replace("\\\\", "/").replace("\\", "/")
    path = compiled(_DRIVE).sub("/", path)
    path = path.partition("?")[0] if "?" in path and "*" not in path else path
    while path.startswith(("./", "../")):
        path = path.partition("/")[2]
    return path


_SCHEME = (
    r"^(?:file:/{0,3}(?=[A-Za-z]:)|file://|webpack(?:-internal)?:/{2,3}(?:\.|[\w@-]{1,60}(?=/\.))?/?"
    r"|https?://[^/\s]{1,200}/|package:|phar://|app://|(?=\w)\w{3,}://(?=/))"
)
_DRIVE = r"^[A-Za-z]:/"
