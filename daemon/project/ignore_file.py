"""A project's `.fovealignore`: adds and removes the line that leaves out one file or folder."""

from __future__ import annotations

import os
import re
import stat

from msgspec import Struct

from ..core.errors import InvalidRequest, StateError
from ..core.system import System

NAME = ".fovealignore"

FILE_BYTES = 1_048_576
"""Maximum bytes of a file that is changed."""

_SPECIAL = re.compile(r"[\\*?\[\]]|[ \t]+$")
"""Characters of a name that mean something else in a pattern: wildcards, and blanks at the end."""


class IgnoreLine(Struct, frozen=True):
    """The line for a path, and whether the file was changed."""

    line: str
    changed: bool


def set_excluded(root: str, path: str, system: System, *, excluded: bool) -> IgnoreLine:
    """Add the line that leaves out a path relative to the root, or remove the lines that name exactly it.

    All other bytes of the file stay. Raises `InvalidRequest` for the root itself and for a name that no line
    can have, `StateError` if the file can't be read or written.
    """
    if not path:
        raise InvalidRequest("path is the project itself: foveal forget removes what is known of it", "path")
    if "\n" in path or "\r" in path:
        raise InvalidRequest("path has a line break in its name, which no pattern can have", "path")
    line = _line_of(root, path)
    file = os.path.join(root, NAME)
    try:
        data, mode = _read(file, system)
        changed = _with(data, line) if excluded else _without(data, line)
        if changed != data:
            system.write_atomic(file, changed, mode=mode)
            if data:
                os.chmod(file, mode)  # as it was, whatever the umask
    except OSError as error:
        raise StateError(f"{file} can't be changed ({error.strerror or error})") from error
    return IgnoreLine(line, changed != data)


def _line_of(root: str, path: str) -> str:
    """Return the pattern that matches one path only."""
    escaped = _SPECIAL.sub(lambda found: "".join(f"\\{character}" for character in found.group()), path)
    return f"/{escaped}/" if os.path.isdir(os.path.join(root, path)) else f"/{escaped}"


def _read(file: str, system: System) -> tuple[bytes, int]:
    try:
        status = system.lstat(file)
    except FileNotFoundError:
        return b"", 0o666  # the umask takes from it
    if not stat.S_ISREG(status.st_mode):
        raise StateError(f"{file} is not a regular file: change what it leads to")
    if status.st_size > FILE_BYTES:
        raise StateError(f"{file} has more than {FILE_BYTES:,} bytes: change it by hand")
    return system.read(file)[0], stat.S_IMODE(status.st_mode)


def _with(data: bytes, line: str) -> bytes:
    wanted = os.fsencode(line)
    if wanted in (each.rstrip(b"\r") for each in data.split(b"\n")):
        return data
    end = b"\r\n" if b"\r\n" in data else b"\n"
    return data + (end if data and not data.endswith(b"\n") else b"") + wanted + end


def _without(data: bytes, line: str) -> bytes:
    """Return the file without the line, with and without slashes at its ends. A name without any slash before
    its end matches in every folder, so such a line stays."""
    bare = os.fsencode(line.strip("/"))

    def is_named(each: bytes) -> bool:
        text = each.rstrip(b"\r\n")
        return text.strip(b"/") == bare and b"/" in text.rstrip(b"/")

    return b"".join(each for each in data.splitlines(keepends=True) if not is_named(each))
