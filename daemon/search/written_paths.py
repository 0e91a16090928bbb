"""Paths as people and programs write them."""

from __future__ import annotations

from .patterns import compiled


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
