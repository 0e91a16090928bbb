"""Ignore rules in gitignore syntax, for folders where git isn't used. Matches names and lists no folder.

This matcher doesn't use pathspec, for two reasons. Here patterns become regular expressions without ambiguous
repetition: `a*a*a*a*a*b` costs no more than `a*b`, while pathspec's expression took 13 s for a name of 255
letters, and each further star multiplies that; patterns come from untrusted repositories. And a pattern is
only compared with the path itself, as in git, so that negations mean the same as in git.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable

from msgspec import Struct

from ..core.errors import InvalidRequest, StateError
from ..core.system import System

MAX_FILE_BYTES = 1 << 20
"""Maximum bytes of an ignore file; a larger one, which nobody wrote by hand, is ignored and reported."""

MAX_PATTERNS = 10_000
"""Maximum number of patterns of an ignore file; a file with more is ignored and reported."""

_MAX_PATTERN_BYTES = 4096
"""Maximum bytes of a pattern (Linux's PATH_MAX); a longer one is rejected: hardly any path could match it."""


class IgnoreRules:
    """The patterns of one ignore file, compiled. Paths are bytes, relative to the file's folder."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._patterns = tuple(pattern for line in lines if (pattern := _parse(line)) is not None)
        names = [pattern for pattern in self._patterns if pattern.by_name]
        paths = [pattern for pattern in self._patterns if not pattern.by_name]
        # Most names match no pattern. These three find that out at once, whatever the number of patterns.
        self._literal_names = frozenset(pattern.literal for pattern in names if pattern.literal is not None)
        self._wild_names = _any_of(pattern for pattern in names if pattern.literal is None)
        self._paths = _any_of(paths)

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def __len__(self) -> int:
        return len(self._patterns)

    def match(self, path: bytes, name: bytes, is_folder: bool) -> bool | None:
        """Return True if the last matching pattern ignores the path, False if it re-includes it, else None.

        `name` is the last part of `path`. The caller checks the parents: everything below an ignored folder
        is ignored.
        """
        if not (
            name in self._literal_names
            or (self._wild_names is not None and self._wild_names.match(name))
            or (self._paths is not None and self._paths.match(path))
        ):
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
        encoded = os.fsencode(name)
        path = os.fsencode(folder) + b"/" + encoded if folder else encoded
        for rules, offset in chain:
            decision = rules.match(path[offset:], encoded, is_folder)
            if decision is not None:
                return decision
        return False

    def _chain(self, folder: str) -> tuple[tuple[IgnoreRules, int], ...]:
        """Return the rules in force in a folder, the nearest first, each with the bytes before its paths."""
        missing = []
        while folder not in self._chains:
            missing.append(folder)
            if not folder:
                break
            folder = folder.rpartition("/")[0]
        chain = self._chains.get(folder, ())
        for folder in reversed(missing):
            if folder in self._declared and (rules := self._read(folder)):
                chain = ((rules, len(os.fsencode(folder)) + 1 if folder else 0), *chain)
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


def parse_lines(data: bytes) -> list[bytes]:
    """Return the lines of an ignore file that are neither empty nor comments, without their line ends."""
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return [line.removesuffix(b"\r") for line in lines if line.strip(b"\r") and not line.startswith(b"#")]


class _Pattern(Struct, frozen=True):
    ignores: bool
    folders_only: bool
    by_name: bool
    """Whether it has no slash, so that it is compared with names at every depth."""
    source: bytes
    """A regular expression without capturing groups, for the whole name or path."""
    literal: bytes | None
    """The text itself if it has no wildcard, else None."""
    compiled: re.Pattern[bytes] | None

    def matches(self, path: bytes, name: bytes) -> bool:
        text = name if self.by_name else path
        return text == self.literal if self.compiled is None else self.compiled.match(text) is not None


def _parse(line: bytes) -> _Pattern | None:
    """Parse one line as gitignore(5) describes; None for a line that can never match."""
    text = _strip_spaces(line)
    ignores = not text.startswith(b"!")
    text = text.removeprefix(b"!")
    folders_only = text.endswith(b"/")
    text = text.removesuffix(b"/")
    by_name = b"/" not in text
    text = text.removeprefix(b"/")
    if not text or len(text) > _MAX_PATTERN_BYTES:
        return None
    literal = re.match(rb"[^*?\[\\]*", text)
    assert literal is not None
    if literal.end() == len(text):
        return _Pattern(ignores, folders_only, by_name, re.escape(text) + rb"\Z", text, None)
    body = _translate(text[literal.end() :], by_name)
    if body is None:
        return None
    source = re.escape(literal.group()) + body
    return _Pattern(ignores, folders_only, by_name, source, None, re.compile(source, re.DOTALL))


def _strip_spaces(line: bytes) -> bytes:
    """Drop trailing spaces that no backslash protects."""
    stripped = line.rstrip(b" ")
    if len(stripped) < len(line):
        backslashes = len(stripped) - len(stripped.rstrip(b"\\"))
        if backslashes % 2:
            stripped += b" "
    return stripped


def _any_of(patterns: Iterable[_Pattern]) -> re.Pattern[bytes] | None:
    sources = [pattern.source for pattern in patterns]
    return re.compile(b"|".join(sources), re.DOTALL) if sources else None


# A pattern is split into groups at `**/`, groups into segments at `/`, segments into pieces at `*`. A piece
# is a sequence of single characters, so its leftmost match is always sufficient, and an atomic group (?>...)
# can prevent backtracking. The same holds for a group among the segments of a path.

_ANY_FOLDERS = rb"(?:[^/]*/)*?"


def _translate(text: bytes, by_name: bool) -> bytes | None:
    """Return a regular expression for a pattern without its literal beginning, None if it can never match."""
    tokens = _tokens(text)
    if tokens is None:
        return None
    segments: list[list[bytes]] = [[]]
    for token in tokens:
        if token == b"/":
            segments.append([])
        else:
            segments[-1].append(token)
    if by_name:
        return _segment(segments[0]) + rb"\Z"
    groups: list[list[list[bytes]]] = [[]]
    for segment in segments[:-1]:
        if _is_globstar(segment):
            groups.append([])
        else:
            groups[-1].append(segment)
    open_end = _is_globstar(segments[-1])
    if not open_end:
        groups[-1].append(segments[-1])
    ending = rb".*\Z" if open_end else rb"\Z"
    return _join_groups(groups, open_end) + ending


def _is_globstar(segment: list[bytes]) -> bool:
    return len(segment) > 1 and all(token == b"*" for token in segment)


def _join_groups(groups: list[list[list[bytes]]], open_end: bool) -> bytes:
    last = len(groups) - 1
    parts = []
    for number, group in enumerate(groups):
        if number < last or open_end:
            body = b"".join(_segment(segment) + b"/" for segment in group)
            parts.append(body if number == 0 else b"(?>" + _ANY_FOLDERS + body + b")")
        else:
            body = b"/".join(map(_segment, group))
            parts.append(body if number == 0 else _ANY_FOLDERS + body)
    return b"".join(parts)


def _segment(tokens: list[bytes]) -> bytes:
    """Return the expression of one path segment or name."""
    pieces: list[list[bytes]] = [[]]
    for token in tokens:
        if token == b"*":
            pieces.append([])
        else:
            pieces[-1].append(token)
    first, *others = (b"".join(piece) for piece in pieces)
    if not others:
        return first
    *middle, final = others
    inner = b"".join(b"(?>[^/]*?" + piece + b")" for piece in middle if piece)
    return first + inner + b"(?>[^/]*" + final + rb"(?=/|\Z))"


def _tokens(text: bytes) -> list[bytes] | None:
    """Split a pattern into `*`, `/` and expressions for one byte; None for an unclosed bracket or escape."""
    tokens = []
    at = 0
    while at < len(text):
        byte = text[at : at + 1]
        at += 1
        if byte in (b"*", b"/"):
            tokens.append(byte)
        elif byte == b"?":
            tokens.append(b"[^/]")
        elif byte == b"\\":
            if at == len(text):
                return None
            tokens.append(b"/" if text[at : at + 1] == b"/" else re.escape(text[at : at + 1]))
            at += 1
        elif byte == b"[":
            bracket = _bracket(text, at)
            if bracket is None:
                return None
            members, at = bracket
            tokens.append(_byte_class(members))
        else:
            tokens.append(re.escape(byte))
    return tokens


_CLASSES = {
    b"alnum": rb"[0-9A-Za-z]",
    b"alpha": rb"[A-Za-z]",
    b"blank": rb"[ \t]",
    b"cntrl": rb"[\x00-\x1f\x7f]",
    b"digit": rb"[0-9]",
    b"graph": rb"[!-~]",
    b"lower": rb"[a-z]",
    b"print": rb"[ -~]",
    b"punct": rb"[!-/:-@\[-`{-~]",
    b"space": rb"[ \t\n\v\f\r]",
    b"upper": rb"[A-Z]",
    b"xdigit": rb"[0-9A-Fa-f]",
}


def _bracket(text: bytes, at: int) -> tuple[set[int], int] | None:
    """Read a bracket from the character after its `[`; return the bytes that it matches and where it ends."""
    negated = text[at : at + 1] in (b"!", b"^")
    at += negated
    members: set[int] = set()
    previous = -1
    first = True
    while first or text[at : at + 1] != b"]":
        first = False
        if at >= len(text):
            return None
        byte = text[at]
        at += 1
        if byte == ord("\\"):
            if at >= len(text):
                return None
            byte = text[at]
            at += 1
        elif byte == ord("-") and previous >= 0 and text[at : at + 1] not in (b"", b"]"):
            at += text[at] == ord("\\")
            if at >= len(text):
                return None
            members.update(range(previous, text[at] + 1))
            at += 1
            previous = -1
            continue
        elif byte == ord("[") and text[at : at + 1] == b":":
            end = text.find(b"]", at)
            if end < 0:
                return None
            if end > at + 1 and text[end - 1 : end] == b":":
                known = _CLASSES.get(text[at + 1 : end - 1])
                if known is None:
                    return None
                members.update(ord(found) for found in re.findall(known, bytes(range(256))))
                at = end + 1
                previous = -1
                continue
        members.add(byte)
        previous = byte
    if negated:
        members = set(range(256)) - members
    return members - {ord("/")}, at + 1


def _byte_class(members: set[int]) -> bytes:
    """Return an expression that matches one byte of a set."""
    if not members:
        return b"(?!)"
    return b"[" + b"".join(rb"\x%02x" % byte for byte in sorted(members)) + b"]"


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
