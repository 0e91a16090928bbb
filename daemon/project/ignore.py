"""Ignore rules in gitignore syntax, for folders where git isn't used. Matches names and lists no folder.

This matcher doesn't use pathspec: `core/globs.py` says why its regular expressions are better. And a pattern
is only compared with the path itself, as in git, so that negations mean the same as in git. Unlike in git,
brackets have no classes such as `[:digit:]` and no escapes.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable

from msgspec import Struct

from ..core.errors import InvalidRequest, StateError
from ..core.globs import path_expression
from ..core.system import System

MAX_FILE_BYTES = 1 << 20
"""Maximum bytes of an ignore file; a larger one, which nobody wrote by hand, is ignored and reported."""

MAX_PATTERNS = 10_000
"""Maximum number of patterns of an ignore file; a file with more is ignored and reported."""

_MAX_PATTERN = 4096
"""Maximum characters of a pattern (Linux's PATH_MAX); a longer one is rejected."""


class IgnoreRules:
    """The patterns of one ignore file, compiled. Paths are relative to the file's folder."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._patterns = tuple(pattern for line in lines if (pattern := _parse(line)) is not None)
        # Most names match no pattern. These find that out at once, whatever the number of patterns.
        self._names = _any_of(pattern for pattern in self._patterns if pattern.by_name)
        self._paths = _any_of(pattern for pattern in self._patterns if not pattern.by_name)

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def match(self, path: str, name: str, is_folder: bool) -> bool | None:
        """Return True if the last matching pattern ignores the path, False if it re-includes it, else None.

        `name` is the last part of `path`. The caller checks the parents: everything below an ignored folder
        is ignored.
        """
        if not self._names.fullmatch(name) and not self._paths.fullmatch(path):
            return None
        for pattern in reversed(self._patterns):
            if (is_folder or not pattern.folders_only) and pattern.matches(path, name):
                return pattern.ignores
        return None


class IgnoreTree:
    """All ignore files of one name below a root, each in force from its folder downwards.

    A folder's file is read once, when a decision needs it first. Call `declare` for each file that a listing
    shows.
    """

    def __init__(self, root: str, file_name: str, system: System) -> None:
        self.problems: dict[str, str] = {}
        """Relative path of each ignore file that can't be used: `too_large`, `unreadable`."""
        self._root = root
        self._file_name = file_name
        self._system = system
        self._declared: set[str] = set()
        self._chains: dict[str, tuple[tuple[IgnoreRules, int], ...]] = {}

    def declare(self, folder: str) -> None:
        """Record that a folder ("" for the root) has an ignore file; call this before `ignores`."""
        self._declared.add(folder)

    def ignores(self, folder: str, name: str, is_folder: bool) -> bool:
        """Whether an entry of a folder is ignored; the folder itself must not be ignored."""
        chain = self._chains.get(folder)
        if chain is None:
            chain = self._chain(folder)
        if not chain:
            return False
        path = f"{folder}/{name}" if folder else name
        for rules, offset in chain:
            decision = rules.match(path[offset:], name, is_folder)
            if decision is not None:
                return decision
        return False

    def _chain(self, folder: str) -> tuple[tuple[IgnoreRules, int], ...]:
        """Return the rules in force in a folder, the nearest first, each with the place of its paths."""
        missing = []
        while folder not in self._chains:
            missing.append(folder)
            if not folder:
                break
            folder = folder.rpartition("/")[0]
        chain = self._chains.get(folder, ())
        for folder in reversed(missing):
            if folder in self._declared and (rules := self._read(folder)):
                chain = ((rules, len(folder) + 1 if folder else 0), *chain)
            self._chains[folder] = chain
        return chain

    def _read(self, folder: str) -> IgnoreRules | None:
        relative = f"{folder}/{self._file_name}" if folder else self._file_name
        path = os.path.join(self._root, relative)
        try:
            # As in git, a symlink doesn't count as an ignore file: it could lead anywhere.
            if not stat.S_ISREG(self._system.lstat(path).st_mode):
                self.problems[relative] = "unreadable"
                return None
            data, _ = self._system.read(path, MAX_FILE_BYTES + 1)
        except FileNotFoundError:
            return None
        except OSError:
            self.problems[relative] = "unreadable"
            return None
        lines = parse_lines(data)
        if len(data) > MAX_FILE_BYTES or len(lines) > MAX_PATTERNS:
            self.problems[relative] = "too_large"
            return None
        return IgnoreRules(lines)


def parse_lines(data: bytes) -> list[str]:
    """Return the lines of an ignore file that are neither empty nor comments, without their line ends."""
    lines = os.fsdecode(data.removeprefix(b"\xef\xbb\xbf")).split("\n")
    return [line.removesuffix("\r") for line in lines if line.strip("\r") and not line.startswith("#")]


class _Pattern(Struct, frozen=True):
    """A pattern. One without a slash is compared with names at every depth (`by_name`)."""

    ignores: bool
    folders_only: bool
    by_name: bool
    expression: str
    compiled: re.Pattern[str]

    def matches(self, path: str, name: str) -> bool:
        return self.compiled.fullmatch(name if self.by_name else path) is not None


def _parse(line: str) -> _Pattern | None:
    """Parse one line as gitignore(5) describes; None for a line that can never match."""
    text = line.rstrip(" ")
    if len(text) < len(line) and (len(text) - len(text.rstrip("\\"))) % 2:
        text += " "  # a backslash protects it
    ignores = not text.startswith("!")
    text = text.removeprefix("!")
    folders_only = text.endswith("/")
    text = text.removesuffix("/")
    by_name = "/" not in text
    text = text.removeprefix("/")
    if not text or len(text) > _MAX_PATTERN:
        return None
    try:
        # A name of two or more stars matches any number of folders.
        names = ["**" if name.strip("*") == "" != name[1:] else name for name in text.split("/")]
        expression = path_expression([text] if by_name else names)
    except ValueError:  # a backslash escapes nothing
        return None
    compiled = re.compile(expression, re.DOTALL)
    return _Pattern(ignores, folders_only, by_name, expression, compiled)


def _any_of(patterns: Iterable[_Pattern]) -> re.Pattern[str]:
    sources = [f"(?:{pattern.expression})" for pattern in patterns]
    return re.compile("|".join(sources) or "(?!)", re.DOTALL)


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
